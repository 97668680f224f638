/** Whether the two lanes wrote the same text, in a sentence. */

import { quoted } from "./bars.js";
import { ownText } from "./token_facts.js";

/** @returns {DocumentFragment} */
export function agreementWords({ outcome, tokens, at, best }, texts) {
  const words = document.createDocumentFragment();
  if (outcome === "parted") {
    words.append(
      texts.nodes("agreement.parted", {
        number: texts.number(tokens + 1),
        speculative: quoted(ownText(at.speculative)),
        plain: quoted(ownText(at.plain)),
      }),
    );
    if (best.length === 2) words.append(" ", bestWords(best, texts));
  } else {
    words.append(
      outcome === "sampled"
        ? texts.say("agreement.sampled")
        : texts.count(`agreement.${outcome}`, tokens),
    );
  }
  return words;
}

function bestWords([first, second], texts) {
  return texts.nodes("agreement.best", {
    first: quoted(first[1]),
    p: texts.number(first[2], 4),
    second: quoted(second[1]),
    q: texts.number(second[2], 4),
    apart: texts.number(first[2] - second[2], 5),
  });
}
