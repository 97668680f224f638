/**
 * What happened to a token, as sentences: keys of texts with their values, in the order of
 * reading. Pure. A value `{token: text}` is a token, to be quoted.
 */

import { isGreedy } from "./agreement.js";
import { ownText, targetChoices } from "./token_facts.js";
import { visibleToken } from "./visible_text.js";

/**
 * @param {{piece: import("./passes.js").Piece, pass: import("./passes.js").Pass}} facts
 * @param {import("./run_model.js").Lane} lane
 * @param {import("./texts.js").Texts} texts
 * @returns {[string, Record<string, unknown>][]}
 */
export function diceWords({ piece, pass }, lane, texts) {
  const token = { token: ownText(piece) };
  if (!piece.proposal) return [drawnWords(piece, pass, token, isGreedy(lane), texts)];
  const { proposal } = piece;
  const opinion = { token, p: texts.percent(proposal.p), q: texts.percent(proposal.q) };
  if (piece.kind === "discarded") {
    const behindRejected = pass.pieces.some(({ kind }) => kind === "rejected");
    return [[behindRejected ? "words.discarded" : "words.behind_end", opinion]];
  }
  if (isGreedy(lane)) return [greedyWords(piece, token)];
  const replaced = piece.kind === "rejected" ? replacementWords(pass) : [];
  return [opinionWords(proposal, lane, opinion, texts), dieWords(proposal, texts), ...replaced];
}

/** What there is to say before the target has judged. */
export function pendingWords(piece, texts) {
  const values = { token: { token: ownText(piece) }, q: texts.percent(piece.proposal.q) };
  return [["words.pending", values]];
}

/** The two numbers with as many digits as it takes to tell them, and the first and 1, apart. */
export function toldApart(first, second, texts) {
  const write = (value, more) => texts.number(value, digitsToSee(value) + more);
  for (let more = 0; more < 6; more += 1) {
    const written = [write(first, more), write(second, more)];
    const rounded = first < 1 && written[0] === write(1, more);
    if (!rounded && (written[0] !== written[1] || first === second)) return written;
  }
  return [String(first), String(second)];
}

/** Two, but for what would be 0.00. */
function digitsToSee(value) {
  return value > 0 && value < 0.01 ? 1 - Math.floor(Math.log10(value)) : 2;
}

/** A copied proposal was drawn from no distribution: its q is 1. */
function isCopied(lane) {
  return lane.started.settings.drafter === "lookup";
}

function opinionWords(proposal, lane, opinion, texts) {
  const values = { ...opinion, accept: texts.percent(proposal.accept_probability) };
  if (isCopied(lane)) return ["words.copied", values];
  return [proposal.accept_probability >= 1 ? "words.certain" : "words.ratio", values];
}

function dieWords({ u, accept_probability, verdict }, texts) {
  if (u === null) return [`words.undiced.${verdict}`, {}];
  const [dice, limit] = toldApart(u, accept_probability, texts);
  return [`words.dice.${verdict}`, { u: dice, accept: limit }];
}

function greedyWords(piece, token) {
  const best = targetChoices(piece)[0];
  if (piece.kind === "accepted" || !best) return [`words.greedy.${piece.kind}`, { token }];
  return ["words.greedy.rejected.best", { token, best: { token: visibleToken(best[1]) } }];
}

function replacementWords(pass) {
  const replacement = pass.pieces.find((piece) => piece.kind === "resampled");
  return replacement ? [["words.replaced", { token: { token: ownText(replacement) } }]] : [];
}

function drawnWords(piece, pass, token, greedy, texts) {
  const { probability } = piece.emitted;
  const p = probability === null ? "–" : texts.percent(probability);
  const rejected = pass.pieces.find(({ kind }) => kind === "rejected");
  const values = { token, p, rejected: { token: rejected ? ownText(rejected) : "" } };
  return [greedy ? `words.greedy.${piece.kind}` : `words.${piece.kind}`, values];
}
