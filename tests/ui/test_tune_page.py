"""The Tune page: what is measured, what is recommended, what is taken along."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from specviz.bench import BenchResult
from specviz.errors import UserError
from specviz.server.hub import Hub
from specviz.server.measurement import Report
from specviz.settings import Settings
from specviz.ui import tune_view
from specviz.ui.presets import PRESETS
from specviz.ui.tune_view import Workload
from tests.grid_by_hand import GRID, PLAIN, grid, row

Open = Callable[..., AppTest]


@pytest.fixture
def result() -> BenchResult:
    """What is measured; a test may override this fixture."""
    return GRID


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, result: BenchResult) -> list[Workload]:
    """What was asked to be measured."""
    workloads: list[Workload] = []

    def measure(_model: object, chosen: Workload, report: Report[BenchResult]) -> BenchResult:
        workloads.append(chosen)
        report(1, 1)
        return result

    monkeypatch.setattr(tune_view, "measure", measure)
    return workloads


def page(app: AppTest) -> AppTest:
    return app.switch_page("../../pages/tune.py").run()


def measured(app: AppTest, hub: Hub) -> AppTest:
    next(button for button in app.button if button.label == "Measure").click().run()
    deadline = time.monotonic() + 10
    while not all(one.finished for one in hub._measurements.values()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    app.run()
    assert not app.exception
    return app


def test_examples_by_kind_are_what_is_measured(
    open_app: Open, hub: Hub, asked: list[Workload]
) -> None:
    app = page(open_app())
    app.multiselect(key="tune.drafters").set_value(["lookup"])
    app.multiselect(key="tune.gammas").set_value([4, 1])
    app.number_input(key="tune.t").set_value(0.7)
    app.number_input(key="tune.tokens").set_value(32)
    measured(app.run(), hub)
    (chosen,) = asked
    assert [prompt for prompt, _ in chosen.prompts] == [
        PRESETS[kind].prompt for kind in ("rewrite", "explain", "story")
    ]
    assert chosen.prompts[2][1] == "Tell a story"
    assert (chosen.drafters, chosen.gammas, chosen.repeats) == (("lookup",), (1, 4), 2)
    assert (chosen.settings.temperature, chosen.settings.max_new_tokens) == (0.7, 32)
    assert "3 prompts, up to 18 runs" in [caption.value for caption in app.caption]


def test_one_s_own_prompts_are_parted_by_empty_lines(
    open_app: Open, hub: Hub, asked: list[Workload]
) -> None:
    app = page(open_app())
    app.button_group(key="tune.own").set_value([True]).run()
    app.text_area(key="tune.prompts").set_value("One\nstill one.\n\n \nTwo.\n").run()
    measured(app, hub)
    assert asked[0].prompts == (("One\nstill one.", None), ("Two.", None))


def test_the_recommendation_and_its_reason(open_app: Open, hub: Hub, asked: list[Workload]) -> None:
    """A third guess survives 0.8 · 0.5 · 0.4 = 16 % and costs 0.05 + v(4) − v(3) = 20 %."""
    app = measured(page(open_app()), hub)
    said = app.success[0].value
    assert "Take lookup with γ = 2" in said
    assert "1.50×" in said
    assert "kept 16% of the time and cost 20% of a pass" in said
    assert len(app.get("plotly_chart")) == 2
    assert any("Off by 3% on average; most for lookup at γ = 2" in c.value for c in app.caption)


def test_it_is_taken_along(open_app: Open, hub: Hub, asked: list[Workload]) -> None:
    app = measured(page(open_app()), hub)
    assert "prompt_lookup_num_tokens=2" in app.code[0].value
    app.selectbox(key="tune.engine").set_value("vllm").run()
    assert '"num_speculative_tokens": 2' in app.code[0].value
    app.selectbox(key="tune.row.lookup.2").set_value(GRID.rows[3]).run()
    assert not app.code
    assert "cannot load mtp" in app.info[0].value


class TestOneMoreGuessIsFree:
    @pytest.fixture
    def result(self) -> BenchResult:
        """v(4) = 1.1 lies under v(3) = 1.2, as with routines for so many rows on some CPUs."""
        passes = {**GRID.environment.pass_cost, 4: 1.1}
        environment = GRID.environment.model_copy(update={"pass_cost": passes})
        return GRID.model_copy(update={"environment": environment})

    def test_its_cost_is_no_negative_number(
        self, open_app: Open, hub: Hub, asked: list[Workload]
    ) -> None:
        app = measured(page(open_app()), hub)
        assert "kept 16% of the time and cost nothing." in app.success[0].value


class TestNothingPays:
    @pytest.fixture
    def result(self) -> BenchResult:
        return grid(PLAIN, row("early-exit:8", 4, 0.6, (0.1,)))

    def test_plain_decoding_is_recommended(
        self, open_app: Open, hub: Hub, asked: list[Workload]
    ) -> None:
        app = measured(page(open_app()), hub)
        assert "Take plain decoding" in app.info[0].value
        assert not app.code


def test_what_was_typed_is_there_again_after_a_visit_elsewhere(
    open_app: Open, asked: list[Workload]
) -> None:
    app = page(open_app())
    app.button_group(key="tune.own").set_value([True]).run()
    app.text_area(key="tune.prompts").set_value("Mine.")
    app.multiselect(key="tune.gammas").set_value([8])
    app.number_input(key="tune.repeats").set_value(5).run()
    app.switch_page("../../pages/cost.py").run()
    app = page(app)
    assert app.text_area(key="tune.prompts").value == "Mine."
    assert app.multiselect(key="tune.gammas").value == [8]
    assert app.number_input(key="tune.repeats").value == 5


class TestLimits:
    @pytest.fixture
    def limits(self) -> dict[str, object]:
        return {"max_prompt_chars": 200, "max_new_tokens": 64}

    def test_the_host_s_limits_hold_here_too(
        self, open_app: Open, hub: Hub, asked: list[Workload]
    ) -> None:
        """The prompt of “Rewrite a text” is longer than 200 characters."""
        app = page(open_app())
        assert "1 prompts are longer than 200 characters" in app.warning[0].value
        assert app.number_input(key="tune.tokens").max == 64
        measured(app, hub)
        assert len(asked[0].prompts) == 2


def test_too_many_runs_are_refused() -> None:
    chosen = Workload((("a", None),) * 30, ("lookup", "mtp"), (1, 2, 3, 4, 6, 8), Settings(), 9)
    with pytest.raises(UserError, match="3,510 runs are too many"):
        tune_view.measure(None, chosen, lambda *_: None)  # type: ignore[arg-type]


def test_nothing_chosen_is_said_before_anything_runs() -> None:
    empty = Workload((), ("lookup",), (2,), Settings(), 1)
    with pytest.raises(UserError, match="choose a prompt"):
        tune_view.measure(None, empty, lambda *_: None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("a.txt", b"one\n\ntwo", (("one", None), ("two", None))),
        ("a.jsonl", b'{"prompt": "one", "category": "x"}\n', (("one", "x"),)),
        ("A.JSONL", b'{"prompt": "one"}\n{"prompt": "two"}', (("one", None), ("two", None))),
        ("a.jsonl", b"no json", ()),
        ("a.txt", b"\xff\xfe", ()),
    ],
)
def test_a_file_of_prompts(name: str, data: bytes, expected: object) -> None:
    assert tune_view._read(name, data) == expected
