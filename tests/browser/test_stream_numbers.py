"""The headline, the comparison of the two texts, the charts."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from specviz.events import Cycle, Prefilled, RunFinished
from specviz.metrics import summarize
from specviz.trace import collect
from tests.browser.conftest import OpenRun, finished
from tests.browser.synthetic import SyntheticRun, numbered, race

pytestmark = pytest.mark.browser


def number(page: Page, name: str) -> str:
    return page.locator(f"[data-metric={name}] .number").inner_text()


def test_the_headline_is_what_was_measured(open_run: OpenRun) -> None:
    run = SyntheticRun(tokens=100)
    page = finished(open_run(race(run)))
    speculative = summarize(collect(run.events("speculative")))
    plain = summarize(collect(run.events("plain")))
    assert speculative.seconds_per_token
    assert plain.seconds_per_token
    assert speculative.draft_acceptance_rate
    speedup = plain.seconds_per_token / speculative.seconds_per_token
    assert number(page, "speedup") == f"{speedup:.2f}×"
    assert number(page, "speculative") == f"{speculative.tokens_per_s:.1f}"
    assert number(page, "plain") == f"{plain.tokens_per_s:.1f}"
    assert number(page, "tau") == f"{speculative.mean_acceptance_length:.2f}"
    assert number(page, "acceptance") == f"{100 * speculative.draft_acceptance_rate:.0f}%"
    expect(page.locator("[data-metric=speedup] .note")).to_have_text("faster than plain decoding")


def test_slower_is_shown_as_slower_with_the_reason(open_run: OpenRun) -> None:
    """20: never clamped at 1."""
    page = finished(open_run(race(SyntheticRun(likeness=0.2, draft_ms=20))))
    speedup = float(number(page, "speedup").rstrip("×"))
    assert speedup < 0.8
    note = page.locator("[data-metric=speedup] .note").inner_text()
    found = re.search(r"a cycle gives ([\d.]+) tokens but takes ([\d.]+) times as long", note)
    assert found, note
    assert float(found[1]) / float(found[2]) == pytest.approx(speedup, abs=0.01)
    assert note.startswith("slower than plain decoding")


def test_a_plain_run_has_one_number_and_one_lane(open_run: OpenRun) -> None:
    page = finished(open_run(numbered({"plain": SyntheticRun().events("plain")})))
    expect(page.locator(".metric:visible")).to_have_count(1)
    lane = page.locator("[data-lane=plain]").bounding_box()
    assert lane is not None
    assert lane["width"] > 1200
    expect(page.locator("[data-lane=speculative]")).to_be_hidden()


def test_each_number_has_its_definition_one_focus_away(open_run: OpenRun) -> None:
    page = finished(open_run(race(SyntheticRun())))
    term = page.get_by_role("button", name="Mean acceptance length τ")
    expect(term).to_have_accessible_description(
        "Tokens emitted over cycles: the accepted ones and the one that the target itself adds."
    )
    tip = page.get_by_role("tooltip")
    expect(tip).to_have_count(0)
    term.focus()
    expect(tip).to_be_visible()


def test_identical_greedy_texts_are_said_to_be_identical(open_run: OpenRun) -> None:
    page = finished(open_run(race(SyntheticRun(tokens=64, greedy=True, likeness=0.5))))
    expect(page.locator(".agreement")).to_have_text(
        "The two texts are identical, token for token (64 tokens)."
    )


def test_greedy_texts_that_part_are_shown_with_the_tokens_and_how_near_they_were(
    open_run: OpenRun,
) -> None:
    run = SyntheticRun(tokens=20, greedy=True, likeness=0.5)
    plain = run.events("plain")
    position = 7
    cycle = plain[2 + position - 1]
    assert isinstance(cycle, Cycle)
    odd = cycle.emitted[0].model_copy(update={"token": 0, "text": " odd", "top": _tie(cycle)})
    plain[2 + position - 1] = cycle.model_copy(update={"emitted": (odd,)})
    page = finished(open_run(numbered({"speculative": run.events("speculative"), "plain": plain})))
    said = page.locator(".agreement").inner_text()
    assert said.startswith("The two texts part at token 8:")
    assert " odd" in said
    assert cycle.emitted[0].text in said
    assert said.endswith("(0.4000): 0.00010 apart.")


def _tie(cycle: Cycle) -> tuple[tuple[int, str, float], ...]:
    return ((0, " odd", 0.4001), (cycle.emitted[0].token, cycle.emitted[0].text, 0.4))


def test_sampled_texts_are_not_said_to_disagree(open_run: OpenRun) -> None:
    page = finished(open_run(race(SyntheticRun())))
    expect(page.locator(".agreement")).to_contain_text("two draws from the same distribution")


def test_a_shorter_text_agrees_as_far_as_it_goes(open_run: OpenRun) -> None:
    run = SyntheticRun(tokens=20, greedy=True)
    plain = run.events("plain")
    ended = plain[-1]
    assert isinstance(ended, RunFinished)
    page = finished(
        open_run(numbered({"speculative": run.events("speculative"), "plain": [*plain[:8], ended]}))
    )
    expect(page.locator(".agreement")).to_have_text(
        "The two texts are the same as far as both go: 7 tokens."
    )


def plotted(page: Page, chart: str) -> list[dict[str, Any]]:
    plot = f"document.querySelector('#host').shadowRoot.querySelector('[data-chart={chart}] .plot')"
    page.wait_for_function(f"{plot}.data")
    return page.evaluate(f"{plot}.data.map(({{x, y, name}}) => ({{x, y, name}}))")  # type: ignore[no-any-return]


def test_the_charts_show_the_run(open_run: OpenRun) -> None:
    run = SyntheticRun(tokens=100)
    page = finished(open_run(race(run)))
    trace = collect(run.events("speculative"))
    summary = summarize(trace)
    assert summary.seconds_per_token

    (histogram,) = plotted(page, "histogram")
    assert histogram["y"] == list(summary.acceptance_histogram)
    (conditional,) = plotted(page, "conditional")
    assert conditional["y"] == pytest.approx(
        [position.rate for position in summary.conditional_acceptance]
    )
    speculative, plain = plotted(page, "race")
    assert (speculative["x"][0], speculative["y"][0]) == (0, 1)
    assert speculative["y"][-1] == plain["y"][-1] == 100
    assert speculative["x"][-1] == pytest.approx(summary.seconds.decoding)
    ledger = plotted(page, "ledger")
    assert [part["name"] for part in ledger] == ["draft", "verify", "sample", "bookkeeping"]
    assert sum(part["x"][0] for part in ledger) == pytest.approx(1000 * summary.seconds_per_token)


def test_a_long_race_is_thinned_but_keeps_its_ends(open_run: OpenRun) -> None:
    page = finished(open_run(numbered({"plain": SyntheticRun(tokens=900).events("plain")})))
    (lane,) = plotted(page, "race")
    assert len(lane["x"]) < 300
    assert lane["y"][0] == 1
    assert lane["y"][-1] == 900


def test_every_chart_has_its_words(open_run: OpenRun) -> None:
    page = finished(open_run(race(SyntheticRun())))
    for chart in ("race", "ledger", "histogram", "conditional"):
        plotted(page, chart)
    labels = page.locator(".plot").evaluate_all("plots => plots.map((plot) => plot.ariaLabel)")
    assert len(set(labels)) == 4
    assert all(len(label) > 30 for label in labels)


def test_charts_follow_the_theme(open_run: OpenRun) -> None:
    page = finished(open_run(race(SyntheticRun())))
    plotted(page, "race")
    font = (
        "document.querySelector('#host').shadowRoot"
        ".querySelector('[data-chart=race] .plot').layout.font.color"
    )
    before = page.evaluate(font)
    page.evaluate(
        """() => {
            document.documentElement.style.setProperty('--st-background-color', '#101010');
            document.documentElement.style.setProperty('--st-text-color', '#eeeeee');
        }"""
    )
    expect(page.locator(".specviz")).to_have_attribute("data-theme", "dark")
    page.wait_for_function(f"{font} === 'rgba(238, 238, 238, 1)'")
    assert before != "rgba(238, 238, 238, 1)"


def test_the_first_token_counts_for_nothing(open_run: OpenRun) -> None:
    events = SyntheticRun().events("plain")
    assert isinstance(events[1], Prefilled)
    slow = events[1].model_copy(update={"seconds": 1000.0})
    page = finished(open_run(numbered({"plain": [events[0], slow, *events[2:]]})))
    assert float(number(page, "plain")) > 10
