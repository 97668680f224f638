/**
 * Keeps a growing text cheap to lay out. A browser lays a paragraph out as a whole at every
 * token, so a long one is closed where a line ends anyway, and the text goes on in a new one:
 * nothing moves, and only the last paragraph is laid out again. When the lines change (another
 * width, struck tokens hidden) the paragraphs are joined, and parted anew.
 */

import { element } from "./dom.js";

/** A paragraph of more tokens than this is parted as soon as a pass begins a line. */
const LONG = 40;
/** It is tried again after so many more. */
const PATIENCE = 8;

export class Paragraphs {
  /** @param {HTMLElement} container */
  constructor(container) {
    this.container = container;
    this.width = container.clientWidth;
    this.observer = new ResizeObserver(() => this.onResize());
    this.observer.observe(container);
    this.begin();
  }

  /** @param {HTMLElement} pass */
  append(pass) {
    this.last.append(pass);
    this.tokens += pass.childElementCount;
  }

  /** Parts the last paragraph if it has grown long. Reads the layout: call it once a frame. */
  part() {
    if (this.tokens < this.due) return;
    const passes = [...this.last.children];
    const starts = lineStarts(passes);
    starts.forEach((start, index) => {
      // The space before its first word ended the line above, where it took no room.
      const space = /^ */.exec(passes[start].textContent)[0];
      const indent = -widthOf(space, this.container);
      this.begin();
      this.last.style.textIndent = `${indent}px`;
      passes.slice(start, starts[index + 1]).forEach((pass) => this.append(pass));
    });
    this.due = Math.max(LONG, this.tokens + PATIENCE);
  }

  /** Joins them all: to be called when lines may break elsewhere than before. */
  join() {
    const [first, ...rest] = this.container.children;
    for (const paragraph of rest) {
      first.append(...paragraph.children);
      paragraph.remove();
    }
    this.last = first;
    this.tokens = first.querySelectorAll(".token").length;
    this.due = 0;
  }

  close() {
    this.observer.disconnect();
  }

  begin() {
    this.last = element("div", { class: "paragraph" });
    this.tokens = 0;
    this.due = LONG;
    this.container.append(this.last);
  }

  onResize() {
    const { clientWidth } = this.container;
    if (clientWidth !== this.width) this.join();
    this.width = clientWidth;
  }
}

/** Where to part: at every pass that begins a line, LONG tokens after the last such place. */
function lineStarts(passes) {
  const starts = [];
  let tokens = 0;
  passes.forEach((pass, index) => {
    if (tokens >= LONG && beginsALine(pass, passes[index - 1])) {
      starts.push(index);
      tokens = 0;
    }
    tokens += pass.childElementCount;
  });
  return starts;
}

/** Whether the first word of a pass lies below the last word of the pass before it. */
function beginsALine(pass, before) {
  const own = pass.querySelector(".word")?.getClientRects()[0];
  const last = [...before.querySelectorAll(".word")].at(-1)?.getClientRects();
  return Boolean(own && last?.length && own.top >= last[last.length - 1].bottom - 1);
}

function widthOf(text, container) {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d");
  canvas.font = getComputedStyle(container).font;
  return canvas.measureText(text).width;
}
