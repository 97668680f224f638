"""The pure parts of the component, in the browser that runs them."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page

from specviz.events import Cycle
from specviz.metrics import summarize
from specviz.trace import collect
from tests.browser.conftest import OpenRun
from tests.browser.synthetic import Message, SyntheticRun, numbered, race

pytestmark = pytest.mark.browser

FOLD = """
const { newRun, receive, cursorAt } = await import("/api/assets/stream/run_model.js");
const run = newRun();
const outcomes = messages.map((message) => receive(run, message));
"""


@pytest.fixture
def page(open_run: OpenRun) -> Page:
    return open_run([{"state": "loading"}])


def fold(page: Page, messages: list[Message], body: str) -> Any:
    return page.evaluate(f"async (messages) => {{ {FOLD} {body} }}", messages)


def test_a_message_seen_before_changes_nothing_and_a_gap_is_told(page: Page) -> None:
    messages = race(SyntheticRun(tokens=12))
    events = [message for message in messages if "seq" in message]
    again = [events[0], events[1], events[1], events[0], events[3]]
    outcomes, following = fold(page, again, "return [outcomes, run.next]")
    assert outcomes == ["taken", "taken", "known", "known", "gap"]
    assert following == 2


@pytest.mark.parametrize("gamma", [1, 4, 9])
def test_the_numbers_are_those_of_the_python_metrics(page: Page, gamma: int) -> None:
    """19: conditional acceptance has its own denominator; the first token is in no average."""
    events = SyntheticRun(tokens=150, gamma=gamma, likeness=0.6).events("speculative")
    expected = summarize(collect(events))
    found = fold(
        page,
        numbered({"speculative": events}),
        """
        const metrics = await import("/api/assets/stream/metrics.js");
        const lane = run.lanes.speculative;
        return {
          rate: metrics.draftAcceptanceRate(lane),
          tau: metrics.meanAcceptanceLength(lane),
          speed: metrics.tokensPerSecond(lane),
          histogram: Array.from(lane.totals.cyclesAccepting, (count) => count ?? 0),
          conditional: metrics.conditionalAcceptance(lane),
        }
        """,
    )
    assert found["rate"] == pytest.approx(expected.draft_acceptance_rate)
    assert found["tau"] == pytest.approx(expected.mean_acceptance_length)
    assert found["speed"] == pytest.approx(expected.tokens_per_s)
    assert found["histogram"] == list(expected.acceptance_histogram)
    for ours, theirs in zip(found["conditional"], expected.conditional_acceptance, strict=True):
        assert ours["tested"] == theirs.tested
        assert ours["rate"] == pytest.approx(theirs.rate)
        assert ours["interval"] == pytest.approx([theirs.low, theirs.high])


def test_the_film_shows_each_token_once_and_ends_with_the_text(page: Page) -> None:
    """22: at its last stage no token of a pass is undecided."""
    run = SyntheticRun(tokens=40)
    text, undecided, stages = fold(
        page,
        race(run),
        """
        const { passes } = run.lanes.speculative;
        const pieces = passes.flatMap((pass) => pass.pieces);
        const text = pieces.filter((piece) => piece.emitted)
          .sort((a, b) => a.position - b.position).map((piece) => piece.emitted.text).join("");
        const undecided = passes.flatMap((pass) =>
          pass.pieces.filter(({ settles, appears }) => Math.max(settles, appears) >= pass.stages));
        return [text, undecided.length, passes.reduce((sum, pass) => sum + pass.stages, 0)];
        """,
    )
    assert text == collect(run.events("speculative")).text
    assert undecided == 0
    cycles = collect(run.events("speculative")).cycles
    unfolded = [c.drafted and c.tested + (len(c.emitted) > c.accepted) for c in cycles]
    assert stages == 1 + len(cycles) + sum(unfolded)


def test_a_cut_cycle_and_one_without_recorded_proposals(page: Page) -> None:
    """9: what was proposed behind the end of the text is no part of it."""
    events = SyntheticRun(tokens=30, likeness=1.0).events("speculative")
    cycle = events[2]
    assert isinstance(cycle, Cycle)
    behind = [p.model_copy(update={"verdict": "discarded"}) for p in cycle.proposals[2:]]
    cut = cycle.model_copy(
        update={
            "emitted": cycle.emitted[:2],
            "tested": 2,
            "accepted": 2,
            "proposals": (*cycle.proposals[:2], *behind),
        }
    )
    unrecorded = cycle.model_copy(update={"proposals": ()})
    kinds, positions, tokens = fold(
        page,
        numbered({"speculative": [*events[:2], cut, unrecorded]}, finished=False),
        """
        const [, cut, unrecorded] = run.lanes.speculative.passes;
        return [
          [cut, unrecorded].map((pass) => pass.pieces.map((piece) => piece.kind)),
          [cut, unrecorded].map((pass) => pass.pieces.map((piece) => piece.position)),
          run.lanes.speculative.tokens,
        ];
        """,
    )
    assert kinds[0] == ["accepted", "accepted", "discarded", "discarded"]
    assert positions[0] == [1, 2, None, None]
    assert kinds[1] == ["accepted"] * 4 + ["bonus"]
    assert positions[1] == [3, 4, 5, 6, 7]
    assert tokens == 8


def test_plain_tokens_are_minor_only_while_the_speculative_lane_sets_the_pace(page: Page) -> None:
    run = SyntheticRun(tokens=20, likeness=1.0)
    minor = fold(
        page,
        race(run),
        """
        const last = run.moments.findLastIndex((moment) => moment.lane === "speculative");
        const plain = (moments) => moments.filter((moment) => moment.lane === "plain");
        return [plain(run.moments.slice(1, last)), plain(run.moments.slice(last + 2))]
          .map((moments) => moments.map((moment) => moment.minor));
        """,
    )
    assert len(minor[0]) > 2
    assert all(minor[0][1:])
    assert minor[1]
    assert not any(minor[1][1:])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x00b\x1b", "a␀b␛"),
        ("x\u202ey\u2066z", "x⟨202E⟩y⟨2066⟩z"),
        ("\x7f\x85\u200b", "␡⟨0085⟩⟨200B⟩"),
        ("line\nbreak\ttab", "line\nbreak\ttab"),
        ("👩‍👩‍👧 é שלום", "👩‍👩‍👧 é שלום"),
        ("<script>$x$**</div>", "<script>$x$**</div>"),
    ],
)
def test_what_cannot_be_seen_becomes_a_symbol(page: Page, text: str, shown: str) -> None:
    """23: NUL and bidirectional overrides are shown, and move nothing."""
    found = page.evaluate(
        "async (text) => (await import('/api/assets/stream/visible_text.js')).visible(text)", text
    )
    assert found == shown
