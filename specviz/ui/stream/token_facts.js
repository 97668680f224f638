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
 * The rows of the comparison of p and q: the most probable tokens of either, and the proposed
 * one. A probability that was not recorded is null. The proposal's own p and q are those of the
 * test: in a greedy run 0 or 1, which is not what the lists show, so there they are left out.
 */
export function pairedChoices(proposal, greedy, rows = 8) {
  const { token, text, p, q } = proposal;
  const own = greedy ? { token, text, p: null, q: null } : { token, text, p, q };
  const paired = new Map([[token, own]]);
  const add = (side, [id, name, probability]) => {
    const row = paired.get(id) ?? { token: id, text: name, p: null, q: null };
    paired.set(id, { ...row, [side]: probability });
  };
  proposal.p_top.forEach((candidate) => add("p", candidate));
  proposal.q_top.forEach((candidate) => add("q", candidate));
  const largest = (row) => Math.max(row.p ?? 0, row.q ?? 0);
  const sorted = [...paired.values()].sort((a, b) => largest(b) - largest(a));
  const kept = sorted.slice(0, rows);
  const isOwn = (row) => row.token === token;
  return kept.some(isOwn) ? kept : [...kept.slice(0, rows - 1), sorted.find(isOwn)];
}

/** The most that a token can have which is not in a list of the most probable. */
export function mostOutside(candidates) {
  const smallest = candidates.at(-1)?.[2] ?? 1;
  const left = candidates.reduce((rest, [, , probability]) => rest - probability, 1);
  return Math.max(0, Math.min(smallest, left));
}
