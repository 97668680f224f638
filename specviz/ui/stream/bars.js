/** Probabilities as bars, in tables that read well without them. */

import { element } from "./dom.js";
import { mostOutside, pairedChoices } from "./token_facts.js";
import { visibleToken } from "./visible_text.js";

/** A token in quotation marks, kept apart from the direction of the text around it. */
export function quoted(text) {
  return element("bdi", { class: "quoted" }, text);
}

/**
 * The target's and the drafter's probabilities side by side.
 * @param {object} proposal
 * @param {boolean} greedy
 * @param {import("./texts.js").Texts} texts
 */
export function pairedBars(proposal, greedy, texts) {
  const head = element(
    "tr",
    {},
    element("th", { scope: "col" }, texts.say("bars.token")),
    element("th", { scope: "col", class: "of-target" }, texts.say("bars.target")),
    element("th", { scope: "col", class: "of-drafter" }, texts.say("bars.drafter")),
  );
  const most = { p: mostOutside(proposal.p_top), q: mostOutside(proposal.q_top) };
  const body = pairedChoices(proposal, greedy).map(({ token, text, p, q }) =>
    row(text, token === proposal.token, [
      cell(p, most.p, "of-target", texts),
      cell(q, most.q, "of-drafter", texts),
    ]),
  );
  return table(texts.say("bars.caption"), head, body);
}

/** @param {[number, string, number][]} candidates */
export function singleBars(candidates, own, side, caption, texts) {
  const body = candidates.map(([token, text, probability]) =>
    row(text, token === own, [cell(probability, 0, side, texts)]),
  );
  return table(caption, null, body);
}

/**
 * The accept probability as a scale from 0 to 1, and where the dice fell on it.
 * @param {[string, string]} written the dice and the accept probability, as the words have them
 */
export function gauge({ accept_probability, u }, [dice, accept], texts) {
  const fill = element("div", { class: "gauge-fill" });
  fill.style.width = `${100 * accept_probability}%`;
  const track = element("div", { class: "gauge-track", "aria-hidden": "true" }, fill);
  const key = element("p", { class: "gauge-key" });
  key.append(element("span", { class: "key-accept" }, texts.say("gauge.accept", { accept })));
  if (u !== null) {
    const marker = element("div", { class: "gauge-marker" });
    marker.style.left = `${100 * u}%`;
    track.append(marker);
    key.append(element("span", { class: "key-dice" }, texts.say("gauge.dice", { u: dice })));
  }
  return element("div", { class: "gauge" }, track, key);
}

function table(caption, head, rows) {
  const node = element("table", { class: "bars" }, element("caption", {}, caption));
  if (head) node.append(element("thead", {}, head));
  node.append(element("tbody", {}, ...rows));
  return node;
}

function row(text, isOwn, cells) {
  const name = element("th", { scope: "row" }, quoted(visibleToken(text)));
  return element("tr", { class: isOwn ? "own" : null }, name, ...cells);
}

/** A probability that was not recorded is at most what the list leaves to others. */
function cell(probability, most, side, texts) {
  const bar = element("span", { class: "bar", "aria-hidden": "true" });
  bar.style.setProperty("--share", probability ?? 0);
  const written = probability === null ? texts.atMost(most) : texts.percent(probability);
  return element(
    "td",
    { class: side },
    element("span", { class: "bar-track" }, bar),
    element("span", { class: "bar-number" }, written),
  );
}
