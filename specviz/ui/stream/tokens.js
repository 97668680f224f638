/**
 * Draws one lane's tokens. Nodes are appended once, a `span.pass` for each pass of the target,
 * and kept; showing, judging and turning back change attributes only, in time that does not
 * grow with what is already there.
 */

import { element } from "./dom.js";
import { Paragraphs } from "./paragraphs.js";
import { ownText, shownText } from "./token_facts.js";

/** How near to its end a lane must be scrolled to follow the text. */
const NEAR_THE_END = 24;
/** What a reader scrolls with, and for how long, in milliseconds, a scroll is still theirs. */
const SCROLLING = ["wheel", "touchmove", "pointerdown", "focusin"];
const MOMENTUM = 1500;
/** Scrolls to the end, without asking where it is. */
const FAR = 1e9;

export class LaneTokens {
  /**
   * @param {HTMLElement} container the scrolled box of the lane's text
   * @param {import("./texts.js").Texts} texts
   * @param {() => void} redraw asks for the next frame
   */
  constructor(container, texts, redraw) {
    this.container = container;
    this.texts = texts;
    this.redraw = redraw;
    /** @type {import("./run_model.js").Cursor | null} */
    this.cursor = null;
    /** @type {HTMLElement[]} by number of pass */
    this.passNodes = [];
    /** @type {WeakMap<Element, {piece: import("./passes.js").Piece, pass: import("./passes.js").Pass}>} */
    this.facts = new WeakMap();
    /** Whether the newest token is kept in sight, and when the reader last moved the text. */
    this.follows = true;
    this.readerMoved = -Infinity;
    for (const type of SCROLLING) {
      container.addEventListener(type, () => (this.readerMoved = performance.now()), {
        passive: true,
      });
    }
    container.addEventListener("scroll", () => this.onScroll(), { passive: true });
    const text = element("div");
    container.append(text);
    this.paragraphs = new Paragraphs(text);
    /** Whether its lines may break elsewhere than when they were parted. */
    this.reflowed = false;
    this.width = 0;
    this.sizes = new ResizeObserver(() => this.onResize());
    this.sizes.observe(text);
  }

  /**
   * Shows the lane up to a cursor, from wherever it was.
   * @param {import("./run_model.js").Lane} lane
   * @param {import("./run_model.js").Cursor | null} cursor
   */
  show(lane, cursor) {
    const { cursor: before } = this;
    if (before?.pass !== cursor?.pass || before?.stage !== cursor?.stage) this.move(lane, cursor);
    if (lane.ended?.reason === "end_of_text") this.markEnd(lane.passes.at(-1));
  }

  move(lane, cursor) {
    const from = this.cursor?.pass ?? -1;
    const to = cursor?.pass ?? -1;
    for (let number = from; number > to; number -= 1) this.passNodes[number].hidden = true;
    for (let number = Math.max(from, 0); number < to; number += 1) this.showPass(lane, number);
    if (cursor) this.showPass(lane, to, cursor.stage);
    this.paragraphs.endAt(this.passNodes[to]);
    this.passNodes[from]?.classList.remove("current");
    if (cursor && lane.passes[to].stages > 1) this.passNodes[to].classList.add("current");
    this.cursor = cursor;
  }

  /** Keeps the layout cheap. To be called at the start of a frame, before all changes. */
  tidy() {
    if (this.reflowed) this.paragraphs.join();
    this.reflowed = false;
    // Moving the nodes has lost the place.
    if (this.paragraphs.part()) this.keepInSight();
  }

  /** To be called when tokens were hidden or shown by the style sheet. */
  onReflow() {
    this.reflowed = true;
    this.redraw();
  }

  close() {
    this.sizes.disconnect();
  }

  onResize() {
    const { clientWidth } = this.container;
    if (this.width && clientWidth !== this.width) this.onReflow();
    this.width = clientWidth;
    this.keepInSight();
  }

  /** Scrolls to the newest token, unless the reader has scrolled up. */
  keepInSight() {
    if (this.follows) this.container.scrollTop = FAR;
  }

  /** A scroll may also come of a changed layout; only the reader's says what they want. */
  onScroll() {
    if (performance.now() - this.readerMoved > MOMENTUM) return;
    const { scrollTop, scrollHeight, clientHeight } = this.container;
    this.follows = scrollHeight - scrollTop - clientHeight < NEAR_THE_END;
  }

  /** The token and the pass that a node stands for. */
  factsOf(node) {
    return this.facts.get(node);
  }

  /** The nodes of the tokens that can be seen. */
  visibleTokens() {
    return [...this.container.querySelectorAll(".token")].filter(
      (node) => node.getClientRects().length,
    );
  }

  /** The token that ended the text has no text of its own. */
  markEnd(pass) {
    const index = pass.pieces.findLastIndex((piece) => piece.emitted);
    this.passNodes[pass.number]?.children[index].classList.add("end-of-text");
  }

  showPass(lane, number, stage = Infinity) {
    const pass = lane.passes[number];
    const node = (this.passNodes[number] ??= this.appendPass(pass));
    node.hidden = false;
    pass.pieces.forEach((piece, index) => {
      const token = node.children[index];
      token.hidden = stage < piece.appears;
      token.dataset.kind = stage < piece.settles ? "pending" : piece.kind;
    });
  }

  appendPass(pass) {
    const tokens = pass.pieces.map((piece) => this.tokenNode(piece, pass));
    const node = element("span", { class: "pass", "data-pass": pass.number }, ...tokens);
    if (pass.event.drafted) {
      const title = cycleSummary(pass, this.texts);
      node.append(element("span", { class: "seam", "aria-hidden": "true", title }));
    }
    this.paragraphs.append(node);
    return node;
  }

  tokenNode(piece, pass) {
    const label = tokenLabel(piece, this.texts);
    const node = element("span", {
      class: "token",
      role: "button",
      tabindex: -1,
      "aria-label": label,
    });
    // The space before a word is not underlined or struck, and may end a line unseen.
    const [, space, word] = /^( *)([^]*)$/.exec(shownText(piece));
    const marked = withLineBreaks(word || space, piece.emitted ? "\n" : "");
    node.append(word && space, element("span", { class: "word" }, ...marked));
    this.facts.set(node, { piece, pass });
    return node;
  }
}

/** “Cycle 12: 4 proposed, 2 kept, 3 tokens, 41 ms” */
export function cycleSummary({ event }, texts) {
  const seconds = Object.values(event.seconds).reduce((sum, part) => sum + part, 0);
  return texts.say("cycle.summary", {
    number: texts.number(event.index + 1),
    drafted: texts.number(event.drafted),
    accepted: texts.number(event.accepted),
    emitted: texts.number(event.emitted.length),
    time: texts.milliseconds(seconds),
  });
}

/** The token's text for a sentence: what cannot be seen has a name. */
export function spokenText(text, texts) {
  if (text === "") return texts.say("token.empty");
  if (/^\n+$/.test(text)) return texts.say("token.newline");
  if (/^\s+$/.test(text)) return texts.say("token.space");
  return text.trim();
}

function tokenLabel(piece, texts) {
  const values = {
    token: spokenText(ownText(piece), texts),
    kind: texts.say(`kind.${piece.kind}`),
  };
  if (piece.proposal) {
    const { p, q } = piece.proposal;
    return texts.say("token.label.proposed", {
      ...values,
      p: texts.percent(p),
      q: texts.percent(q),
    });
  }
  const { probability } = piece.emitted;
  if (probability === null) return texts.say("token.label.plain", values);
  return texts.say("token.label.drawn", { ...values, p: texts.percent(probability) });
}

/**
 * A line break is shown as a mark (drawn by the style sheet) and, in the text itself, as a break;
 * that of a struck token would only tear the text apart.
 */
function withLineBreaks(text, lineBreak) {
  return text
    .split(/(\n)/)
    .filter((part) => part !== "")
    .map((part) => (part === "\n" ? element("span", { class: "newline" }, lineBreak) : part));
}
