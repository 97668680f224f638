"""The Cost page: it measures in its turn, shows what came of it, and keeps it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest
from streamlit.testing.v1 import AppTest

from specviz.server.hub import Hub
from specviz.server.measurement import Report
from specviz.ui import cost_view
from tests.costs_by_hand import costs
from tests.grid_by_hand import PLAIN, grid, row

Open = Callable[..., AppTest]


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """A measurement that takes two steps, the second when the gate is open."""
    gate = threading.Event()

    def measure(_model: object, chosen: list[str], report: Report[object]) -> object:
        report(1, 2)
        assert gate.wait(10)
        report(2, 2)
        return costs(1.0, 1.5, 1.5, 1.4, 1.1)

    monkeypatch.setattr(cost_view, "measure", measure)
    yield gate
    gate.set()


def page(app: AppTest) -> AppTest:
    return app.switch_page("../../pages/cost.py").run()


def press(app: AppTest, label: str) -> AppTest:
    return next(button for button in app.button if button.label == label).click().run()


def until_measured(hub: Hub) -> None:
    deadline = time.monotonic() + 10
    while not all(one.finished for one in hub._measurements.values()):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_nothing_is_shown_before_it_is_measured(open_app: Open) -> None:
    app = page(open_app())
    assert not app.exception
    assert not app.get("plotly_chart")


def test_a_measurement_from_its_start_to_its_figures(
    open_app: Open, hub: Hub, gate: threading.Event
) -> None:
    app = press(page(open_app()), "Measure")
    assert not app.exception
    assert any(button.label == "Cancel" for button in app.button)
    assert next(b for b in app.button if b.label == "Measure").disabled
    gate.set()
    until_measured(hub)
    app.run()
    assert not app.exception
    assert len(app.get("plotly_chart")) == 4
    assert "toy in float32 on abacus, 2 threads" in [caption.value for caption in app.caption]
    assert "over 2, 3, 4 tokens costs more than one over 5" in app.info[0].value
    assert not any(button.label == "Cancel" for button in app.button)


def test_a_reload_shows_it_again_and_a_new_one_keeps_it(
    open_app: Open, hub: Hub, gate: threading.Event
) -> None:
    gate.set()
    first = press(page(open_app()), "Measure")
    until_measured(hub)
    address = first.query_params["cost"]
    reloaded = page(open_app(cost=address[0] if isinstance(address, list) else address))
    assert len(reloaded.get("plotly_chart")) == 4
    gate.clear()
    again = press(reloaded, "Measure")
    assert len(again.get("plotly_chart")) == 4, "the last result stays in the meantime"


def test_cancel_keeps_what_was_measured_before(
    open_app: Open, hub: Hub, gate: threading.Event
) -> None:
    gate.set()
    app = press(page(open_app()), "Measure")
    until_measured(hub)
    gate.clear()
    app = press(app.run(), "Measure")
    app = press(app, "Cancel")
    gate.set()
    until_measured(hub)
    app.run()
    assert "cancelled" in app.warning[0].value
    assert len(app.get("plotly_chart")) == 4


@pytest.mark.parametrize("page_of_it", ["cost", "tune"])
def test_an_address_that_names_no_measurement_of_this_page_is_said_once(
    open_app: Open, hub: Hub, page_of_it: str
) -> None:
    """Case 24: as after a restart of the server, or with the address of another page's."""
    id = "no such id"
    if page_of_it != "cost":
        id = hub.measure(page_of_it, lambda _model, _report: "of another kind").id
        until_measured(hub)
    app = page(open_app(cost=id))
    assert not app.exception
    (message,) = app.error
    assert "This measurement is not here" in message.value
    assert "cost" not in app.query_params
    assert not app.run().error


def test_choices_are_there_again_after_a_visit_elsewhere(open_app: Open) -> None:
    app = page(open_app())
    app.multiselect(key="cost.drafters").set_value(["lookup"]).run()
    app = page(app.switch_page("../../pages/load.py").run())
    assert app.multiselect(key="cost.drafters").value == ["lookup"]


def test_what_was_tuned_stands_on_the_surface() -> None:
    """τ = 1.75 with γ = 2 is what α = 0.5 gives; other drafters and plain decoding do not count."""
    tuned = grid(
        PLAIN,
        row("lookup", 2, 1.4, mean_acceptance_length=1.75),
        row("mtp", 2, 1.2, mean_acceptance_length=2.0),
    )
    (point,) = cost_view.measured_points(tuned, "lookup")
    assert point.alpha == pytest.approx(0.5)
    assert (point.gamma, point.speedup) == (2, 1.4)
    assert cost_view.measured_points(None, "lookup") == []
