/** Plotly, fetched once a page and only when a chart is first drawn. */

const ADDRESS = "/api/assets/plotly.min.js";

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
