/** Small helpers for building elements. Text is always set as text, never as markup. */

/**
 * @param {string} tag
 * @param {Record<string, string | number | boolean | null | undefined>} [attributes]
 *   null, undefined and false leave the attribute out, true sets it empty
 * @param {...(Node | string)} children
 */
export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children);
  return node;
}

/** Sets a node's text only where it differs, so that nothing is laid out in vain. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
