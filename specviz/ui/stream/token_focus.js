/**
 * Moving over the tokens with pointer and keyboard. The stream is one stop of the Tab key: from
 * there ← → move to the neighbouring token, ↑ ↓ to the next cycle, Home and End to the ends,
 * Enter pins the dice view and Esc closes it.
 */

const STEPS = { ArrowLeft: -1, ArrowRight: 1 };
const HOVER_DELAY = 60;

export class TokenFocus {
  /**
   * @param {HTMLElement} stream
   * @param {import("./tokens.js").LaneTokens} tokens
   * @param {import("./dice.js").Dice} dice
   * @param {object} actions
   * @param {(token: HTMLElement, options: {pinned: boolean}) => void} actions.look
   */
  constructor(stream, tokens, dice, { look }) {
    this.stream = stream;
    this.tokens = tokens;
    this.dice = dice;
    this.look = look;
    this.last = null;
    stream.addEventListener("focusin", (event) => this.onFocusIn(event));
    stream.addEventListener("focusout", () => this.onFocusOut());
    stream.addEventListener("pointerover", (event) => this.onPointerOver(event));
    stream.addEventListener("pointerleave", () => this.onPointerLeave());
    stream.addEventListener("click", (event) => this.onClick(event));
  }

  /** Whether the key was meant for the tokens. */
  onKey(event) {
    const token = tokenOf(event);
    if (!token) return false;
    if (event.key === "Enter") this.look(token, { pinned: true });
    else if (event.key in STEPS) this.focusNeighbour(token, STEPS[event.key]);
    else if (event.key === "ArrowUp" || event.key === "ArrowDown")
      this.focusCycle(token, event.key);
    else if (event.key === "Home") this.focus(this.tokens.visibleTokens()[0]);
    else if (event.key === "End") this.focus(this.tokens.visibleTokens().at(-1));
    else return false;
    return true;
  }

  focusNeighbour(token, step) {
    const all = this.tokens.visibleTokens();
    this.focus(all[all.indexOf(token) + step]);
  }

  focusCycle(token, key) {
    const all = this.tokens.visibleTokens();
    const pass = token.parentElement;
    const others =
      key === "ArrowDown"
        ? all.slice(all.indexOf(token)).filter((other) => other.parentElement !== pass)
        : all
            .slice(0, all.indexOf(token))
            .filter((other) => other.parentElement !== pass)
            .reverse();
    const target = others[0]?.parentElement;
    this.focus(all.find((other) => other.parentElement === target));
  }

  focus(token) {
    token?.focus();
  }

  onFocusIn(event) {
    const token = tokenOf(event);
    if (token) {
      this.stream.tabIndex = -1;
      token.tabIndex = 0;
      this.last = token;
      const byKeyboard = token.matches(":focus-visible");
      if (byKeyboard && !this.dice.isClosing) this.look(token, { pinned: false });
    } else if (this.stream.matches(":focus-visible")) {
      const all = this.tokens.visibleTokens();
      this.focus(all.includes(this.last) ? this.last : all.at(-1));
    }
  }

  onFocusOut() {
    this.stream.tabIndex = 0;
    if (this.last) this.last.tabIndex = -1;
    if (!this.dice.pinned) this.dice.close();
  }

  onPointerOver(event) {
    clearTimeout(this.timer);
    const token = tokenOf(event);
    if (event.pointerType === "touch" || this.dice.pinned) return;
    if (token) this.timer = setTimeout(() => this.look(token, { pinned: false }), HOVER_DELAY);
    else this.dice.close();
  }

  onPointerLeave() {
    clearTimeout(this.timer);
    if (!this.dice.pinned) this.dice.close();
  }

  onClick(event) {
    clearTimeout(this.timer);
    const token = tokenOf(event);
    if (!token) return;
    const again = this.dice.pinned && this.dice.token === token;
    if (again) this.dice.close();
    else this.look(token, { pinned: true });
  }
}

function tokenOf(event) {
  return event.target.closest(".token");
}
