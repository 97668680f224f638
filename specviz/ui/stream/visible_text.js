/** Makes a model's text safe to look at: what cannot be seen, or would move other text, is shown. */

const SYMBOLS_BELOW_SPACE = 0x2400;
const DELETE = 0x7f;
const NEVER_SHOWN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/gu;

/** Stands for a character that is still open: its last bytes come with a later token. */
export const OPEN_CHARACTER = "▫";

/**
 * Control characters become symbols (␀, ␛, …), and so do those that would reorder or hide the
 * text around them (bidirectional overrides, zero-width spaces). Line breaks and tabs stay.
 */
export function visible(text) {
  return text.replace(NEVER_SHOWN, (character) => {
    const code = character.codePointAt(0);
    if (code < 0x20) return String.fromCodePoint(SYMBOLS_BELOW_SPACE + code);
    if (code === DELETE) return "␡";
    return `⟨${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}

/** A token's own text, in which half a character decodes to U+FFFD. */
export function visibleToken(text) {
  return visible(text).replaceAll("\ufffd", OPEN_CHARACTER);
}
