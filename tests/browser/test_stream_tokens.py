"""How tokens look: their classes, hostile text, what the reader can hide."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from specviz.events import Cycle
from specviz.trace import collect
from tests.browser.conftest import OpenRun, finished, texts
from tests.browser.synthetic import SyntheticJob, SyntheticRun, numbered, race, with_texts

pytestmark = pytest.mark.browser

SPECULATIVE = "[data-lane=speculative] .token"
HOSTILE = [
    "<script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 1'>",
    "**bold** `code` $x$ [link](javascript:window.hacked=1)",
    "</div></span><!--",
    "nul \x00 bell \x07",
    "\u202egnitirw derevo\u202c \u2067שלום",
    "x" * 10_000,
]


def test_every_class_is_drawn_as_often_as_it_happened(open_run: OpenRun) -> None:
    """22: a rejected token is not overwritten by its replacement; none stays pending."""
    run = SyntheticRun(tokens=60)
    page = finished(open_run(race(run)))
    trace = collect(run.events("speculative"))
    sources: list[str] = [emitted.source for cycle in trace.cycles for emitted in cycle.emitted]
    verdicts = [proposal.verdict for cycle in trace.cycles for proposal in cycle.proposals]
    for kind in ("accepted", "rejected", "discarded"):
        expect(page.locator(f"{SPECULATIVE}[data-kind={kind}]")).to_have_count(verdicts.count(kind))
    for kind in ("resampled", "bonus"):
        expect(page.locator(f"{SPECULATIVE}[data-kind={kind}]")).to_have_count(sources.count(kind))
    expect(page.locator("[data-kind=pending]")).to_have_count(0)
    assert verdicts.count("rejected") > 0
    kinds = [
        node.get_attribute("data-kind")
        for node in page.locator(
            f"{SPECULATIVE}:is([data-kind=rejected], [data-kind=resampled])"
        ).all()
    ]
    assert kinds == ["rejected", "resampled"] * verdicts.count("rejected")


def test_the_text_is_whole_and_in_order(open_run: OpenRun) -> None:
    run = SyntheticRun(tokens=60)
    page = finished(open_run(race(run)))
    kept = texts(page, f"{SPECULATIVE}:not([data-kind=rejected], [data-kind=discarded])")
    assert "".join(kept) == collect(run.events("speculative")).text
    assert "".join(texts(page, "[data-lane=plain] .token")) == collect(run.events("plain")).text


def test_hostile_text_is_text(open_run: OpenRun) -> None:
    """23: shown as it is, run as nothing, and it moves nothing out of its lane."""
    page = open_run(with_texts(SyntheticRun(), HOSTILE), width=900)
    expect(page.locator(f"{SPECULATIVE}[data-kind=resampled]")).to_have_count(len(HOSTILE))
    shown = texts(page, f"{SPECULATIVE}[data-kind=resampled]")
    assert shown[:4] == HOSTILE[:4]
    assert shown[4] == "nul ␀ bell ␇"
    assert shown[5] == "⟨202E⟩gnitirw derevo⟨202C⟩ ⟨2067⟩שלום"
    assert page.evaluate("window.hacked") is None
    page.locator(f"{SPECULATIVE}[data-kind=rejected]").first.click()
    assert "<script>window.hacked = 1</script>" in page.locator(".dice-words").inner_text()
    assert page.evaluate("window.hacked") is None
    assert page.locator(".specviz :is(script, img)").count() == 0
    stream = "document.querySelector('#host').shadowRoot.querySelector('.stream')"
    assert page.evaluate(f"{stream}.scrollWidth <= {stream}.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_prompt_or_model_name_is_text_too(open_run: OpenRun) -> None:
    """23."""
    events = SyntheticRun().events("speculative")
    started = events[0].model_copy(update={"target": "<b>bold</b>"})
    page = open_run(numbered({"speculative": [started, *events[1:]]}))
    expect(page.locator("[data-lane=speculative] .lane-facts")).to_contain_text("<b>bold</b>")


def test_line_breaks_break_lines_and_are_marked(open_run: OpenRun) -> None:
    page = open_run(with_texts(SyntheticRun(), ["one\n", "two"]))
    resampled = page.locator(f"{SPECULATIVE}[data-kind=resampled]")
    expect(resampled).to_have_count(2)
    one, two = resampled.all()
    expect(two).to_be_visible()
    top, below = one.bounding_box(), two.bounding_box()
    assert top is not None
    assert below is not None
    assert below["y"] > top["y"]
    mark = "getComputedStyle(node, '::before').content"
    assert "↵" in one.locator(".newline").evaluate(f"node => {mark}")


def test_a_character_split_over_tokens_appears_once(open_run: OpenRun) -> None:
    """12: no U+FFFD is shown, and a token without text of its own can still be looked at."""
    page = open_run(with_texts(SyntheticRun(), ["\ufffd"])[:3] + _split_character())
    expect(page.locator(f"{SPECULATIVE}[data-kind=accepted]")).to_have_count(1)
    stream = page.locator("[data-lane=speculative] .stream")
    assert "\ufffd" not in stream.inner_text()
    assert stream.inner_text().count("🌊") == 1
    open_part = page.locator(f"{SPECULATIVE}[data-kind=accepted]")
    expect(open_part).to_have_attribute("aria-label", "▫, accepted, p 50%, q 50%")
    box = open_part.bounding_box()
    assert box is not None
    assert box["width"] > 4


def test_the_token_that_ended_the_text_is_marked(open_run: OpenRun) -> None:
    """9: it is a token, it has no text, and it is not half a character."""
    events = SyntheticRun(tokens=12, reason="end_of_text").events("plain")
    last = events[-2]
    assert isinstance(last, Cycle)
    end = last.emitted[0].model_copy(update={"text": ""})
    events[-2] = last.model_copy(update={"emitted": (end,)})
    page = finished(open_run(numbered({"plain": events})))
    marks = page.locator(".stream .word").evaluate_all(
        "words => words.map((word) => getComputedStyle(word, '::after').content)"
    )
    assert [mark for mark in marks if mark != "none"] == ['"■" / ""']


def _split_character() -> list[dict[str, object]]:
    cycle = with_texts(SyntheticRun(), ["\ufffd"])[-1]
    proposal = cycle["event"]["proposals"][0] | {
        "verdict": "accepted",
        "p": 0.5,
        "q": 0.5,
        "accept_probability": 1.0,
    }
    event = cycle["event"] | {
        "accepted": 1,
        "proposals": [proposal],
        "emitted": [
            {"token": 0, "text": "", "source": "accepted", "probability": None, "top": []},
            {"token": 1, "text": "🌊", "source": "bonus", "probability": 0.5, "top": []},
        ],
    }
    return [{"seq": 2, "lane": "speculative", "event": event}]


def test_struck_tokens_go_and_come_back(open_run: OpenRun) -> None:
    page = finished(open_run(race(SyntheticRun())))
    struck = page.locator(f"{SPECULATIVE}[data-kind=rejected]").first
    expect(struck).to_be_visible()
    button = page.get_by_role("button", name="Hide struck tokens")
    button.click()
    expect(struck).to_be_hidden()
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(page.locator(f"{SPECULATIVE}[data-kind=resampled]").first).to_be_visible()
    button.click()
    expect(struck).to_be_visible()


def test_the_legend_counts_and_dims(open_run: OpenRun) -> None:
    run = SyntheticRun()
    page = finished(open_run(race(run)))
    accepted = sum(cycle.accepted for cycle in collect(run.events("speculative")).cycles)
    entry = page.get_by_role("button", name=f"accepted {accepted}")
    token = page.locator(f"{SPECULATIVE}[data-kind=accepted]").first
    expect(token).to_have_css("opacity", "1")
    entry.click()
    expect(token).to_have_css("opacity", "0.3")
    expect(page.locator(f"{SPECULATIVE}[data-kind=bonus]").first).to_have_css("opacity", "1")
    entry.click()
    expect(token).to_have_css("opacity", "1")


def test_each_class_has_a_cue_that_is_not_colour(open_run: OpenRun) -> None:
    page = finished(open_run(race(SyntheticRun(tokens=96))))
    cues = {
        kind: page.locator(f"{SPECULATIVE}[data-kind={kind}] > .word").first.evaluate(
            """node => {
                const style = getComputedStyle(node);
                return [style.textDecorationLine, style.textDecorationStyle,
                        getComputedStyle(node, '::after').content];
            }"""
        )
        for kind in ("accepted", "rejected", "discarded", "resampled", "bonus", "target")
    }
    assert len({tuple(cue) for cue in cues.values()}) == 6


def test_a_seam_tells_of_its_cycle(open_run: OpenRun) -> None:
    run = SyntheticRun()
    page = finished(open_run(race(run)))
    first = collect(run.events("speculative")).cycles[0]
    seam = page.locator("[data-lane=speculative] .seam").first
    expect(seam).to_be_visible()
    expect(seam).to_have_attribute(
        "title",
        f"Cycle 1: {first.drafted} proposed, {first.accepted} accepted,"
        f" {len(first.emitted)} emitted, {1000 * first.seconds.total:.0f}\u00a0ms",
    )
    expect(page.locator("[data-lane=plain] .seam")).to_have_count(0)


def test_a_live_cycle_unfolds_and_settles(open_run: OpenRun) -> None:
    """22: the proposals are seen undecided first, and never stay so."""
    messages = numbered({"speculative": SyntheticRun(likeness=0.3).events("speculative")})
    job = SyntheticJob(messages, released=3)
    page = open_run(job, reduced_motion=False)
    page.wait_for_selector("[data-lane=speculative] .token")
    page.evaluate(
        """() => {
            window.seen = new Set();
            const stream = document.querySelector('#host').shadowRoot.querySelector('.stream');
            new MutationObserver((changes) => changes.forEach(({ target }) =>
                target.dataset?.kind && window.seen.add(target.dataset.kind)))
                .observe(stream, { subtree: true, attributeFilter: ['data-kind'] });
        }"""
    )
    job.released = 5
    expect(page.locator(f"{SPECULATIVE}[data-kind=resampled]").first).to_be_visible()
    expect(page.locator("[data-kind=pending]")).to_have_count(0)
    page.wait_for_function("window.seen.has('pending') && window.seen.has('rejected')")


def test_with_reduced_motion_tokens_appear_judged(open_run: OpenRun) -> None:
    messages = numbered({"speculative": SyntheticRun(likeness=0.3).events("speculative")})
    page = finished(open_run(messages, reduced_motion=True))
    expect(page.locator("[data-kind=pending]")).to_have_count(0)
    page.locator(".scrubber").fill("3")
    current = page.locator("[data-lane=speculative] .current .word")
    expect(current.first).to_have_css("animation-name", "none")


ONE_PARAGRAPH = """() => {
    const root = document.querySelector('#host').shadowRoot;
    const [first, ...rest] = root.querySelectorAll('[data-lane=speculative] .stream > div > div');
    first.className = "";
    rest.forEach((paragraph) => { first.append(...paragraph.children); paragraph.remove(); });
}"""


def test_a_long_text_is_parted_where_lines_end_and_nothing_moves(open_run: OpenRun) -> None:
    """The parting keeps the layout cheap; a reader must not see it."""
    messages = numbered({"speculative": SyntheticRun(tokens=400).events("speculative")})
    job = SyntheticJob(messages)
    page = open_run(job)
    for job.released in range(3, len(messages), 10):
        expect(page.locator(".pass")).to_have_count(job.released - 2)
    job.release_all()
    finished(page)
    places = """() => {
        const root = document.querySelector('#host').shadowRoot;
        const stream = root.querySelector('[data-lane=speculative] .stream');
        const top = stream.getBoundingClientRect().top - stream.scrollTop;
        return [...stream.querySelectorAll('.word')].map((word) => {
            const box = word.getClientRects()[0];
            return [Math.round(box.left), Math.round(box.top - top)];
        });
    }"""
    paragraphs = page.locator("[data-lane=speculative] .stream > div > div")
    assert paragraphs.count() > 3
    for number in range(paragraphs.count()):
        paragraphs.nth(number).scroll_into_view_if_needed()
    parted = page.evaluate(places)
    button = page.get_by_role("button", name="Hide struck tokens")
    button.click()
    button.click()
    page.evaluate(ONE_PARAGRAPH)
    joined = page.evaluate(places)
    assert len(parted) == len(joined)
    far = [
        (before, after)
        for before, after in zip(parted, joined, strict=True)
        if abs(before[0] - after[0]) > 1 or abs(before[1] - after[1]) > 1
    ]
    assert far == []


STREAM = "document.querySelector('#host').shadowRoot.querySelector('.stream')"


def test_the_newest_token_stays_in_sight_unless_the_reader_scrolls_up(open_run: OpenRun) -> None:
    messages = numbered({"speculative": SyntheticRun(tokens=300).events("speculative")})
    job = SyntheticJob(messages, released=60)
    page = open_run(job)
    stream = page.locator("[data-lane=speculative] .stream")
    expect(page.locator(".pass")).to_have_count(58)
    left = "node => node.scrollHeight - node.scrollTop - node.clientHeight"
    expect(page.locator(".pass").last).to_be_in_viewport()
    assert stream.evaluate(left) < 2
    stream.hover()
    page.mouse.wheel(0, -10_000)
    page.wait_for_function(f"{STREAM}.scrollTop === 0")
    job.released = 80
    expect(page.locator(".pass")).to_have_count(78)
    assert stream.evaluate("node => node.scrollTop") == 0
    page.mouse.wheel(0, 100_000)
    page.wait_for_function(f"({left})({STREAM}) < 2")
    job.released = 90
    expect(page.locator(".pass")).to_have_count(88)
    expect(page.locator(".pass").last).to_be_in_viewport()


def test_a_run_that_is_opened_late_is_shown_at_its_end(open_run: OpenRun) -> None:
    page = finished(open_run(race(SyntheticRun(tokens=300))))
    for lane in ("speculative", "plain"):
        expect(page.locator(f"[data-lane={lane}] .pass").last).to_be_in_viewport()


def test_turning_a_long_text_back_leaves_no_room_behind_it(open_run: OpenRun) -> None:
    page = finished(open_run(race(SyntheticRun(tokens=400))))
    page.locator(".scrubber").fill("12")
    expect(page.locator("[data-lane=speculative] .pass").nth(2)).to_be_in_viewport()
    page.wait_for_function(f"{STREAM}.scrollHeight === {STREAM}.clientHeight")
    page.locator(".scrubber").fill("99999")
    expect(page.locator("[data-lane=speculative] .pass").last).to_be_in_viewport()
