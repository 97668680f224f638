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
  /** @param {HTMLElement} text whose children they are */
  constructor(text) {
    this.text = text;
    this.begin();
  }

  /** @param {HTMLElement} pass */
  append(pass) {
    this.last.append(pass);
    this.tokens += pass.childElementCount;
  }

  /**
   * Ends the text at a pass: the paragraphs behind it take no room.
   * @param {HTMLElement | undefined} pass
   */
  endAt(pass) {
    let shown = pass?.parentElement ?? null;
    let behind = shown ? shown.nextElementSibling : this.text.firstElementChild;
    for (; behind && !behind.hidden; behind = behind.nextElementSibling) behind.hidden = true;
    for (; shown?.hidden; shown = shown.previousElementSibling) shown.hidden = false;
  }

  /**
   * Parts the last paragraph if it has grown long. Reads the layout: call it before changes.
   * @returns {boolean} whether it was parted
   */
  part() {
    if (this.tokens < this.due) return false;
    const passes = [...this.last.children];
    const starts = lineStarts(passes);
    const grown = [this.last];
    starts.forEach((start, index) => {
      // The space before its first word ended the line above, where it took no room.
      const space = /^ */.exec(passes[start].textContent)[0];
      const indent = -widthOf(space, this.text);
      this.begin();
      this.last.style.textIndent = `${indent}px`;
      passes.slice(start, starts[index + 1]).forEach((pass) => this.append(pass));
      grown.push(this.last);
    });
    close(grown.slice(0, -1));
    this.due = Math.max(LONG, this.tokens + PATIENCE);
    return starts.length > 0;
  }

  /** Joins them all: to be called when lines may break elsewhere than before. */
  join() {
    const [first, ...rest] = this.text.children;
    for (const paragraph of rest) {
      first.append(...paragraph.children);
      paragraph.remove();
    }
    first.removeAttribute("class");
    this.last = first;
    this.tokens = first.querySelectorAll(".token").length;
    this.due = 0;
  }

  begin() {
    this.last = element("div");
    this.tokens = 0;
    this.due = LONG;
    this.text.append(this.last);
  }
}

/** Tells the browser how high they are, so that it need not lay them out while out of sight. */
function close(paragraphs) {
  const heights = paragraphs.map((paragraph) => paragraph.getBoundingClientRect().height);
  paragraphs.forEach((paragraph, index) => {
    paragraph.style.containIntrinsicBlockSize = `${heights[index]}px`;
    paragraph.className = "closed";
  });
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

function widthOf(spaces, element) {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d");
  canvas.font = getComputedStyle(element).font;
  return canvas.measureText(spaces).width;
}
