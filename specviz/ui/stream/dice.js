/** The dice view: a card by the token that shows in words and bars why it was kept or replaced. */

import { isGreedy } from "./agreement.js";
import { gauge, pairedBars, quoted, singleBars } from "./bars.js";
import { diceWords, pendingWords, toldApart } from "./dice_words.js";
import { element } from "./dom.js";
import { ownText } from "./token_facts.js";
import { cycleSummary, spokenText } from "./tokens.js";

const GAP = 8;
const RESIDUAL_ROWS = 5;

export class Dice {
  /**
   * @param {HTMLElement} card
   * @param {import("./texts.js").Texts} texts
   */
  constructor(card, texts) {
    this.card = card;
    this.texts = texts;
    /** The node whose dice are shown, what it stands for, and how it was shown last. */
    this.token = null;
    this.subject = null;
    this.kind = null;
    this.pinned = false;
    /** While it closes, the focus that goes back to its token does not open it again. */
    this.isClosing = false;
    const close = element(
      "button",
      { type: "button", class: "icon close", "aria-label": texts.say("close") },
      "✕",
    );
    close.addEventListener("click", () => this.close({ returnFocus: true }));
    this.body = element("div", { class: "dice-body" });
    card.append(this.body, close);
    this.reposition = () => this.token?.isConnected && place(card, this.token);
  }

  /**
   * Shows a token's dice; a pinned card stays until it is closed.
   * @param {HTMLElement} token the node that it belongs to
   * @param {{piece: object, pass: object}} facts
   * @param {import("./run_model.js").Lane} lane
   */
  open(token, facts, lane, { pinned = false } = {}) {
    this.mark(token);
    this.subject = { facts, lane };
    this.pinned = pinned;
    this.card.classList.toggle("pinned", pinned);
    if (!this.card.matches(":popover-open")) {
      this.card.showPopover();
      addEventListener("scroll", this.reposition, { capture: true, passive: true });
      addEventListener("resize", this.reposition, { passive: true });
    }
    this.fill();
  }

  /** Brings the card in line with its token, which may have been judged or hidden since. */
  refresh() {
    if (!this.token) return;
    if (this.token.closest("[hidden]")) this.close();
    else if (this.token.dataset.kind !== this.kind) this.fill();
  }

  fill() {
    const { facts, lane } = this.subject;
    this.kind = this.token.dataset.kind;
    const parts = this.kind === "pending" ? undecided : decided;
    this.body.replaceChildren(...parts(facts, lane, this.texts));
    this.card.scrollTop = 0;
    place(this.card, this.token);
  }

  close({ returnFocus = false } = {}) {
    if (!this.token || this.isClosing) return;
    this.isClosing = true;
    if (returnFocus) this.token.focus({ preventScroll: true });
    this.mark(null);
    this.pinned = false;
    if (this.card.matches(":popover-open")) this.card.hidePopover();
    removeEventListener("scroll", this.reposition, { capture: true });
    removeEventListener("resize", this.reposition);
    this.isClosing = false;
  }

  mark(token) {
    this.token?.classList.remove("looked-at");
    token?.classList.add("looked-at");
    this.token = token;
  }

  /** What the card says, for a screen reader. */
  get words() {
    return this.body.querySelector(".dice-words").textContent;
  }
}

/** What there is to say of a token that was judged. */
function decided(facts, lane, texts) {
  const { piece } = facts;
  const story = [heading(facts, piece.kind, texts), words(diceWords(facts, lane, texts), texts)];
  if (piece.proposal && piece.kind !== "discarded" && !isGreedy(lane)) {
    const { accept_probability, u } = piece.proposal;
    story.push(gauge(piece.proposal, toldApart(u ?? 0, accept_probability, texts), texts));
  }
  return columns(story, [comparison(facts, lane, texts), drawn(facts, lane, texts)]);
}

/** A proposal at a moment when the target has not judged it yet. */
function undecided(facts, lane, texts) {
  const { proposal } = facts.piece;
  const story = [heading(facts, "pending", texts), words(pendingWords(facts.piece, texts), texts)];
  if (!proposal.q_top.length) return columns(story, []);
  const caption = texts.say("bars.drafter.caption");
  return columns(story, [singleBars(proposal.q_top, proposal.token, "of-drafter", caption, texts)]);
}

function columns(story, bars) {
  return [
    element("div", { class: "dice-story" }, ...story),
    element("div", { class: "dice-bars" }, ...bars.filter(Boolean)),
  ];
}

/** p against q, where something had been proposed and both were recorded. */
function comparison({ piece, pass }, lane, texts) {
  const rejected = pass.pieces.find(({ kind }) => kind === "rejected")?.proposal;
  const compared = piece.proposal ?? (piece.kind === "resampled" ? rejected : null);
  if (!compared || compared.p_top.length + compared.q_top.length === 0) return null;
  return pairedBars(compared, isGreedy(lane), texts);
}

/** The distribution that the token, or the one in its place, was drawn from. */
function drawn({ piece, pass }, lane, texts) {
  const replaces = piece.kind === "resampled" || piece.kind === "rejected";
  if (!replaces && piece.proposal) return null;
  // A greedy residual is one token: it says no more than the words.
  if (replaces && isGreedy(lane)) return null;
  const emitted = piece.emitted ?? pass.pieces.find(({ kind }) => kind === "resampled")?.emitted;
  const candidates = emitted?.top.slice(0, replaces ? RESIDUAL_ROWS : undefined) ?? [];
  if (!candidates.length) return null;
  const caption = texts.say(replaces ? "bars.residual" : "bars.target.caption");
  return singleBars(
    candidates,
    emitted.token,
    replaces ? "of-residual" : "of-target",
    caption,
    texts,
  );
}

function heading({ piece, pass }, kind, texts) {
  const chip = element("span", { class: "chip", "data-kind": kind }, texts.say(`kind.${kind}`));
  const where = [];
  if (piece.slot !== null) {
    where.push(
      texts.say("dice.slot", {
        slot: texts.number(piece.slot + 1),
        of: texts.number(pass.event.drafted),
      }),
    );
  }
  if (piece.position !== null && kind !== "pending")
    where.push(texts.say("dice.position", { number: texts.number(piece.position + 1) }));
  if (pass.event.type === "prefilled") where.push(texts.say("dice.prompt"));
  else if (kind !== "pending") where.push(cycleSummary(pass, texts));
  return element(
    "header",
    {},
    element("p", { class: "dice-title" }, chip, quoted(spokenOrOwn(piece, texts))),
    element("p", { class: "dice-where" }, where.join(" · ")),
  );
}

function spokenOrOwn(piece, texts) {
  const text = ownText(piece);
  return text.trim() === "" ? spokenText(text, texts) : text;
}

function words(sentences, texts) {
  const paragraph = element("p", { class: "dice-words" });
  for (const [key, values] of sentences) {
    const filled = Object.entries(values).map(([name, value]) => [name, asNode(value)]);
    paragraph.append(texts.nodes(key, Object.fromEntries(filled)), " ");
  }
  return paragraph;
}

function asNode(value) {
  return typeof value === "object" ? quoted(value.token) : value;
}

/** Below the token, or above it where there is more room; within the window. */
function place(card, token) {
  const lines = token.getClientRects();
  const [first, last] = [lines[0], lines[lines.length - 1]];
  if (!first) return;
  const { offsetWidth: width, offsetHeight: height } = card;
  const below = innerHeight - last.bottom - GAP;
  const fitsBelow = below >= height || below >= first.top;
  const top = fitsBelow ? last.bottom + GAP : first.top - GAP - height;
  const left = Math.min(Math.max(GAP, first.left - 2 * GAP), innerWidth - width - GAP);
  card.style.top = `${Math.max(GAP, Math.min(top, innerHeight - height - GAP))}px`;
  card.style.left = `${Math.max(GAP, left)}px`;
}
