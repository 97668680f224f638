/** Definitions one hover or one focus away. */

import { element } from "./dom.js";

let last = 0;

/** Wraps a button so that it shows, and is described by, a text. */
export function withTooltip(button, text) {
  last += 1;
  const id = `specviz-tip-${last}`;
  button.setAttribute("aria-describedby", id);
  const tip = element("span", { class: "tip", role: "tooltip", id }, text);
  return element("span", { class: "with-tip" }, button, tip);
}
