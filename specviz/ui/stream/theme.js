/** The colours and fonts in force, read from the page; `data-theme` tells the palette which. */

/** Writes `data-theme` from the background that is really there, whoever has set it. */
export function markTheme(root) {
  root.dataset.theme = isDark(getComputedStyle(root).backgroundColor) ? "dark" : "light";
}

/** What the charts need to know; every colour as rgb(), which is all that Plotly reads. */
export function readTheme(root) {
  const style = getComputedStyle(root);
  const probe = root.appendChild(document.createElement("span"));
  const colour = (name) => {
    probe.style.color = `var(--${name})`;
    return plainColour(getComputedStyle(probe).color);
  };
  const theme = {
    font: style.fontFamily,
    ink: colour("ink"),
    muted: colour("muted"),
    grid: colour("grid"),
    accepted: colour("accepted"),
    drafter: colour("drafter"),
    target: colour("target-model"),
    sample: colour("sample"),
    bookkeeping: colour("bookkeeping"),
    speculative: colour("ink"),
    plain: colour("plain-lane"),
  };
  probe.remove();
  return theme;
}

/** Calls back when the page's own theme may have changed. Returns how to stop. */
export function watchTheme(onChange) {
  const observer = new MutationObserver(onChange);
  const attributeFilter = ["class", "style", "data-theme"];
  observer.observe(document.documentElement, { attributes: true, attributeFilter });
  observer.observe(document.body, { attributes: true, attributeFilter });
  const preference = matchMedia("(prefers-color-scheme: dark)");
  preference.addEventListener("change", onChange);
  return () => {
    observer.disconnect();
    preference.removeEventListener("change", onChange);
  };
}

function isDark(colour) {
  const [red, green, blue] = channels(colour);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 128;
}

function plainColour(colour) {
  const [red, green, blue, alpha] = channels(colour);
  return `rgba(${red}, ${green}, ${blue}, ${alpha / 255})`;
}

/** Any CSS colour, also a mixed one, as red, green, blue and alpha from 0 to 255. */
function channels(colour) {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d");
  canvas.fillStyle = colour;
  canvas.fillRect(0, 0, 1, 1);
  return canvas.getImageData(0, 0, 1, 1).data;
}
