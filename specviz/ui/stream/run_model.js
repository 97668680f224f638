/**
 * A job as the page knows it: a fold of the server's messages. No page, no clock, no network.
 *
 * @typedef {"speculative"|"plain"} LaneName
 *
 * @typedef {object} Cursor how far a lane is shown: a pass and a stage of it
 * @property {number} pass
 * @property {number} stage
 *
 * @typedef {object} Moment one change of the picture; the run's moments are its film
 * @property {LaneName} lane
 * @property {import("./passes.js").Pass} pass
 * @property {number} stage
 * @property {boolean} minor a plain token while the speculative lane sets the pace
 * @property {Record<LaneName, Cursor | null>} cursor what is shown after it
 *
 * @typedef {object} Lane
 * @property {LaneName} name
 * @property {object | null} started
 * @property {object | null} ended run_finished, or null while it goes on
 * @property {import("./passes.js").Pass[]} passes
 * @property {number} tokens
 * @property {Record<import("./passes.js").Kind, number>} kinds
 * @property {object} totals sums over the cycles
 * @property {{seconds: number[], tokens: number[]}} race tokens against model time
 */

import { KINDS, passOfCycle, passOfPrompt } from "./passes.js";

/** @type {LaneName[]} */
export const LANES = ["speculative", "plain"];

export function newRun() {
  return {
    /** The sequence number of the next message. */
    next: 0,
    /** @type {"waiting"|"queued"|"loading"|"running"|"finished"} */
    phase: "waiting",
    /** Its place in the queue: 1 is the next to run. */
    position: null,
    /** @type {Partial<Record<LaneName, Lane>>} */
    lanes: {},
    /** What went wrong, in the server's words. */
    failure: null,
    /** @type {Moment[]} */
    moments: [],
  };
}

/**
 * Takes one message in.
 * @returns {"taken"|"known"|"gap"} `known`: seen before; `gap`: one or more before it are missing
 */
export function receive(run, message) {
  if ("state" in message) {
    run.phase = message.state;
    run.position = message.position ?? null;
    return "taken";
  }
  if (message.seq < run.next) return "known";
  if (message.seq > run.next) return "gap";
  run.next += 1;
  takeEvent(run, message.lane, message.event);
  return "taken";
}

/** The lane that sets the pace: the speculative one where there is one. */
export function mainLane(run) {
  return run.lanes.speculative ?? run.lanes.plain ?? null;
}

/** What is shown after the first `shown` moments. */
export function cursorAt(run, shown) {
  return shown > 0 ? run.moments[shown - 1].cursor : { speculative: null, plain: null };
}

function takeEvent(run, name, event) {
  const lane = (run.lanes[name] ??= newLane(name));
  if (event.type === "run_started") lane.started = event;
  if (event.type === "run_finished") lane.ended = event;
  if (event.type === "run_failed") run.failure = event.message;
  if (event.type === "prefilled") {
    addPass(run, lane, passOfPrompt(event, lane.passes.length, lane.tokens));
  }
  if (event.type === "cycle") {
    addToTotals(lane.totals, event);
    addPass(run, lane, passOfCycle(event, lane.passes.length, lane.tokens));
  }
}

function newLane(name) {
  return {
    name,
    started: null,
    ended: null,
    passes: [],
    tokens: 0,
    kinds: Object.fromEntries(KINDS.map((kind) => [kind, 0])),
    totals: {
      cycles: 0,
      drafted: 0,
      /** Proposals that could have been kept: those behind a kept end of the text could not. */
      judged: 0,
      accepted: 0,
      emitted: 0,
      seconds: { draft: 0, verify: 0, sample: 0, bookkeeping: 0 },
      /** cyclesAccepting[a]: cycles that accepted a proposals */
      cyclesAccepting: [],
      /** at[i]: how often the proposal at position i (from 0) was tested, and accepted */
      at: [],
    },
    race: { seconds: [], tokens: [] },
  };
}

function addToTotals(totals, cycle) {
  totals.cycles += 1;
  totals.drafted += cycle.drafted;
  totals.judged += cycle.tested === cycle.accepted ? cycle.tested : cycle.drafted;
  totals.accepted += cycle.accepted;
  totals.emitted += cycle.emitted.length;
  for (const part of Object.keys(totals.seconds)) totals.seconds[part] += cycle.seconds[part];
  totals.cyclesAccepting[cycle.accepted] = (totals.cyclesAccepting[cycle.accepted] ?? 0) + 1;
  for (let position = 0; position < cycle.tested; position += 1) {
    const at = (totals.at[position] ??= { tested: 0, accepted: 0 });
    at.tested += 1;
    if (position < cycle.accepted) at.accepted += 1;
  }
}

function addPass(run, lane, pass) {
  lane.passes.push(pass);
  lane.tokens = pass.tokensAfter;
  for (const piece of pass.pieces) lane.kinds[piece.kind] += 1;
  const { draft, verify, sample, bookkeeping } = lane.totals.seconds;
  lane.race.seconds.push(draft + verify + sample + bookkeeping);
  lane.race.tokens.push(lane.tokens);
  const pacer = run.lanes.speculative;
  const minor = lane.name === "plain" && Boolean(pacer?.passes.length) && !pacer.ended;
  for (let stage = 0; stage < pass.stages; stage += 1) {
    const before = cursorAt(run, run.moments.length);
    const cursor = { ...before, [lane.name]: { pass: pass.number, stage } };
    run.moments.push({ lane: lane.name, pass, stage, minor, cursor });
  }
}
