/**
 * Keeps the live charts in step with the run: one chart at a time, so that none holds up the
 * tokens, and none more often than it can afford.
 */

import { FIGURES } from "./figures.js";
import { loadPlotly } from "./plotly.js";

const CONFIG = { displayModeBar: false, responsive: true, scrollZoom: false, doubleClick: false };
/** Between two drawings of any chart, in milliseconds: four charts, each about thrice a second. */
const REST = 80;
/** Drawing may take one part in so many of the time. */
const RESTRAINT = 12;

export class Charts {
  /**
   * @param {HTMLElement} root
   * @param {import("./texts.js").Texts} texts
   * @param {() => object} theme
   */
  constructor(root, texts, theme) {
    this.texts = texts;
    this.theme = theme;
    this.figures = [...root.querySelectorAll("[data-chart]")];
    for (const figure of this.figures) figure.hidden = true;
    this.plotly = null;
    this.stale = [];
    this.timer = null;
    loadPlotly().then(
      (plotly) => {
        this.plotly = plotly;
        this.schedule(0);
      },
      (error) => console.warn(error.message),
    );
  }

  /** The run has changed: all charts are to be drawn again, in their turn. */
  refresh(run) {
    this.run = run;
    const waiting = new Set(this.stale);
    this.stale.push(...this.figures.filter((figure) => !waiting.has(figure)));
    this.schedule(REST);
  }

  close() {
    clearTimeout(this.timer);
    this.closed = true;
    for (const plot of this.figures.map(plotOf)) if (plot.data) this.plotly.purge(plot);
  }

  schedule(delay) {
    if (this.closed || this.timer || !this.plotly || !this.stale.length) return;
    this.timer = setTimeout(() => {
      this.timer = null;
      const began = performance.now();
      this.draw(this.stale.shift());
      this.schedule(Math.max(REST, RESTRAINT * (performance.now() - began)));
    }, delay);
  }

  draw(node) {
    const figure = FIGURES[node.dataset.chart](this.run, this.theme(), this.texts);
    node.hidden = !figure;
    if (!figure) return;
    const plot = plotOf(node);
    this.plotly.react(plot, figure.data, figure.layout, CONFIG);
    plot.setAttribute("aria-label", figure.summary);
  }
}

function plotOf(figure) {
  return figure.querySelector(".plot");
}
