/** The keys of the whole instrument, while it has the focus and the reader is not typing. */

const TRANSPORT = { ArrowLeft: "back", ArrowRight: "forward", Home: "start", End: "end" };
const TYPING = "input:not([type=range]), textarea, select, [contenteditable]";

/**
 * @param {HTMLElement} root
 * @param {object} parts
 * @param {import("./controls.js").Controls} parts.controls
 * @param {import("./dice.js").Dice} parts.dice
 * @param {import("./token_focus.js").TokenFocus[]} parts.focuses of the lanes
 */
export function listenToKeys(root, { controls, dice, focuses }) {
  root.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches(TYPING)) return;
    const taken =
      escape(event, controls, dice) ||
      focuses.some((focus) => focus.onKey(event)) ||
      transport(event, controls);
    if (taken) event.preventDefault();
  });
}

function escape(event, controls, dice) {
  if (event.key !== "Escape") return false;
  dice.close({ returnFocus: dice.pinned });
  controls.toggleHelp(false);
  return true;
}

function transport(event, controls) {
  const { key, target } = event;
  if (key === " " && !target.matches("button")) {
    controls.do("toggle");
    return true;
  }
  // The scrubber moves by itself.
  if (!(key in TRANSPORT) || target.matches("input")) return false;
  controls.do(TRANSPORT[key]);
  return true;
}
