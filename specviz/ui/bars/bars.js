/**
 * A target's and a drafter's distribution over a few tokens, as bars that are dragged. What
 * follows from them (the chance of acceptance, the residual) moves along; when a bar is let go,
 * Python hears of both distributions.
 */

/** The share that a full track stands for. */
const FULL = 0.8;
/** How long a key must have rested before Python hears, in milliseconds. */
const REST = 500;
const STEPS = { ArrowUp: 0.01, ArrowRight: 0.01, ArrowDown: -0.01, ArrowLeft: -0.01, PageUp: 0.1, PageDown: -0.1, Home: -1, End: 1 };

const editors = new WeakMap();

export default function mount({ data, parentElement, setStateValue }) {
  let editor = editors.get(parentElement);
  if (!editor) {
    editor = new Editor(parentElement.querySelector(".bars-editor"), data);
    editors.set(parentElement, editor);
  }
  editor.onSet = (shares) => setStateValue("shares", shares);
  editor.take(data.shares);
}

class Editor {
  constructor(root, { texts, tokens, smallest }) {
    Object.assign(this, { texts, tokens, smallest, percent: new Intl.NumberFormat(texts.language, { style: "percent" }) });
    /** The pointers that hold a bar: several fingers can. */
    this.held = new Set();
    this.summary = root.querySelector(".summary");
    for (const name of ["target", "drafter", "residual"]) {
      root.querySelector(`.key .of-${name}`).textContent = texts[name];
    }
    const chart = root.querySelector(".chart");
    chart.setAttribute("aria-label", texts.chart);
    this.bars = tokens.map((token) => {
      const bars = { target: bar("target", true), drafter: bar("drafter", true), residual: bar("residual", false) };
      const column = node("div", "token", ...Object.values(bars).map(({ track }) => track), node("div", "name", token));
      chart.append(column);
      return bars;
    });
    this.bars.forEach((bars, index) => {
      for (const who of ["target", "drafter"]) this.listen(bars[who].track, who, index);
    });
  }

  /** Takes over what Python says, unless a bar is held. */
  take(shares) {
    if (this.held.size || this.timer) return;
    this.shares = structuredClone(shares);
    this.draw();
  }

  listen(track, who, index) {
    track.setAttribute("aria-label", `${this.texts[who]}, ${this.tokens[index]}`);
    const follow = ({ clientY }) => {
      const { bottom, height } = track.getBoundingClientRect();
      this.set(who, index, ((bottom - clientY) / height) * FULL);
    };
    track.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      track.setPointerCapture(event.pointerId);
      this.held.add(event.pointerId);
      follow(event);
    });
    track.addEventListener("pointermove", (event) => {
      if (track.hasPointerCapture(event.pointerId)) follow(event);
    });
    const letGo = ({ pointerId }) => {
      if (this.held.delete(pointerId) && !this.held.size) this.onSet(this.shares);
    };
    track.addEventListener("pointerup", letGo);
    track.addEventListener("pointercancel", letGo);
    track.addEventListener("keydown", (event) => {
      const step = STEPS[event.key];
      if (step === undefined) return;
      event.preventDefault();
      this.set(who, index, this.shares[who][index] + step);
      clearTimeout(this.timer);
      this.timer = setTimeout(() => {
        this.timer = null;
        this.onSet(this.shares);
      }, REST);
    });
  }

  set(who, index, share) {
    this.shares[who] = withShare(this.shares[who], index, share, this.smallest);
    this.draw();
  }

  draw() {
    const { target, drafter } = this.shares;
    const overlap = target.reduce((sum, p, i) => sum + Math.min(p, drafter[i]), 0);
    this.bars.forEach((bars, i) => {
      this.show(bars.target, target[i]);
      this.show(bars.drafter, drafter[i]);
      this.show(bars.residual, overlap < 1 ? Math.max(0, target[i] - drafter[i]) / (1 - overlap) : 0);
    });
    this.summary.textContent = this.texts.summary.replace("{share}", this.percent.format(overlap));
  }

  show({ track, fill, label }, share) {
    fill.style.height = `${Math.min(1, share / FULL) * 100}%`;
    label.textContent = this.percent.format(share);
    if (track.getAttribute("role") !== "slider") return;
    track.setAttribute("aria-valuenow", Math.round(share * 100));
    track.setAttribute("aria-valuetext", label.textContent);
  }
}

/** The distribution with one share changed; the others keep their proportions as far as they can. */
function withShare(shares, index, share, smallest) {
  const others = shares.length - 1;
  const wanted = Math.min(FULL, 1 - others * smallest, Math.max(smallest, share));
  const free = shares.map((old) => old - smallest);
  const sum = free.reduce((total, part, i) => (i === index ? total : total + part), 0);
  const left = 1 - wanted - others * smallest;
  return shares.map((_, i) => {
    if (i === index) return wanted;
    return smallest + left * (sum > 0 ? free[i] / sum : 1 / others);
  });
}

function bar(name, dragged) {
  const label = node("span", "share");
  const fill = node("div", "fill", label);
  const track = node("div", `track of-${name}`, fill);
  if (dragged) {
    for (const [key, value] of Object.entries({ role: "slider", tabindex: 0, "aria-orientation": "vertical", "aria-valuemin": 0, "aria-valuemax": FULL * 100 })) {
      track.setAttribute(key, value);
    }
  } else {
    track.setAttribute("aria-hidden", "true");
  }
  return { track, fill, label };
}

function node(tag, className, ...children) {
  const made = document.createElement(tag);
  made.className = className;
  made.append(...children);
  return made;
}
