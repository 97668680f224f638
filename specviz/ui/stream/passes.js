/**
 * What one pass of the target leaves on the page: its tokens in order, each with its class and
 * the stage of the animation at which it appears and is settled. Pure.
 *
 * The stages of a cycle with d proposals of which t were tested: 0 shows them all undecided,
 * 1 … t judge one each (a rejection discards what follows it), t + 1 adds the token that the
 * target itself put at the end. A pass without proposals has one stage.
 *
 * @typedef {"accepted"|"rejected"|"discarded"|"resampled"|"bonus"|"target"} Kind
 *
 * @typedef {object} Piece one token as it is drawn
 * @property {Kind} kind
 * @property {number | null} slot its place among the proposals, from 0
 * @property {object | null} proposal
 * @property {object | null} emitted
 * @property {number | null} position its place in the lane's text, from 0
 * @property {number} appears
 * @property {number} settles
 *
 * @typedef {object} Pass
 * @property {number} number its place in the lane: 0 is the prompt's pass
 * @property {object} event
 * @property {Piece[]} pieces
 * @property {number} stages
 * @property {number} tokensBefore tokens of the lane's text before it
 * @property {number} tokensAfter
 */

export const KINDS = ["accepted", "rejected", "discarded", "resampled", "bonus", "target"];

/** @returns {Pass} of the prompt's pass */
export function passOfPrompt(event, number, tokensBefore) {
  const piece = emittedPiece(event.emitted, tokensBefore, 0);
  return { number, event, pieces: [piece], stages: 1, tokensBefore, tokensAfter: tokensBefore + 1 };
}

/** @returns {Pass} of a cycle */
export function passOfCycle(event, number, tokensBefore) {
  const kept = event.emitted.filter((emitted) => emitted.source === "accepted");
  const added = event.emitted.slice(kept.length);
  const proposed = event.proposals.map((proposal, slot) => {
    const emitted = proposal.verdict === "accepted" ? kept[slot] : undefined;
    return proposedPiece(proposal, slot, emitted, tokensBefore + slot, event.tested);
  });
  // Where the proposals were not recorded, the kept ones are shown as they were emitted.
  const others = proposed.length ? added : event.emitted;
  const start = tokensBefore + event.emitted.length - others.length;
  const stage = proposed.length ? event.tested + 1 : 0;
  const rest = others.map((emitted, index) => emittedPiece(emitted, start + index, stage));
  const pieces = [...proposed, ...rest];
  return {
    number,
    event,
    pieces,
    stages: 1 + Math.max(0, ...pieces.map((piece) => piece.settles)),
    tokensBefore,
    tokensAfter: tokensBefore + event.emitted.length,
  };
}

function proposedPiece(proposal, slot, emitted, position, tested) {
  // A proposal that was kept, but after the end of the text, is not part of it.
  const cut = proposal.verdict === "accepted" && !emitted;
  return {
    kind: cut ? "discarded" : proposal.verdict,
    slot,
    proposal,
    emitted: emitted ?? null,
    position: emitted ? position : null,
    appears: 0,
    settles: Math.min(slot + 1, Math.max(1, tested)),
  };
}

function emittedPiece(emitted, position, stage) {
  return {
    kind: emitted.source,
    slot: null,
    proposal: null,
    emitted,
    position,
    appears: stage,
    settles: stage,
  };
}
