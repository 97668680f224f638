/** The headline numbers, each with its definition. */

import { element, setText } from "./dom.js";
import {
  cycleCost,
  draftAcceptanceRate,
  draftingShare,
  meanAcceptanceLength,
  measuredSpeedup,
  tokensPerSecond,
} from "./metrics.js";
import { withTooltip } from "./tooltip.js";

const UNKNOWN = "–";

export class Headline {
  /**
   * @param {HTMLElement} container
   * @param {import("./texts.js").Texts} texts
   */
  constructor(container, texts) {
    this.texts = texts;
    this.numbers = new Map();
    for (const name of ["speedup", "speculative", "plain", "tau", "acceptance"]) {
      container.append(this.metric(name));
    }
  }

  update(run) {
    const { texts } = this;
    const { speculative, plain } = run.lanes;
    const speedup = measuredSpeedup(run);
    this.show(
      "speedup",
      speculative && plain,
      speedup && texts.say("speed.times", { times: texts.number(speedup, 2) }),
    );
    setText(this.numbers.get("speedup").note, speedup ? this.verdict(speedup, run) : "");
    this.show("speculative", speculative, this.rate(speculative));
    this.show("plain", plain, this.rate(plain));
    const tau = meanAcceptanceLength(speculative);
    this.show("tau", speculative, tau && texts.number(tau, 2));
    const acceptance = draftAcceptanceRate(speculative);
    this.show("acceptance", speculative, acceptance !== null && texts.percent(acceptance));
  }

  rate(lane) {
    const rate = tokensPerSecond(lane);
    return rate && this.texts.number(rate, rate < 100 ? 1 : 0);
  }

  show(name, lane, value) {
    const { item, number } = this.numbers.get(name);
    item.hidden = !lane;
    setText(number, value || UNKNOWN);
  }

  /** Faster or slower; slower with the reason. */
  verdict(speedup, run) {
    const { texts } = this;
    if (speedup >= 1) return texts.say("speedup.faster");
    const lane = run.lanes.speculative;
    return texts.say("speedup.slower", {
      tau: texts.number(meanAcceptanceLength(lane), 2),
      cost: texts.number(cycleCost(run), 2),
      drafting: texts.percent(draftingShare(lane)),
      acceptance: texts.percent(draftAcceptanceRate(lane) ?? 0),
    });
  }

  metric(name) {
    const { texts } = this;
    const term = element("button", { type: "button", class: "term" }, texts.say(`metric.${name}`));
    const number = element("span", { class: "number" }, UNKNOWN);
    const unit = element(
      "span",
      { class: "unit" },
      name === "speedup" ? "" : texts.say(`metric.${name}.unit`),
    );
    const note = element("p", { class: "note" });
    const item = element(
      "div",
      { class: "metric", "data-metric": name },
      withTooltip(term, texts.say(`metric.${name}.help`)),
      element("p", { class: "value" }, number, " ", unit),
      note,
    );
    item.hidden = true;
    this.numbers.set(name, { item, number, note });
    return item;
  }
}
