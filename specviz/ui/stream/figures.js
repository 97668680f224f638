/**
 * The four live charts as Plotly figures, each with its text alternative. Pure.
 *
 * @typedef {object} Figure
 * @property {object[]} data
 * @property {object} layout
 * @property {string} summary what it shows, in words
 */

import {
  conditionalAcceptance,
  cycleSeconds,
  ledger,
  meanAcceptanceLength,
  secondsPerToken,
} from "./metrics.js";
import { LANES } from "./run_model.js";

/** More points than this cannot be told apart in a chart of this size. */
const MOST_POINTS = 240;
const HEIGHT = 208;

/** @type {Record<string, (run: object, theme: object, texts: import("./texts.js").Texts) => Figure | null>} */
export const FIGURES = { race, ledger: ledgerFigure, histogram, conditional };

/** Tokens against model time, both lanes from their first token on. */
function race(run, theme, texts) {
  const lanes = lanesOf(run).filter((lane) => lane.race.seconds.length > 1);
  if (!lanes.length) return null;
  const look = {
    speculative: { color: theme.speculative, width: 2.5 },
    plain: { color: theme.plain, width: 2, dash: "dot" },
  };
  const data = lanes.map((lane) => {
    const { seconds, tokens } = thin(lane.race);
    return {
      x: seconds,
      y: tokens,
      mode: "lines",
      line: { ...look[lane.name], shape: "hv" },
      name: texts.say(`lane.${lane.name}`),
      hovertemplate: texts.say("chart.race.hover"),
    };
  });
  const layout = frame(theme, {
    xaxis: { title: { text: texts.say("chart.race.x") }, rangemode: "tozero" },
    yaxis: { rangemode: "tozero", nticks: 5 },
  });
  const summary = lanes.map((lane) =>
    texts.say("chart.race.summary", {
      lane: texts.say(`lane.${lane.name}`),
      tokens: texts.number(lane.tokens),
      seconds: texts.number(cycleSeconds(lane), 2),
    }),
  );
  return { data, layout, summary: summary.join(" ") };
}

/** Where each lane's time for a token went. */
function ledgerFigure(run, theme, texts) {
  const lanes = lanesOf(run).filter((lane) => lane.totals.emitted > 0);
  if (!lanes.length) return null;
  const look = {
    draft: theme.drafter,
    verify: theme.target,
    sample: theme.sample,
    bookkeeping: theme.bookkeeping,
  };
  const parts = lanes.map(ledger);
  const names = lanes.map((lane) => texts.say(`lane.${lane.name}`));
  const data = parts[0].map(({ part }, index) => ({
    type: "bar",
    orientation: "h",
    y: names,
    x: parts.map((lane) => 1000 * lane[index].seconds),
    name: texts.say(`part.${part}`),
    marker: { color: look[part] },
    hovertemplate: texts.say("chart.ledger.hover"),
  }));
  const annotations = lanes.map((lane, index) => ({
    x: 1000 * secondsPerToken(lane),
    y: names[index],
    text: texts.milliseconds(secondsPerToken(lane)),
    showarrow: false,
    xanchor: "left",
    xshift: 4,
  }));
  const longest = Math.max(...lanes.map((lane) => 1000 * secondsPerToken(lane)));
  const layout = frame(theme, {
    barmode: "stack",
    bargap: 0.45,
    xaxis: { title: { text: texts.say("chart.ledger.x") }, range: [0, 1.4 * longest] },
    yaxis: { autorange: "reversed", showgrid: false, ticksuffix: "  " },
    margin: { l: 88 },
    annotations,
  });
  const summary = lanes.map((lane, index) =>
    texts.say("chart.ledger.summary", {
      lane: names[index],
      time: texts.milliseconds(secondsPerToken(lane)),
      parts: parts[index]
        .map(({ part, seconds }) => `${texts.say(`part.${part}`)} ${texts.milliseconds(seconds)}`)
        .join(", "),
    }),
  );
  return { data, layout, summary: summary.join(" ") };
}

/** How many cycles accepted how many proposals. */
function histogram(run, theme, texts) {
  const lane = run.lanes.speculative;
  if (!lane?.totals.drafted) return null;
  const counts = Array.from(lane.totals.cyclesAccepting, (count) => count ?? 0);
  const longest = Math.max(lane.started.settings.gamma, counts.length - 1);
  const data = [
    {
      type: "bar",
      x: counts.map((_, length) => length),
      y: counts,
      marker: { color: theme.accepted, opacity: 0.85 },
      hovertemplate: texts.say("chart.histogram.hover"),
    },
  ];
  const layout = frame(theme, {
    bargap: 0.25,
    xaxis: {
      title: { text: texts.say("chart.histogram.x") },
      dtick: Math.ceil((longest + 1) / 12),
      range: [-0.6, longest + 0.6],
      showgrid: false,
    },
    yaxis: { rangemode: "tozero", nticks: 5 },
  });
  const summary = texts.say("chart.histogram.summary", {
    tau: texts.number(meanAcceptanceLength(lane), 2),
    counts: counts
      .map((count, length) => `${texts.number(length)}: ${texts.number(count)}`)
      .join(", "),
  });
  return { data, layout, summary };
}

/** Of the proposals tested at each position, the share accepted. */
function conditional(run, theme, texts) {
  const lane = run.lanes.speculative;
  if (!lane?.totals.at.length) return null;
  const positions = conditionalAcceptance(lane);
  const last = Math.max(lane.started.settings.gamma, positions.length);
  const data = [
    {
      x: positions.map((_, index) => index + 1),
      y: positions.map(({ rate }) => rate),
      customdata: positions.map(({ tested }) => tested),
      mode: "markers",
      marker: { color: theme.accepted, size: 8 },
      cliponaxis: false,
      error_y: {
        type: "data",
        symmetric: false,
        array: positions.map(({ rate, interval }) => interval[1] - rate),
        arrayminus: positions.map(({ rate, interval }) => rate - interval[0]),
        color: theme.accepted,
        thickness: 1.5,
        width: 4,
      },
      hovertemplate: texts.say("chart.conditional.hover"),
    },
  ];
  const layout = frame(theme, {
    xaxis: {
      title: { text: texts.say("chart.conditional.x") },
      dtick: Math.ceil(last / 12),
      range: [0.4, last + 0.6],
      showgrid: false,
    },
    yaxis: { range: [0, 1.02], tickformat: ".0%", nticks: 5 },
  });
  const summary = positions.map(({ rate, tested }, index) =>
    texts.say("chart.conditional.summary", {
      position: texts.number(index + 1),
      rate: texts.percent(rate),
      tested: texts.number(tested),
    }),
  );
  return { data, layout, summary: summary.join(" ") };
}

function lanesOf(run) {
  return LANES.map((name) => run.lanes[name]).filter(Boolean);
}

function thin({ seconds, tokens }) {
  const step = Math.ceil(seconds.length / MOST_POINTS);
  if (step === 1) return { seconds: [...seconds], tokens: [...tokens] };
  const keep = (_, index) => index % step === 0 || index === seconds.length - 1;
  return { seconds: seconds.filter(keep), tokens: tokens.filter(keep) };
}

/** The look that the four share. */
function frame(theme, { xaxis, yaxis, margin, ...rest }) {
  const axis = {
    gridcolor: theme.grid,
    zeroline: false,
    linecolor: theme.grid,
    tickfont: { color: theme.muted },
    fixedrange: true,
    automargin: false,
  };
  return {
    height: HEIGHT,
    autosize: true,
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: theme.font, size: 12, color: theme.ink },
    margin: { l: 40, r: 12, t: 12, b: 44, ...margin },
    showlegend: false,
    hoverlabel: { font: { family: theme.font, size: 12 } },
    dragmode: false,
    xaxis: {
      ...axis,
      ...xaxis,
      title: { ...xaxis.title, font: { color: theme.muted, size: 12 }, standoff: 8 },
    },
    yaxis: { ...axis, ...yaxis },
    ...rest,
  };
}
