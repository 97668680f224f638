/**
 * Whether the two lanes wrote the same text. Pure.
 *
 * @typedef {object} Agreement
 * @property {"identical"|"prefix"|"parted"|"sampled"} outcome
 *   `prefix`: the same as far as the shorter one goes; `sampled`: two draws, not meant to agree
 * @property {number} tokens how many tokens agree
 * @property {Record<import("./run_model.js").LaneName, import("./passes.js").Piece>} [at]
 *   the two tokens that part them
 * @property {[number, string, number][]} [best] the target's first choices there
 */

import { targetChoices } from "./token_facts.js";

const GREEDY_TEMPERATURE = 1e-5;

export function isGreedy(lane) {
  return lane.started.settings.temperature <= GREEDY_TEMPERATURE;
}

/** @returns {Agreement | null} null while a lane is missing or goes on */
export function agreement({ lanes: { speculative, plain } }) {
  if (!speculative?.ended || !plain?.ended) return null;
  if (!isGreedy(speculative)) return { outcome: "sampled", tokens: 0 };
  const [ours, theirs] = [textPieces(speculative), textPieces(plain)];
  const shorter = Math.min(ours.length, theirs.length);
  const parted = ours.findIndex(
    (piece, index) => index < shorter && piece.emitted.token !== theirs[index].emitted.token,
  );
  if (parted >= 0) {
    const at = { speculative: ours[parted], plain: theirs[parted] };
    const best = [at.plain, at.speculative]
      .map(targetChoices)
      .find((choices) => choices.length > 1);
    return { outcome: "parted", tokens: parted, at, best: best?.slice(0, 2) ?? [] };
  }
  return { outcome: ours.length === theirs.length ? "identical" : "prefix", tokens: shorter };
}

function textPieces(lane) {
  return lane.passes.flatMap((pass) => pass.pieces.filter((piece) => piece.emitted));
}
