/** The transport bar: buttons, scrubber, speed, where we are; and the keys that do the same. */

import { element, setText } from "./dom.js";
import { SPEEDS, LIVE } from "./playback.js";
import { cursorAt, mainLane } from "./run_model.js";

export class Controls {
  /**
   * @param {HTMLElement} root
   * @param {import("./texts.js").Texts} texts
   * @param {import("./playback.js").Playback} playback
   * @param {() => void} onChange after the reader moved the playhead
   */
  constructor(root, texts, playback, onChange) {
    this.texts = texts;
    this.playback = playback;
    this.toggle = root.querySelector("[data-action=toggle]");
    this.scrubber = root.querySelector(".scrubber");
    this.position = root.querySelector(".position");
    this.speed = root.querySelector(".speed select");
    this.help = root.querySelector(".help");
    this.helpButton = root.querySelector("[data-action=help]");
    this.actions = {
      start: () => playback.seek(0),
      back: () => playback.stepBack(),
      toggle: () => playback.toggle(),
      forward: () => playback.stepForward(),
      end: () => playback.seek(playback.total),
    };
    this.do = (name) => {
      this.actions[name]();
      onChange();
    };
    for (const name of Object.keys(this.actions)) {
      root.querySelector(`[data-action=${name}]`).addEventListener("click", () => this.do(name));
    }
    this.scrubber.addEventListener("input", () => {
      playback.seek(this.scrubber.valueAsNumber);
      onChange();
    });
    this.speed.append(
      ...SPEEDS.map((speed) => element("option", { value: speed }, this.speedName(speed))),
    );
    this.speed.addEventListener("change", () => {
      playback.setSpeed(this.speed.value === LIVE ? LIVE : Number(this.speed.value));
      onChange();
    });
    this.helpButton.addEventListener("click", () => this.toggleHelp(this.help.hidden));
    this.fillHelp();
  }

  /** Brings the bar in line with the playhead. */
  update(run) {
    const { playback, texts } = this;
    const action = playback.playing ? "control.pause" : "control.play";
    this.toggle.dataset.playing = playback.playing;
    this.toggle.setAttribute("aria-label", texts.say(action));
    this.toggle.title = texts.say(action);
    this.scrubber.max = playback.total;
    this.scrubber.value = playback.shown;
    this.scrubber.style.setProperty("--done", playback.total ? playback.shown / playback.total : 0);
    const where = this.where(run);
    setText(this.position, where);
    this.scrubber.setAttribute("aria-valuetext", where);
  }

  toggleHelp(open) {
    this.help.hidden = !open;
    this.helpButton.setAttribute("aria-expanded", open);
  }

  where(run) {
    const { texts, playback } = this;
    const lane = mainLane(run);
    const cursor = lane && cursorAt(run, playback.shown)[lane.name];
    if (!cursor) return texts.say("position.start");
    const pass = lane.passes[cursor.pass];
    const settled = pass.pieces.filter(
      (piece) => piece.emitted && piece.settles <= cursor.stage,
    ).length;
    const token = pass.tokensBefore + settled;
    const cycles = lane.totals.cycles;
    const number = pass.event.type === "cycle" ? pass.event.index + 1 : 0;
    return texts.say("position", {
      cycle: texts.number(number),
      cycles: texts.number(cycles),
      token: texts.number(token),
    });
  }

  speedName(speed) {
    return speed === LIVE
      ? this.texts.say("speed.live")
      : this.texts.say("speed.times", { times: speedNumber(speed, this.texts) });
  }

  fillHelp() {
    const { texts } = this;
    const list = this.help.querySelector("dl");
    const entries = ["space", "arrows", "ends", "tab", "tokens", "enter", "escape", "speed"];
    for (const entry of entries) {
      const keys = element(
        "dt",
        {},
        ...texts
          .say(`help.${entry}.keys`)
          .split(" ")
          .map((key) => element("kbd", {}, key)),
      );
      list.append(element("div", {}, keys, element("dd", {}, texts.say(`help.${entry}`))));
    }
  }
}

function speedNumber(speed, texts) {
  return texts.number(speed, speed < 1 ? (speed === 0.25 ? 2 : 1) : 0);
}
