/** Plotly, fetched once a page and only when a chart is first drawn. */

const ADDRESS = "/api/assets/plotly.min.js";
/** Where Plotly keeps its style rules: in the document, out of reach of a shadow root. */
const STYLES = "plotly.js-style-global";

/** @type {Promise<any> | null} */
let loading = null;

export function loadPlotly() {
  loading ??= window.Plotly ? Promise.resolve(window.Plotly) : fetchPlotly();
  return loading;
}

function fetchPlotly() {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = new URL(ADDRESS, import.meta.url).href;
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => {
      loading = null;
      reject(new Error("Plotly could not be loaded."));
    };
    document.head.append(script);
  });
}

/** Gives a shadow root the style rules that Plotly has given the document. */
export function adoptPlotlyStyles(node) {
  const root = node.getRootNode();
  if (!(root instanceof ShadowRoot)) return;
  const sheet = new CSSStyleSheet();
  const rules = document.getElementById(STYLES).sheet.cssRules;
  sheet.replaceSync(Array.from(rules, (rule) => rule.cssText).join("\n"));
  root.adoptedStyleSheets.push(sheet);
}
