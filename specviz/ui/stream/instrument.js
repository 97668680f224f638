/** One job on the page: the line to the server, the run, the playhead, and the views of them. */

import { agreement } from "./agreement.js";
import { agreementWords } from "./agreement_words.js";
import { Announcer } from "./announcer.js";
import { Charts } from "./charts.js";
import { Controls } from "./controls.js";
import { Dice } from "./dice.js";
import { Headline } from "./headline.js";
import { listenToKeys } from "./keyboard.js";
import { Legend } from "./legend.js";
import { Playback } from "./playback.js";
import { LANES, mainLane, newRun, receive } from "./run_model.js";
import { Status } from "./status.js";
import { Texts, writeStaticTexts } from "./texts.js";
import { markTheme, readTheme, watchTheme } from "./theme.js";
import { TokenFocus } from "./token_focus.js";
import { LaneTokens } from "./tokens.js";
import { Transport } from "./transport.js";
import { visible } from "./visible_text.js";

/** What moves, and numbers, in milliseconds: more often than this nobody would see. */
const NOTICEABLE = 80;
const READABLE = 200;

export class Instrument {
  /**
   * @param {HTMLElement} root the `.specviz` element of `stream.html`
   * @param {{address: string, texts: Record<string, string>, view?: "whole"|"lane"}} data
   * @param {() => void} onFinished called once, after the run's last message
   */
  constructor(root, { address, texts, view = "whole" }, onFinished) {
    this.root = root;
    root.dataset.view = view;
    this.address = address;
    this.onFinished = onFinished;
    this.texts = new Texts(texts);
    this.run = newRun();
    const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.playback = new Playback(this.run, { reducedMotion });
    this.frame = null;
    this.timer = null;
    this.finished = false;
    /** When the controls and the numbers may be drawn again, and what they count already. */
    this.controlsDue = 0;
    this.numbersDue = 0;
    this.counted = null;
    this.build();
    this.refreshTheme();
    this.stopWatching = watchTheme(() => this.refreshTheme());
    this.transport = new Transport(address, {
      next: () => this.run.next,
      isComplete: () => this.run.phase === "finished",
      onMessages: (messages) => this.take(messages),
      onState: (line) => this.onLine(line),
    });
  }

  build() {
    const { root, texts } = this;
    writeStaticTexts(root, texts);
    const part = (selector) => root.querySelector(selector);
    const onMoved = () => {
      this.controlsDue = 0;
      this.requestFrame();
    };
    this.status = new Status(root, texts, {
      stop: () => this.transport.stop(),
      retry: () => this.transport.retry(),
    });
    this.headline = new Headline(part(".headline"), texts);
    this.controls = new Controls(root, texts, this.playback, onMoved);
    this.legend = new Legend(root, texts, () => this.onReflow());
    this.dice = new Dice(part(".dice"), texts);
    this.announcer = new Announcer(part("[aria-live]"));
    this.charts = new Charts(root, texts);
    this.lanes = LANES.map((name) => this.buildLane(name));
    listenToKeys(root, { ...this, focuses: this.lanes.map(({ focus }) => focus) });
    root.addEventListener("pointerdown", (event) => {
      if (!event.target.closest(".token, .dice")) this.dice.close();
    });
  }

  buildLane(name) {
    const node = this.root.querySelector(`[data-lane=${name}]`);
    const stream = node.querySelector(".stream");
    const tokens = new LaneTokens(stream, this.texts, () => this.requestFrame());
    const look = (token, { pinned }) => {
      this.dice.open(token, tokens.factsOf(token), this.run.lanes[name], { pinned });
      if (pinned) this.announcer.say(this.dice.words);
    };
    const focus = new TokenFocus(stream, tokens, this.dice, { look });
    return { name, node, tokens, focus, facts: node.querySelector(".lane-facts") };
  }

  /** Takes messages in; false if one before them is missing. */
  take(messages) {
    for (const message of messages) {
      if (receive(this.run, message) === "gap") return false;
      if (message.lane && message.lane === mainLane(this.run)?.name)
        this.announcer.add(visible(textOf(message.event)));
    }
    this.requestFrame();
    if (this.run.phase === "finished" && !this.finished) this.finish();
    return true;
  }

  finish() {
    this.finished = true;
    this.numbersDue = 0;
    this.status.update(this.run, this.line);
    this.announcer.say(this.summary());
    this.onFinished();
  }

  summary() {
    const { texts, run } = this;
    const lane = mainLane(run);
    const status = this.status.text.textContent;
    return lane ? `${status}. ${texts.count("summary.tokens", lane.tokens)}` : status;
  }

  onLine(line) {
    this.line = line;
    this.requestFrame();
  }

  refreshTheme() {
    markTheme(this.root);
    this.charts.setTheme(readTheme(this.root));
  }

  requestFrame() {
    this.frame ??= requestAnimationFrame((now) => {
      this.frame = null;
      this.draw(now);
    });
  }

  draw(now) {
    for (const { tokens } of this.lanes) tokens.tidy();
    this.playback.advance(now);
    this.drawTokens();
    this.dice.refresh();
    this.status.update(this.run, this.line);
    this.drawControls(now);
    this.drawNumbers(now);
    if (this.playback.isMoving) this.requestFrame();
  }

  /** Draws again in a moment, for what was left out because it had just been drawn. */
  requestLater() {
    this.timer ??= setTimeout(() => {
      this.timer = null;
      this.requestFrame();
    }, READABLE);
  }

  /** Draws where the playhead is. */
  drawControls(now) {
    if (now < this.controlsDue) return this.requestLater();
    this.controlsDue = now + NOTICEABLE;
    return this.controls.update(this.run);
  }

  drawTokens() {
    const cursors = this.playback.cursors();
    this.root.dataset.lanes = Object.keys(this.run.lanes).length;
    for (const { name, node, tokens, facts } of this.lanes) {
      const lane = this.run.lanes[name];
      node.hidden = !lane;
      if (!lane) continue;
      if (lane.started && !facts.textContent) facts.textContent = this.factsOf(lane);
      tokens.show(lane, cursors[name]);
    }
  }

  /** Draws what counts, if there is anything new to count. */
  drawNumbers(now) {
    if (this.counted === this.run.next) return undefined;
    if (now < this.numbersDue) return this.requestLater();
    this.numbersDue = now + READABLE;
    this.counted = this.run.next;
    this.headline.update(this.run);
    this.legend.update(Object.values(this.run.lanes));
    this.charts.refresh(this.run);
    return this.drawAgreement();
  }

  drawAgreement() {
    const found = agreement(this.run);
    const node = this.root.querySelector(".agreement");
    node.hidden = !found;
    if (found) node.replaceChildren(agreementWords(found, this.texts));
    if (found) node.dataset.outcome = found.outcome;
  }

  factsOf({ name, started }) {
    const { target, drafter, settings } = started;
    const gamma = this.texts.say(`gamma.${settings.draft_length ?? "fixed"}`, {
      gamma: this.texts.number(settings.gamma),
    });
    return this.texts.say(`lane.${name}.facts`, { target, drafter, gamma });
  }

  onReflow() {
    for (const { tokens } of this.lanes) tokens.onReflow();
    this.dice.reposition();
  }

  close() {
    for (const { tokens } of this.lanes) tokens.close();
    this.transport.close();
    this.dice.close();
    this.charts.close();
    this.announcer.close();
    this.stopWatching();
    clearTimeout(this.timer);
    cancelAnimationFrame(this.frame);
  }
}

function textOf(event) {
  if (event.type === "prefilled") return event.emitted.text;
  return event.type === "cycle" ? event.emitted.map(({ text }) => text).join("") : "";
}
