"""The dice view: the right words, the right bars, by pointer and by keyboard."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from specviz.trace import collect
from tests.browser.conftest import OpenRun, drawn, finished
from tests.browser.synthetic import SyntheticRun, numbered, race

pytestmark = pytest.mark.browser

RUN = SyntheticRun(tokens=80, likeness=0.5)
LANE = "[data-lane=speculative]"


def look(page: Page, kind: str, number: int = 0) -> str:
    page.locator(f"{LANE} .token[data-kind={kind}]").nth(number).click()
    expect(page.locator(".dice")).to_be_visible()
    return page.locator(".dice-words").inner_text()


def scrub(page: Page, moment: int) -> None:
    """Moves the playhead without moving the focus."""
    move = "(node, at) => { node.value = at; node.dispatchEvent(new Event('input')); }"
    page.locator(".scrubber").evaluate(move, moment)


@pytest.fixture
def page(open_run: OpenRun) -> Page:
    return finished(open_run(race(RUN)))


def test_an_accepted_token_says_how_the_dice_fell(page: Page) -> None:
    trace = collect(RUN.events("speculative"))
    accepted = [
        proposal
        for cycle in trace.cycles
        for proposal in cycle.proposals
        if proposal.verdict == "accepted"
    ]
    unsure = next(i for i, proposal in enumerate(accepted) if proposal.accept_probability < 0.9)
    proposal = accepted[unsure]
    assert proposal.u is not None
    words = look(page, "accepted", unsure)
    assert f"The drafter gave {proposal.text}" in words
    assert words.endswith(
        f"The dice fell on {proposal.u:.2f}, below {proposal.accept_probability:.2f}: accepted."
    )
    width = page.locator(".gauge-fill").evaluate("node => parseFloat(node.style.width)")
    assert width == pytest.approx(100 * proposal.accept_probability, abs=0.01)
    left = page.locator(".gauge-marker").evaluate("node => parseFloat(node.style.left)")
    assert left == pytest.approx(100 * proposal.u, abs=0.01)
    assert left < width


def test_a_sure_token_says_that_the_dice_did_not_matter(page: Page) -> None:
    accepted = [
        proposal
        for cycle in collect(RUN.events("speculative")).cycles
        for proposal in cycle.proposals
        if proposal.verdict == "accepted"
    ]
    sure = next(i for i, proposal in enumerate(accepted) if proposal.accept_probability == 1)
    assert "kept whatever the dice say" in look(page, "accepted", sure)


def test_a_rejected_token_shows_both_distributions_and_the_residual(page: Page) -> None:
    cycle = next(c for c in collect(RUN.events("speculative")).cycles if c.tested > c.accepted)
    rejected = cycle.proposals[cycle.accepted]
    words = look(page, "rejected")
    assert ": rejected. In its place stands" in words
    assert cycle.emitted[-1].text in words
    paired, residual = page.locator(".dice .bars").all()
    own = paired.locator("tr.own")
    expect(own).to_have_count(1)
    expect(own.locator("th")).to_have_text(rejected.text)
    shares = own.locator(".bar").evaluate_all(
        "bars => bars.map((bar) => Number(bar.style.getPropertyValue('--share')))"
    )
    assert shares == pytest.approx([rejected.p, rejected.q])
    expect(paired.locator("tbody tr")).to_have_count(8)
    expect(residual.locator("tr.own th")).to_have_text(cycle.emitted[-1].text)


def test_a_discarded_token_was_never_tested(page: Page) -> None:
    assert look(page, "discarded").endswith("it was never tested.")
    expect(page.locator(".dice .gauge")).to_have_count(0)


def test_tokens_of_the_target_show_what_they_were_drawn_from(page: Page) -> None:
    assert "Every proposal of this cycle was kept" in look(page, "bonus")
    expect(page.locator(".dice .bars")).to_have_count(1)
    assert "was drawn from the residual" in look(page, "resampled")
    expect(page.locator(".dice .bars")).to_have_count(2)
    assert "Nothing had been proposed here" in look(page, "target")


def test_a_greedy_run_speaks_of_first_choices(open_run: OpenRun) -> None:
    page = finished(open_run(race(SyntheticRun(tokens=80, likeness=0.5, greedy=True))))
    assert look(page, "accepted").startswith("Greedy: the target’s first choice is")
    assert "so it is rejected" in look(page, "rejected")
    expect(page.locator(".dice .gauge")).to_have_count(0)
    rows = page.locator(".dice .bars tbody tr").first.locator(".bar-number").all_inner_texts()
    assert "100%" not in rows
    assert "takes the place of" in look(page, "resampled")
    assert "next first choice too" in look(page, "bonus")


def test_a_copied_token_has_q_of_one(open_run: OpenRun) -> None:
    events = SyntheticRun(tokens=80, likeness=0.5, drafter="lookup").events("speculative")
    page = finished(open_run(numbered({"speculative": events})))
    assert "copied" in look(page, "rejected")
    assert "so q = 1" in page.locator(".dice-words").inner_text()


def test_what_a_list_leaves_out_is_at_most_what_it_leaves_over(page: Page) -> None:
    outside = page.evaluate(
        """async () => {
            const { mostOutside } = await import("/api/assets/stream/token_facts.js");
            const a = [1, "a", 0.6];
            return [[[1, "a", 1]], [a, [2, "b", 0.1]], [a, [2, "b", 0.3]], []].map(mostOutside);
        }"""
    )
    assert outside == pytest.approx([0, 0.1, 0.1, 1])


def test_hover_shows_and_leaving_hides(page: Page) -> None:
    page.locator(f"{LANE} .token[data-kind=rejected]").last.hover()
    expect(page.locator(".dice")).to_be_visible()
    page.locator(".status").hover()
    expect(page.locator(".dice")).to_be_hidden()


def test_a_click_pins_and_escape_closes(page: Page) -> None:
    look(page, "rejected")
    page.locator(".status").hover()
    expect(page.locator(".dice")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".dice")).to_be_hidden()
    expect(page.locator(f"{LANE} .token[data-kind=rejected]").first).to_be_focused()


def test_the_keyboard_walks_over_the_tokens(page: Page) -> None:
    page.get_by_role("button", name="Hide struck tokens").focus()
    page.keyboard.press("Tab")
    tokens = page.locator(f"{LANE} .token:visible")
    expect(tokens.last).to_be_focused()
    page.keyboard.press("Home")
    expect(tokens.first).to_be_focused()
    expect(page.locator(".dice")).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(tokens.nth(1)).to_be_focused()
    page.keyboard.press("ArrowDown")
    focused = "document.querySelector('#host').shadowRoot.activeElement.parentElement.dataset.pass"
    assert page.evaluate(focused) == "2"
    page.keyboard.press("ArrowUp")
    assert page.evaluate(focused) == "1"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator(".dice")).to_be_visible()
    expect(page.locator(".position")).to_contain_text("token 80")


def test_the_card_stays_within_the_window(open_run: OpenRun) -> None:
    for width in (1280, 390):
        page = finished(open_run(race(RUN), width=width))
        for number in range(0, 12, 3):
            look(page, "rejected", number)
            box = page.locator(".dice").bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["y"] >= 0
            assert box["x"] + box["width"] <= width
            assert box["y"] + box["height"] <= 900
            page.keyboard.press("Escape")


def test_a_proposal_that_is_not_judged_yet_gives_nothing_away(page: Page) -> None:
    page.locator(".scrubber").fill("0")
    for _ in range(2):
        page.get_by_role("button", name="One step on (→)").click()
    drawn(page)
    first = page.locator(f"{LANE} .pass:not([hidden]) .token[data-kind=pending]").first
    first.click()
    expect(page.locator(".dice-words")).to_contain_text("has not judged it yet")
    expect(page.locator(".dice .chip")).to_have_text("proposed")
    expect(page.locator(".dice .gauge")).to_have_count(0)
    page.keyboard.press("Escape")


def test_a_pinned_card_follows_its_token_through_the_film(page: Page) -> None:
    page.locator(".scrubber").fill("2")
    drawn(page)
    page.locator(f"{LANE} .token[data-kind=pending]:visible").first.click()
    expect(page.locator(".dice .chip")).to_have_text("proposed")
    scrub(page, 3)
    expect(page.locator(".dice .chip")).not_to_have_text("proposed")
    scrub(page, 0)
    expect(page.locator(".dice")).to_be_hidden()


@pytest.mark.parametrize(
    ("dice", "accept", "written"),
    [
        (0.31, 0.69, ["0.31", "0.69"]),
        (0.687, 0.6901, ["0.687", "0.690"]),
        (0.9961, 0.89, ["0.996", "0.890"]),
        (0.07, 0.0000234, ["0.07", "0.000023"]),
        (0.5, 1, ["0.50", "1.00"]),
    ],
)
def test_dice_and_limit_are_written_so_that_they_can_be_told_apart(
    page: Page, dice: float, accept: float, written: list[str]
) -> None:
    found = page.evaluate(
        """async ([dice, accept]) => {
            const { toldApart } = await import("/api/assets/stream/dice_words.js");
            const { Texts } = await import("/api/assets/stream/texts.js");
            return toldApart(dice, accept, new Texts({ language: "en" }));
        }""",
        [dice, accept],
    )
    assert found == written
