/** The colours and fonts in force, read from the page; `data-theme` tells the palette which. */

/** Writes `data-theme` from the background that is really there, whoever has set it. */
export function markTheme(root) {
  root.dataset.theme = isDark(getComputedStyle(root).backgroundColor) ? "dark" : "light";
}

/** What the charts need to know. */
export function readTheme(root) {
  const style = getComputedStyle(root);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  return {
    font: style.fontFamily,
    background: style.backgroundColor,
    ink: style.color,
    muted: colour("muted"),
    line: colour("line"),
    accepted: colour("accepted"),
    drafter: colour("drafter"),
    target: colour("target-model"),
    sample: colour("sample"),
    bookkeeping: colour("bookkeeping"),
    plain: colour("plain-lane"),
  };
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
  const [red, green, blue] = colour.match(/[\d.]+/g).map(Number);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 128;
}
