/**
 * The playhead over a run's moments. It has its own time, which touches no number: the reader
 * may slow it, stop it and turn it back. No page: the clock is what `advance` is told.
 */

import { cursorAt } from "./run_model.js";

export const LIVE = "live";
export const SPEEDS = [LIVE, 0.25, 0.5, 1, 2, 4, 8];

/** How long a moment stays at speed 1, in milliseconds. */
const DWELL = { proposed: 400, judged: 240, closed: 400, single: 120 };
/** A cycle that comes in live is unfolded in this time a stage, or sooner if the next is due. */
const LIVE_STAGE = 110;
const SHARE_OF_GAP = 0.8;
/** A film that fell behind (a tab in the background) goes on from here, it does not race. */
const LONGEST_LAG = 250;

export class Playback {
  constructor(run, { reducedMotion = false } = {}) {
    this.run = run;
    this.reducedMotion = reducedMotion;
    /** How many of the run's moments are shown. */
    this.shown = 0;
    this.playing = true;
    /** Whether a finished run is being played again. */
    this.replaying = false;
    this.speed = LIVE;
    /** When the next moment may be shown. */
    this.due = null;
    /** The cycle whose stages are being shown live, one after the other. */
    this.unfolding = null;
    /** The usual time between two such cycles. */
    this.gap = Infinity;
    this.lastArrival = null;
  }

  get total() {
    return this.run.moments.length;
  }

  get runIsOver() {
    return this.run.phase === "finished";
  }

  /** Whether it shows each event as it comes in. */
  get keepsUp() {
    return this.playing && this.speed === LIVE && !this.replaying;
  }

  /** Whether the picture will change without anything new coming in. */
  get isMoving() {
    return this.playing && (this.unfolding !== null || this.shown < this.total);
  }

  /** Moves the playhead to where it should be at this time; ends the film at its end. */
  advance(now) {
    if (!this.playing) return;
    if (this.keepsUp) this.follow(now);
    else this.roll(now);
    if (this.runIsOver && this.shown === this.total && !this.unfolding) this.playing = false;
  }

  /** What each lane shows now. */
  cursors() {
    const cursors = cursorAt(this.run, this.shown);
    return this.unfolding ? { ...cursors, [this.unfolding.lane]: this.unfolding.cursor } : cursors;
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  play() {
    const fromTheStart = this.runIsOver && this.shown === this.total;
    if (fromTheStart) this.shown = 0;
    this.replaying = this.runIsOver;
    this.playing = true;
    this.due = null;
  }

  pause() {
    this.playing = false;
    this.unfolding = null;
  }

  setSpeed(speed) {
    this.speed = speed;
    this.due = null;
    this.unfolding = null;
  }

  seek(shown) {
    this.pause();
    this.shown = Math.min(Math.max(shown, 0), this.total);
  }

  /** To the end of the next moment that is not minor. */
  stepForward() {
    const { moments } = this.run;
    let shown = this.shown + 1;
    while (shown < this.total && moments[shown - 1].minor) shown += 1;
    this.seek(shown);
  }

  stepBack() {
    const { moments } = this.run;
    let shown = this.shown - 1;
    while (shown > 0 && moments[shown - 1].minor) shown -= 1;
    this.seek(shown);
  }

  /** Live: everything is shown at once, only the last cycle with proposals is unfolded. */
  follow(now) {
    const fresh = this.run.moments.slice(this.shown).findLast(({ pass }) => pass.stages > 1);
    this.shown = this.total;
    if (fresh && !this.reducedMotion) this.unfold(fresh, now);
    if (!this.unfolding) return;
    const { lane, pass, since, each } = this.unfolding;
    const stage = Math.floor((now - since) / each);
    const overtaken = cursorAt(this.run, this.shown)[lane].pass !== pass.number;
    if (overtaken || stage >= pass.stages - 1) this.unfolding = null;
    else this.unfolding.cursor = { pass: pass.number, stage };
  }

  unfold({ lane, pass }, now) {
    const gap = now - (this.lastArrival ?? -Infinity);
    this.gap = Number.isFinite(this.gap) ? 0.7 * this.gap + 0.3 * gap : gap;
    this.lastArrival = now;
    const each = Math.min(LIVE_STAGE, (SHARE_OF_GAP * this.gap) / pass.stages);
    this.unfolding = { lane, pass, since: now, each, cursor: { pass: pass.number, stage: 0 } };
  }

  /** At a speed of its own: one moment after the other, each for its time. */
  roll(now) {
    this.due = Math.max(this.due ?? now, now - LONGEST_LAG);
    while (this.shown < this.total && this.due <= now) {
      const moment = this.run.moments[this.shown];
      this.shown += 1;
      this.due += this.dwell(moment);
    }
  }

  dwell({ pass, stage, minor }) {
    const skipped = this.reducedMotion && stage < pass.stages - 1;
    if (skipped) return 0;
    if (this.speed === LIVE) return modelMilliseconds(pass) / pass.stages;
    return minor ? 0 : dwellAtOne(pass, stage) / this.speed;
  }
}

/** In a replay, `live` is the pace at which the model ran. */
function modelMilliseconds({ event }) {
  if (event.type === "prefilled") return 0;
  const { draft, verify, sample, bookkeeping } = event.seconds;
  return 1000 * (draft + verify + sample + bookkeeping);
}

function dwellAtOne(pass, stage) {
  if (pass.stages === 1) return DWELL.single;
  if (stage === 0) return DWELL.proposed;
  return stage === pass.stages - 1 ? DWELL.closed : DWELL.judged;
}
