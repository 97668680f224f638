/** Reads the new text to a screen reader, now and then, and a summary at the end. */

const PAUSE = 2000;

export class Announcer {
  /** @param {HTMLElement} region a polite live region */
  constructor(region) {
    this.region = region;
    this.waiting = "";
    this.timer = null;
  }

  /** More of the text. */
  add(text) {
    if (!text) return;
    this.waiting += text;
    this.timer ??= setTimeout(() => this.flush(), PAUSE);
  }

  /** Something to be said at once, after what is waiting. */
  say(sentence) {
    this.waiting += ` ${sentence}`;
    this.flush();
  }

  close() {
    clearTimeout(this.timer);
  }

  flush() {
    clearTimeout(this.timer);
    this.timer = null;
    this.region.textContent = this.waiting.trim();
    this.waiting = "";
  }
}
