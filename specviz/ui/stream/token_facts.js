/** What is known of one token. Pure. */

import { visible, visibleToken } from "./visible_text.js";

/** The token's text by itself: an open character's or a cut token's too. */
export function ownText(piece) {
  if (piece.proposal) return visibleToken(piece.proposal.text || piece.emitted?.text || "");
  const { token, text, top } = piece.emitted;
  return text ? visible(text) : visibleToken(top.find(([id]) => id === token)?.[1] ?? "");
}

/** What it shows in the stream: its part of the text, or its own text where it has none. */
export function shownText(piece) {
  return piece.emitted ? visible(piece.emitted.text) : visibleToken(piece.proposal.text);
}

/** The target's most probable tokens at its place, before any test; empty where not recorded. */
export function targetChoices(piece) {
  if (piece.proposal) return piece.proposal.p_top;
  return piece.kind === "resampled" ? [] : piece.emitted.top;
}

/**
 * The rows of the comparison of p and q: the most probable tokens of either, and this one.
 * A probability that was not recorded is null.
 */
export function pairedChoices(proposal, rows = 8) {
  const paired = new Map();
  const add = (side, [token, text, probability]) => {
    const row = paired.get(token) ?? { token, text, p: null, q: null };
    paired.set(token, { ...row, [side]: probability });
  };
  proposal.p_top.forEach((candidate) => add("p", candidate));
  proposal.q_top.forEach((candidate) => add("q", candidate));
  if (!paired.has(proposal.token)) {
    paired.set(proposal.token, { token: proposal.token, text: proposal.text, p: proposal.p, q: proposal.q });
  }
  const largest = (row) => Math.max(row.p ?? 0, row.q ?? 0);
  const sorted = [...paired.values()].sort((a, b) => largest(b) - largest(a));
  const kept = sorted.slice(0, rows);
  const own = sorted.find((row) => row.token === proposal.token);
  return kept.includes(own) ? kept : [...kept.slice(0, rows - 1), own];
}
