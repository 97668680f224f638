"""Benchmarks: what is run, in which order, and what the rows say. No timing is asserted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from specviz import bench as benchmarks
from specviz.bench import Prompt, bench, read_prompts
from specviz.engine import decode
from specviz.errors import UserError
from specviz.events import Seconds
from specviz.settings import Settings
from tests.test_metrics import cycle, trace
from tests.tiny import target, without_end

PROMPTS = [Prompt(prompt="abcab"), Prompt(prompt="hello hello")]


def measure(monkeypatch: pytest.MonkeyPatch | None = None, **changes: Any):
    arguments: dict[str, Any] = {
        "drafters": ["none", "lookup", "early-exit:2"],
        "gammas": [2, 4],
        "settings": Settings(raw=True, max_new_tokens=12),
        "repeats": 2,
    }
    return bench(without_end(target()), PROMPTS, **{**arguments, **changes})


def test_every_cell_is_run_on_every_prompt_in_alternating_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Case 18: the baseline is run, and the order turns round."""
    ran: list[tuple[str, int, str]] = []
    original = decode

    def recording(model: Any, prompt: str, settings: Settings, **options: Any):
        ran.append((settings.drafter, settings.gamma, prompt))
        return original(model, prompt, settings, **options)

    monkeypatch.setattr(benchmarks, "decode", recording)
    measure(drafters=["lookup"], gammas=[2, 4])
    cells = [("none", 0), ("lookup", 2), ("lookup", 4)]
    first, second = (prompt.prompt for prompt in PROMPTS)
    warm_up = [(*cell, first) for cell in cells]
    forth = [(*cell, prompt) for prompt in (first, second) for cell in cells]
    back = [(*cell, prompt) for prompt in (first, second) for cell in reversed(cells)]
    admitted = [(*cells[0], prompt) for prompt in (first, second)]
    assert ran == warm_up + admitted + forth + back


def test_the_rows_of_a_greedy_grid() -> None:
    result = measure()
    assert [(row.drafter, row.gamma) for row in result.rows] == [
        ("none", 0),
        ("lookup", 2),
        ("lookup", 4),
        ("early-exit:2", 2),
        ("early-exit:2", 4),
    ]
    for row in result.rows:
        assert row.greedy_identical is True
        assert row.prompts_identical == 2
        assert row.ties == 0
        assert row.tokens_per_s > 0
        assert row.speedup_low <= row.speedup <= row.speedup_high
        assert row.predicted_speedup is not None
        assert len(row.conditional_acceptance) <= row.gamma
    plain = result.rows[0]
    assert plain.mean_acceptance_length == 1.0
    assert plain.speedup == 1.0
    assert plain.predicted_speedup == pytest.approx(1.0)
    assert plain.draft_acceptance_rate is None
    assert result.environment.pass_cost[1] == 1.0
    assert 5 in result.environment.pass_cost


def test_sampled_texts_are_not_compared() -> None:
    result = measure(settings=Settings(raw=True, max_new_tokens=6, temperature=1.0), repeats=1)
    assert {row.greedy_identical for row in result.rows} == {None}
    assert {row.ties for row in result.rows} == {None}


def test_progress_counts_every_run() -> None:
    told: list[tuple[int, int]] = []
    measure(drafters=["lookup"], gammas=[2], progress=lambda *step: told.append(step))
    assert told == [(i, 8) for i in range(1, 9)]


def test_an_unfit_drafter_is_refused_before_the_long_work() -> None:
    with pytest.raises(UserError, match="no drafter “magic”"):
        measure(drafters=["magic"])


def test_a_prompt_that_is_too_long_is_refused_before_the_long_work() -> None:
    prompts = [PROMPTS[0], Prompt(prompt="a" * 600)]
    told: list[int] = []
    with pytest.raises(UserError, match="600 tokens long"):
        bench(
            target(),
            prompts,
            drafters=["lookup"],
            gammas=[2],
            settings=Settings(raw=True, max_new_tokens=4),
            repeats=1,
            progress=lambda done, _total: told.append(done),
        )
    assert not told


def test_answers_that_end_at_once_cannot_be_timed() -> None:
    with pytest.raises(UserError, match="Nothing can be timed"):
        measure(settings=Settings(raw=True, max_new_tokens=1))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "holds no prompts"),
        ("not json\n", "Line 1 of .* is not a JSON object"),
        ('{"prompt": "a"}\n{"id": 3}\n', "Line 2 of"),
        ('{"prompt": 3}\n', "Line 1 of"),
    ],
)
def test_a_prompts_file_that_is_none_is_refused(text: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "prompts.jsonl"
    path.write_text(text)
    with pytest.raises(UserError, match=reason):
        read_prompts(path)


def test_a_prompts_file(tmp_path: Path) -> None:
    path = tmp_path / "prompts.jsonl"
    path.write_text('{"id": 7, "category": "qa", "prompt": "a", "more": 1}\n\n{"prompt": "b"}\n')
    assert read_prompts(path) == [Prompt(id=7, category="qa", prompt="a"), Prompt(prompt="b")]
    with pytest.raises(UserError, match="Cannot read"):
        read_prompts(tmp_path / "none.jsonl")


def test_what_is_hopeless_is_not_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """By hand: a second a token for plain decoding, three for γ = 2, one and a half for γ = 4."""
    pace = {0: 1.0, 2: 3.0, 4: 1.5}

    def paced(traces: Any) -> float:
        settings = traces[0].started.settings
        return pace[settings.gamma if settings.drafter != "none" else 0]

    monkeypatch.setattr(benchmarks, "_seconds_per_token", paced)
    ran: list[int] = []
    result = measure(
        drafters=["lookup"],
        gammas=[2, 4],
        repeats=3,
        hopeless=0.5,
        progress=lambda *s: ran.append(s[1]),
    )
    assert [(row.gamma, row.repeats) for row in result.rows] == [(2, 1), (4, 3)]
    assert ran[0] == 18
    assert len(ran) == ran[-1] == 18 - 2 * 2
    everything = measure(drafters=["lookup"], gammas=[2, 4], repeats=2)
    assert [row.repeats for row in everything.rows] == [2, 2]


def test_what_was_measured_so_far_can_be_kept() -> None:
    """After each prompt of the first repeat, then after each repeat."""
    kept: list[tuple[int, int]] = []
    measure(
        drafters=["lookup"],
        gammas=[2],
        keep=lambda result: kept.append((result.environment.prompts, result.environment.repeats)),
    )
    assert kept == [(1, 1), (2, 1), (2, 1), (2, 2)]


def timed(*seconds: float) -> list[Any]:
    """A repeat: for each prompt a run of one token that took so many seconds."""
    runs = []
    for took in seconds:
        made = cycle(0, 0)
        spent = Seconds(verify=took)
        runs.append(trace([made.model_copy(update={"seconds": spent})]))
    return runs


def test_speedups_and_their_interval_by_hand() -> None:
    """Two prompts, three repeats: the medians are 1 and 2 s of ours, 4 and 2 s of plain's."""
    ours = [timed(1, 2), timed(9, 2), timed(1, 1)]
    plain = [timed(4, 2), timed(4, 2), timed(3, 9)]
    times = benchmarks._Times(ours, plain)
    assert times.speedup() == pytest.approx(6 / 3)
    assert (times.speedup([0]), times.speedup([1])) == pytest.approx((4, 1))
    assert times.tokens_per_s() == pytest.approx(2 / 3)
    assert times.interval() == pytest.approx((1, 4)), "both prompts alike, one way or the other"
    alone = benchmarks._Times([timed(1), timed(2)], [timed(4), timed(6)])
    assert alone.interval() == pytest.approx((2, 6))


def test_a_speedup_for_each_category() -> None:
    prompts = [
        Prompt(prompt="ab", category="x"),
        Prompt(prompt="cd"),
        Prompt(prompt="e", category="x"),
    ]
    result = bench(
        without_end(target()),
        prompts,
        drafters=["lookup"],
        gammas=[2],
        settings=Settings(raw=True, max_new_tokens=6),
        repeats=1,
    )
    assert set(result.rows[0].by_category) == {"x"}
