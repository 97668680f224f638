/** The classes of tokens: what each means, how many there are, and a switch to dim each. */

import { element, setText } from "./dom.js";
import { KINDS } from "./passes.js";
import { withTooltip } from "./tooltip.js";

export class Legend {
  /**
   * @param {HTMLElement} root
   * @param {import("./texts.js").Texts} texts
   * @param {() => void} onChange after tokens were shown or hidden
   */
  constructor(root, texts, onChange) {
    this.texts = texts;
    this.counts = new Map();
    const entries = KINDS.map((kind) => this.entry(root, kind));
    const struck = element(
      "button",
      { type: "button", class: "button struck", "aria-pressed": "false" },
      texts.say("struck.hide"),
    );
    struck.addEventListener("click", () => {
      const hidden = root.classList.toggle("hide-struck");
      struck.setAttribute("aria-pressed", hidden);
      onChange();
    });
    root.querySelector(".legend").append(...entries, struck);
  }

  /** @param {import("./run_model.js").Lane[]} lanes */
  update(lanes) {
    for (const [kind, count] of this.counts) {
      const sum = lanes.reduce((total, lane) => total + lane.kinds[kind], 0);
      setText(count, this.texts.number(sum));
    }
  }

  entry(root, kind) {
    const count = element("span", { class: "count" }, "0");
    this.counts.set(kind, count);
    const word = element("span", { class: "word" }, this.texts.say(`kind.${kind}`));
    const sample = element("span", { class: "token", "data-kind": kind }, word);
    const button = element(
      "button",
      { type: "button", class: "legend-entry", "aria-pressed": "true" },
      sample,
      count,
    );
    button.addEventListener("click", () => {
      const dimmed = root.classList.toggle(`dim-${kind}`);
      button.setAttribute("aria-pressed", !dimmed);
    });
    return withTooltip(button, this.texts.say(`kind.${kind}.help`));
  }
}
