"""The Compare page: a race for each drafter, and what is said of them."""

from __future__ import annotations

import json
from collections.abc import Callable

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Button

from specviz.server.hub import Hub
from specviz.ui import comparison_view
from tests.server.fakes import FakeEngine, finished

Open = Callable[..., AppTest]


def page(app: AppTest) -> AppTest:
    return app.switch_page("../../pages/compare.py").run()


def button(app: AppTest, label: str) -> Button:
    return next(button for button in app.button if button.label == label)


def shown(app: AppTest) -> list[str]:
    """The ids of the jobs whose streams are on the page."""
    assert not app.exception
    addresses = [json.loads(s.proto.json)["address"] for s in app.get("bidi_component")]
    return [address.removeprefix("/api/jobs/").removesuffix("/ws") for address in addresses]


def compare(app: AppTest, *drafters: str) -> AppTest:
    app.multiselect(key="control.compared").set_value(list(drafters))
    app.number_input(key="control.max_new_tokens").set_value(4)
    return button(app.run(), "Compare").click().run()


def until_finished(hub: Hub, app: AppTest) -> None:
    assert all(finished(hub.get(id)) for id in shown(app))


def test_each_drafter_gets_a_race_of_its_own(open_app: Open, hub: Hub) -> None:
    app = compare(page(open_app()), "lookup", "early-exit:4")
    jobs = [hub.get(id) for id in shown(app)]
    assert [job.request.settings.drafter for job in jobs] == ["lookup", "early-exit:4"]
    assert {job.request.race for job in jobs} == {"alternating"}
    assert {job.request.settings.gamma for job in jobs} == {4}
    assert button(app, "Compare").disabled


def test_the_numbers_of_a_race_by_hand(open_app: Open, hub: Hub, engine: FakeEngine) -> None:
    """Three cycles each, of 20 ms and 10 ms a token: half as fast, and nothing kept."""
    engine._seconds["lookup"] = 0.02
    engine.open()
    app = compare(page(open_app()), "lookup")
    until_finished(hub, app)
    app.run()
    assert not app.exception
    numbers: pd.DataFrame = app.dataframe[0].value
    (row,) = numbers.to_dict("records")
    assert row["speedup"] == pytest.approx(0.5)
    assert row["tokens/s"] == pytest.approx(50)
    assert (row["τ"], row["kept at 1"], row["c"]) == (1.0, 0.0, 0.0)
    assert row["same text"] == "yes"
    assert len(app.get("plotly_chart")) == 1


def test_a_link_shows_the_same_again(open_app: Open, hub: Hub, engine: FakeEngine) -> None:
    engine.open()
    app = compare(page(open_app()), "lookup", "early-exit:4")
    until_finished(hub, app)
    jobs = app.query_params["jobs"]
    again = page(open_app(jobs=jobs[0] if isinstance(jobs, list) else jobs))
    assert shown(again) == shown(app)
    assert len(again.dataframe[0].value) == 2


def test_a_link_brings_prompt_and_settings_into_the_controls(
    open_app: Open, hub: Hub, engine: FakeEngine
) -> None:
    """The drafter of the Live page stays what it is."""
    engine.open()
    app = page(open_app())
    app.text_area(key="control.prompt").set_value("Mine.").run()
    app = compare(app, "lookup", "early-exit:4")
    jobs = ".".join(shown(app))
    again = page(open_app(jobs=jobs))
    assert again.text_area(key="control.prompt").value == "Mine."
    assert again.number_input(key="control.max_new_tokens").value == 4
    assert again.multiselect(key="control.compared").value == ["lookup", "early-exit:4"]
    assert again.session_state["control.drafter"] == "hybrid"
    again.text_area(key="control.prompt").set_value("Another.").run()
    assert again.text_area(key="control.prompt").value == "Another."


def test_a_link_that_names_a_run_twice_shows_it_once(
    open_app: Open, hub: Hub, engine: FakeEngine
) -> None:
    engine.open()
    (id,) = shown(compare(page(open_app()), "lookup"))
    assert shown(page(open_app(jobs=f"{id}.{id}"))) == [id]


def test_stop_ends_all_of_them(open_app: Open, hub: Hub, engine: FakeEngine) -> None:
    app = compare(page(open_app()), "lookup", "early-exit:4")
    button(app, "Stop").click().run()
    engine.open()
    until_finished(hub, app)
    app.run()
    assert not app.exception
    assert not app.dataframe, "nothing was timed"
    assert not button(app, "Compare").disabled


def test_without_a_drafter_it_says_so(open_app: Open, hub: Hub) -> None:
    app = compare(page(open_app()))
    assert "choose one or more" in app.error[0].value
    assert shown(app) == []


def test_a_full_queue_starts_none(open_app: Open, hub: Hub) -> None:
    object.__setattr__(hub.limits, "queue_length", 1)
    app = compare(page(open_app()), "lookup", "early-exit:4", "early-exit:8")
    assert "waiting already" in app.error[0].value
    assert shown(app) == []
    assert all(job.stopped for job in hub._jobs.values())


def test_what_a_cycle_costs_beside_its_drafting() -> None:
    """Two cycles of 1.5 passes and one of 3: 2 on average."""
    from specviz.metrics import summarize
    from tests.test_metrics import cycle, trace

    plain = summarize(trace([cycle(0, 0)]))
    assert (plain.target_pass, plain.overhead) == pytest.approx((0.020, 0.004))

    def outcome(cycles: int, passes: float) -> comparison_view.Outcome:
        seconds = cycle(4, 0).seconds.model_copy(update={"verify": 0.020 * passes})
        made = [cycle(4, 0).model_copy(update={"seconds": seconds})] * cycles
        return comparison_view.Outcome("x", 4, summarize(trace(made)), plain, None)

    assert comparison_view.pass_cost([outcome(2, 1.5), outcome(1, 3.0)]) == pytest.approx(2.0)
