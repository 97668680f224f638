/** The token stream on a page without Streamlit. */

import mount from "./index.js";

const asset = (name) => fetch(new URL(name, import.meta.url));
const text = async (name) => (await asset(name)).text();

/**
 * @param {Element} host an empty element
 * @param {{address: string, texts: Record<string, string>}} data
 * @param {(name: string, value: unknown) => void} [setStateValue] told `finished`
 * @returns {Promise<() => void>} call it after taking the element off the page
 */
export async function mountOn(host, data, setStateValue = () => {}) {
  const parts = await (await asset("parts.json")).json();
  const [html, ...css] = await Promise.all([parts.html, ...parts.css].map(text));
  const parentElement = host.attachShadow({ mode: "open" });
  parentElement.append(
    document.createRange().createContextualFragment(html),
    style(css.join("\n")),
  );
  return mount({ data, parentElement, setStateValue });
}

function style(css) {
  const element = document.createElement("style");
  element.textContent = css;
  return element;
}
