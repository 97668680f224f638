/**
 * Keeps the live charts in step with the run: one chart at a time, so that none holds up the
 * tokens, and none more often than it can afford.
 */

import { FIGURES } from "./figures.js";
import { adoptPlotlyStyles, loadPlotly } from "./plotly.js";

const CONFIG = { displayModeBar: false, scrollZoom: false, doubleClick: false };
/** Between two drawings of any chart, in milliseconds. */
const REST = 120;
/** Drawing may take one part in so many of the time, but no chart waits for longer than this. */
const RESTRAINT = 16;
const LONGEST_REST = 1000;

export class Charts {
  /**
   * @param {HTMLElement} root
   * @param {import("./texts.js").Texts} texts
   */
  constructor(root, texts) {
    this.texts = texts;
    this.figures = [...root.querySelectorAll("[data-chart]")];
    this.plotly = null;
    this.run = null;
    this.theme = null;
    /** The charts that are to be drawn, the next first. */
    this.stale = [];
    this.timer = null;
    this.closed = false;
    this.sizes = new ResizeObserver((entries) => {
      for (const { target } of entries) if (target.clientWidth) this.plotly.Plots.resize(target);
    });
    this.outOfSight = new Set();
    this.sight = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        if (isIntersecting) this.outOfSight.delete(target);
        else this.outOfSight.add(target);
      }
    });
    loadPlotly().then(
      (plotly) => {
        this.plotly = plotly;
        adoptPlotlyStyles(root);
        this.schedule(0);
      },
      (error) => console.warn(error.message),
    );
  }

  setTheme(theme) {
    this.theme = theme;
    if (this.run) this.refresh(this.run);
  }

  /** The run or the theme has changed: all charts are to be drawn again, in their turn. */
  refresh(run) {
    this.run = run;
    const waiting = new Set(this.stale);
    this.stale.push(...this.figures.filter((figure) => !waiting.has(figure)));
    this.schedule(REST);
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    this.sizes.disconnect();
    this.sight.disconnect();
    for (const plot of this.figures.map(plotOf)) if (plot.data) this.plotly.purge(plot);
  }

  schedule(delay) {
    if (this.closed || this.timer || !this.plotly || !this.stale.length) return;
    this.timer = setTimeout(() => {
      this.timer = null;
      const began = performance.now();
      this.drawNext();
      const rest = RESTRAINT * (performance.now() - began);
      this.schedule(this.isOver ? 0 : Math.min(Math.max(REST, rest), LONGEST_REST));
    }, delay);
  }

  /** The first that waits; while the run goes on, the first of those in sight. */
  drawNext() {
    const next = this.stale.findIndex((figure) => this.isOver || !this.outOfSight.has(figure));
    if (next >= 0) this.draw(...this.stale.splice(next, 1));
  }

  get isOver() {
    return this.run.phase === "finished";
  }

  draw(node) {
    const figure = FIGURES[node.dataset.chart](this.run, this.theme, this.texts);
    if (!figure) return;
    node.hidden = false;
    const plot = plotOf(node);
    const isNew = !plot.data;
    this.plotly.react(plot, figure.data, figure.layout, CONFIG);
    plot.setAttribute("aria-label", figure.summary);
    if (!isNew) return;
    this.sizes.observe(plot);
    this.sight.observe(node);
  }
}

function plotOf(figure) {
  return figure.querySelector(".plot");
}
