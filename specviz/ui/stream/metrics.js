/** A run's numbers, as `docs` and `specviz/metrics.py` define them. Pure; null where undefined. */

import { LANES } from "./run_model.js";

const Z_95 = 1.959963984540054;

/** Seconds of the cycles, by the engine's clock; the prompt's pass is in no average. */
export function cycleSeconds(lane) {
  return Object.values(lane.totals.seconds).reduce((sum, part) => sum + part, 0);
}

export function secondsPerToken(lane) {
  return lane && lane.totals.emitted > 0 ? cycleSeconds(lane) / lane.totals.emitted : null;
}

export function tokensPerSecond(lane) {
  const seconds = secondsPerToken(lane);
  return seconds ? 1 / seconds : null;
}

/** Plain decoding's seconds a token over the speculative lane's; below 1 is slower. */
export function measuredSpeedup(run) {
  const [speculative, plain] = LANES.map((name) => secondsPerToken(run.lanes[name]));
  return speculative && plain ? plain / speculative : null;
}

/** τ: tokens emitted per cycle. */
export function meanAcceptanceLength(lane) {
  return lane && lane.totals.cycles > 0 ? lane.totals.emitted / lane.totals.cycles : null;
}

export function draftAcceptanceRate(lane) {
  return lane && lane.totals.judged > 0 ? lane.totals.accepted / lane.totals.judged : null;
}

/** How many times as long as a plain pass a speculative cycle takes. */
export function cycleCost({ lanes: { speculative, plain } }) {
  const perCycle = (lane) => cycleSeconds(lane) / lane.totals.cycles;
  return perCycle(speculative) / perCycle(plain);
}

export function draftingShare(lane) {
  const seconds = cycleSeconds(lane);
  return seconds > 0 ? lane.totals.seconds.draft / seconds : null;
}

/** Of the proposals tested at each position, the share accepted, with its 95 % interval. */
export function conditionalAcceptance(lane) {
  return lane.totals.at.map(({ tested, accepted }) => ({
    tested,
    rate: accepted / tested,
    interval: wilson(accepted, tested),
  }));
}

/** Wilson's 95 % interval of a share. */
export function wilson(successes, trials) {
  const share = successes / trials;
  const z2 = Z_95 ** 2 / trials;
  const centre = (share + z2 / 2) / (1 + z2);
  const spread = (Z_95 * Math.sqrt((share * (1 - share)) / trials + z2 / trials / 4)) / (1 + z2);
  return [Math.max(0, centre - spread), Math.min(1, centre + spread)];
}

/** Seconds a token, by what they went into. */
export function ledger(lane) {
  const { emitted, seconds } = lane.totals;
  return Object.entries(seconds).map(([part, sum]) => ({
    part,
    seconds: emitted ? sum / emitted : 0,
  }));
}
