/**
 * The token stream, as a Streamlit component (Components v2).
 *
 * Streamlit calls the default export again at every rerun and at every change of theme, always
 * with the same `parentElement`, and its cleanup may run while the element is still on the
 * page. So the instrument is kept by element, and closed only when the element has left.
 *
 * A page without Streamlit uses `standalone.js`.
 */

import { Instrument } from "./instrument.js";

/** @type {WeakMap<ParentNode, Instrument>} */
const instruments = new WeakMap();

/**
 * @param {object} component
 * @param {{address: string, texts: Record<string, string>, view: "whole"|"lane"}} component.data
 * @param {ParentNode & Node} component.parentElement holds the markup of `stream.html`
 * @param {(name: string, value: unknown) => void} component.setStateValue
 */
export default function mount({ data, parentElement, setStateValue }) {
  const mounted = instruments.get(parentElement);
  if (mounted && mounted.address === data.address) {
    mounted.refreshTheme();
  } else {
    mounted?.close();
    const root = parentElement.querySelector(".specviz");
    const onFinished = () => setStateValue("finished", true);
    instruments.set(parentElement, new Instrument(root, data, onFinished));
  }
  return () => setTimeout(() => closeIfGone(parentElement), 0);
}

function closeIfGone(parentElement) {
  if (parentElement.isConnected) return;
  instruments.get(parentElement)?.close();
  instruments.delete(parentElement);
}
