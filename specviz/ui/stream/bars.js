/** Probabilities as bars, in tables that read well without them. */

import { element } from "./dom.js";
import { visibleToken } from "./visible_text.js";

/** A token in quotation marks, kept apart from the direction of the text around it. */
export function quoted(text) {
  return element("bdi", { class: "quoted" }, text);
}

/**
 * @param {{token: number, text: string, p: number | null, q: number | null}[]} rows
 * @param {number} own the token that is looked at
 */
export function pairedBars(rows, own, texts) {
  const head = element(
    "tr",
    {},
    element("th", { scope: "col" }, texts.say("bars.token")),
    element("th", { scope: "col", class: "of-target" }, texts.say("bars.target")),
    element("th", { scope: "col", class: "of-drafter" }, texts.say("bars.drafter")),
  );
  const body = rows.map(({ token, text, p, q }) =>
    row(text, token === own, [cell(p, "of-target", texts), cell(q, "of-drafter", texts)]),
  );
  return table(texts.say("bars.caption"), head, body);
}

/** @param {[number, string, number][]} candidates */
export function singleBars(candidates, own, side, caption, texts) {
  const body = candidates.map(([token, text, probability]) =>
    row(text, token === own, [cell(probability, side, texts)]),
  );
  return table(caption, null, body);
}

/** The accept probability as a scale from 0 to 1, and where the dice fell on it. */
export function gauge(accept, u, accepted, texts) {
  const fill = element("div", { class: "gauge-fill" });
  fill.style.width = `${100 * accept}%`;
  const track = element("div", { class: "gauge-track" }, fill);
  if (u !== null) {
    const marker = element("div", { class: "gauge-marker" });
    marker.style.left = `${100 * u}%`;
    track.append(marker);
  }
  const scale = element("div", { class: "gauge-scale" }, element("span", {}, "0"), element("span", {}, "1"));
  const label = texts.say(u === null ? "gauge.label.undiced" : "gauge.label", {
    accept: texts.number(accept, 2),
    u: u === null ? "" : texts.number(u, 2),
  });
  const verdict = accepted ? "accepted" : "rejected";
  return element("div", { class: "gauge", "data-verdict": verdict, role: "img", "aria-label": label }, track, scale);
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

function cell(probability, side, texts) {
  const bar = element("span", { class: "bar", "aria-hidden": "true" });
  bar.style.setProperty("--share", probability ?? 0);
  const number = probability === null ? texts.say("bars.unrecorded") : texts.percent(probability);
  return element("td", { class: side }, element("span", { class: "bar-track" }, bar), element("span", { class: "bar-number" }, number));
}
