"""How γ is chosen: by hand, and on whole runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from specviz.draft_length import Auto, Fixed, Schedule, create
from specviz.events import Cycle
from specviz.settings import Settings
from tests.test_metrics import cycle
from tests.tiny import run, target, without_end
from tests.trained import write_trained


def timed(gamma: int, accepted: int, *, step: float, one: float, slope: float) -> Cycle:
    """A cycle of γ guesses, in seconds: `step` each, and a pass that is a line in its length."""
    made = cycle(gamma, accepted)
    seconds = made.seconds.model_copy(
        update={
            "draft": gamma * step,
            "verify": one + slope * gamma,
            "sample": 0.0,
            "bookkeeping": 0.0,
        }
    )
    return made.model_copy(update={"gamma": gamma, "seconds": seconds})


def settled(auto: Auto, cycles: int, accepted: int, **costs: float) -> list[int]:
    """The γs it chooses where so many guesses of each draft are kept."""
    chosen = []
    for _ in range(cycles):
        gamma = auto.choose()
        auto.learn(timed(gamma, min(accepted, gamma), **costs))
        chosen.append(gamma)
    return chosen


def test_which_policy_the_settings_ask_for() -> None:
    assert isinstance(create(Settings()), Fixed)
    assert isinstance(create(Settings(draft_length="confidence")), Fixed)
    assert isinstance(create(Settings(draft_length="schedule")), Schedule)
    assert isinstance(create(Settings(draft_length="auto")), Auto)
    assert create(Settings(gamma=3)).choose() == 3


def test_the_schedule_of_transformers() -> None:
    """+2 where all were kept, −1 where not, never below 1; a plain step changes nothing."""
    schedule = Schedule(2)
    for drafted, accepted, following in (
        (2, 2, 4), (4, 4, 6), (6, 5, 5), (5, 0, 4), (0, 0, 4), (4, 0, 3), (3, 0, 2), (2, 0, 1),
        (1, 0, 1), (1, 1, 3),
    ):  # fmt: skip
        schedule.learn(cycle(drafted, accepted))
        assert schedule.choose() == following


def test_auto_drafts_as_much_as_it_may_where_all_is_kept() -> None:
    assert settled(Auto(6), 30, accepted=6, step=0.01, one=1.0, slope=0.02)[-1] == 6


def test_auto_drafts_as_much_as_pays() -> None:
    """Two of each draft are kept. Tokens by seconds for γ = 1, 2, 3: 2/1.15, 3/1.3, 3/1.45.

    A third is tried now and then: what was seen of it counts less and less.
    """
    chosen = settled(Auto(6), 60, accepted=2, step=0.05, one=1.0, slope=0.1)
    assert set(chosen[-20:]) <= {2, 3}
    assert chosen[-20:].count(2) >= 18


def test_auto_falls_back_to_plain_steps_and_looks_again() -> None:
    """Case 20: nothing is kept, so a guess only costs; each seventh step asks for one."""
    chosen = settled(Auto(6), 120, accepted=0, step=0.2, one=1.0, slope=0.1)
    late = chosen[-49:]
    assert late.count(1) == 7
    assert late.count(0) == 42


def test_auto_guesses_where_a_pass_over_two_tokens_is_the_faster_one() -> None:
    """Nothing is kept; a plain step takes 1 s, a pass over two 0.8 s and a guess 0.05 s."""
    auto, chosen = Auto(4), []
    for _ in range(60):
        gamma = auto.choose()
        one = 0.7 if gamma else 1.0
        auto.learn(timed(gamma, 0, step=0.05, one=one, slope=0.1))
        chosen.append(gamma)
    assert set(chosen[-20:]) == {1}


def test_auto_comes_back_when_guesses_are_right_again() -> None:
    auto = Auto(4)
    costs = {"step": 0.05, "one": 1.0, "slope": 0.05}
    assert settled(auto, 80, accepted=0, **costs)[-1] in {0, 1}
    assert settled(auto, 200, accepted=4, **costs)[-1] == 4


def test_auto_never_asks_for_more_than_it_may() -> None:
    assert max(settled(Auto(1), 20, accepted=9, step=0.0, one=1.0, slope=0.0)) == 1
    assert settled(Auto(0), 20, accepted=0, step=0.0, one=1.0, slope=0.0) == [0] * 20


@pytest.mark.parametrize("policy", ["auto", "schedule", "confidence"])
@pytest.mark.parametrize("drafter", ["lookup", "early-exit:2", "mtp"])
def test_no_policy_changes_the_text(policy: str, drafter: str, tmp_path: Path) -> None:
    """Plain steps between the drafts included: an untrained block is seldom right."""
    if drafter == "mtp":
        drafter = write_trained("mtp", target(), tmp_path)
    plain = run(without_end(target()), max_new_tokens=60)
    drafted = run(
        without_end(target()), drafter=drafter, draft_length=policy, gamma=6, max_new_tokens=60
    )
    assert drafted.token_ids == plain.token_ids
    if policy == "schedule":
        assert len({c.gamma for c in drafted.cycles}) > 2


def test_a_draft_ends_where_the_drafter_is_unsure() -> None:
    """All but the first guess weigh 0.5 or more in the drafter's mind, and some draft is cut."""
    trace = run(
        without_end(target()),
        drafter="early-exit:2",
        draft_length="confidence",
        confidence=0.5,
        gamma=6,
        max_new_tokens=80,
    )
    later = [p.confidence for c in trace.cycles for p in c.proposals[1:]]
    assert later
    assert min(confidence or 0.0 for confidence in later) >= 0.5
    assert any(0 < c.drafted < c.gamma for c in trace.cycles)
    assert any(c.drafted > 1 for c in trace.cycles)


def test_all_drafts_are_whole_where_confidence_is_not_asked_for() -> None:
    trace = run(without_end(target()), drafter="early-exit:2", confidence=0.9, gamma=3)
    assert {c.drafted for c in trace.cycles[:-2]} == {3}


def test_auto_asks_for_long_copies_where_they_come_and_cost_nothing_else() -> None:
    """Every second cycle has nothing to copy; in the others all of up to six are kept."""
    auto = Auto(6)
    for index in range(80):
        gamma = auto.choose()
        copied = gamma if index % 2 else 0
        made = timed(copied, copied, step=0.001, one=1.0, slope=0.1)
        auto.learn(made.model_copy(update={"gamma": gamma}))
    assert auto.choose() == 6


def test_one_late_pass_does_not_hold_auto_back() -> None:
    """All guesses are kept and cheap; the first pass of each length takes three times as long."""
    auto, seen = Auto(4), set()
    chosen = []
    for _ in range(60):
        gamma = auto.choose()
        late = 1.0 if gamma in seen else 3.0
        seen.add(gamma)
        made = timed(gamma, gamma, step=0.1, one=1.0, slope=0.05)
        seconds = made.seconds.model_copy(update={"verify": made.seconds.verify * late})
        auto.learn(made.model_copy(update={"seconds": seconds}))
        chosen.append(gamma)
    assert set(chosen[-20:]) == {4}


def test_reading_a_long_prompt_does_not_hold_auto_back() -> None:
    """The first draft takes as long as three passes, all others a twentieth; all are kept."""
    auto, chosen = Auto(4), []
    for step in [3.0, *[0.05] * 9]:
        gamma = auto.choose()
        auto.learn(timed(gamma, gamma, step=step / gamma, one=1.0, slope=0.05))
        chosen.append(gamma)
    assert min(chosen) >= 1
    assert chosen[-1] == 4
