/**
 * The reader's texts. Every one comes from Python's message catalogue as
 * `{key: "text with {placeholders}"}`; numbers are written in the reader's language.
 */

/** Probabilities nearer than this to 0 or 1 are written as below or above it. */
const SMALLEST = 0.0001;
/** So little is the rest of a sum that was meant to be 1. */
const ROUNDING = 1e-6;
const PLACEHOLDER = /\{(\w+)\}/;

export class Texts {
  /** @param {Record<string, string>} messages */
  constructor(messages) {
    this.messages = messages;
    this.language = messages.language;
    this.plurals = new Intl.PluralRules(this.language);
    this.formats = new Map();
  }

  /** The text of a key, its placeholders filled. */
  say(key, values = {}) {
    return this.parts(key, values).join("");
  }

  /** The text of `key.one`, `key.other`, … as the language wants it for this number. */
  count(key, number, values = {}) {
    const exact = `${key}.${this.plurals.select(number)}`;
    const chosen = exact in this.messages ? exact : `${key}.other`;
    return this.say(chosen, { count: this.number(number), ...values });
  }

  /** The text as nodes: a placeholder's value may be a node, which stays one. */
  nodes(key, values = {}) {
    const fragment = document.createDocumentFragment();
    fragment.append(...this.parts(key, values));
    return fragment;
  }

  /** @returns {(string | Node)[]} */
  parts(key, values) {
    const message = this.messages[key];
    if (message === undefined) throw new Error(`No text for “${key}”.`);
    return message.split(PLACEHOLDER).map((part, index) => (index % 2 ? values[part] : part));
  }

  number(value, digits = 0) {
    return this.format({ minimumFractionDigits: digits, maximumFractionDigits: digits }).format(
      value,
    );
  }

  /** A length of time in milliseconds, from seconds. */
  milliseconds(seconds) {
    const value = seconds * 1000;
    return this.say("milliseconds", { value: this.number(value, value < 10 ? 1 : 0) });
  }

  /** A probability or share; never rounded to 0 or 1 where it is not. */
  percent(value) {
    const write = (share, digits) =>
      this.format({ style: "percent", maximumSignificantDigits: digits }).format(share);
    if (value > 0 && value < SMALLEST) return this.say("below", { value: write(SMALLEST, 2) });
    if (value < 1 && value > 1 - SMALLEST)
      return this.say("above", { value: write(1 - SMALLEST, 4) });
    return write(value, value < 0.99 ? 2 : 4);
  }

  /** The most that a probability can be. */
  atMost(value) {
    if (value < ROUNDING) return this.percent(0);
    const written = this.percent(value);
    return value < SMALLEST ? written : this.say("at_most", { value: written });
  }

  format(options) {
    const key = JSON.stringify(options);
    if (!this.formats.has(key)) {
      this.formats.set(key, new Intl.NumberFormat(this.language, options));
    }
    return this.formats.get(key);
  }
}

/** Writes the static texts of the markup: `data-text`, `data-label` (aria-label and title). */
export function writeStaticTexts(root, texts) {
  for (const node of root.querySelectorAll("[data-text]")) {
    node.textContent = texts.say(node.dataset.text);
  }
  for (const node of root.querySelectorAll("[data-label]")) {
    const label = texts.say(node.dataset.label);
    node.setAttribute("aria-label", label);
    if (node.matches("button")) node.title = label;
  }
}
