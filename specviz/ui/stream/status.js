/** In which state the run and the line to the server are, in words. */

import { setText } from "./dom.js";
import { mainLane } from "./run_model.js";

/** The states in which the first message is still to come. */
const WAITING = ["waiting", "queued", "loading", "running", "reconnecting"];

/** What each state says, and whether the run can be stopped in it. */
export class Status {
  /**
   * @param {HTMLElement} root
   * @param {import("./texts.js").Texts} texts
   * @param {{stop: () => void, retry: () => void}} actions
   */
  constructor(root, texts, { stop, retry }) {
    this.root = root;
    this.texts = texts;
    this.text = root.querySelector(".status-text");
    this.notice = root.querySelector(".notice");
    this.empty = root.querySelector(".empty");
    this.stopButton = root.querySelector(".stop");
    this.retryButton = root.querySelector(".retry");
    this.stopButton.addEventListener("click", () => {
      this.stopButton.disabled = true;
      stop();
    });
    this.retryButton.addEventListener("click", retry);
  }

  /**
   * @param {ReturnType<import("./run_model.js").newRun>} run
   * @param {import("./transport.js").LineState} line
   */
  update(run, line) {
    const phase = phaseOf(run, line);
    const said = this.say(phase, run);
    this.root.dataset.phase = phase;
    setText(this.text, said);
    setText(this.notice, this.explain(phase, run));
    this.notice.hidden = this.notice.textContent === "";
    this.empty.hidden = Boolean(mainLane(run)) || !WAITING.includes(phase);
    setText(this.empty, this.empty.hidden ? "" : this.texts.say(`empty.${phase}`));
    this.stopButton.hidden = line !== "open" || !["queued", "loading", "running"].includes(phase);
    this.retryButton.hidden = phase !== "gone";
  }

  say(phase, run) {
    const { texts } = this;
    if (phase === "queued" && run.position > 1) {
      return texts.count("status.queued", run.position - 1);
    }
    if (phase === "finished") {
      const reason = mainLane(run)?.ended?.reason;
      return reason ? texts.say(`status.finished.${reason}`) : texts.say("status.finished");
    }
    return texts.say(`status.${phase}`);
  }

  explain(phase, run) {
    if (run.failure) return run.failure;
    if (phase === "gone") return this.texts.say(run.next ? "notice.gone.kept" : "notice.gone");
    if (phase === "unknown")
      return this.texts.say(run.next ? "notice.unknown.kept" : "notice.unknown");
    return "";
  }
}

/** The run's phase, unless the line has something more pressing to say. */
function phaseOf(run, line) {
  if (run.failure) return "failed";
  if (run.phase === "finished") return "finished";
  if (["reconnecting", "gone", "unknown"].includes(line)) return line;
  return run.phase;
}
