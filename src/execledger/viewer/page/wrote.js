/** What the model wrote beside its calls. */

import { visible } from "./ansi.js";
import { h } from "./dom.js";
import { count } from "./format.js";
import { textBlock } from "./output.js";

const SHORT = 700; // Characters that are shown without being unfolded,
const ROWS = 10; // if they are on no more lines than that.
const LEAD = 120; // Characters of a folded text that are shown.
const TITLE = "The model wrote";

/** The section of a step; null where nothing was written, or the run does not hold it. */
export function wroteSection({ text, text_rest: rest }) {
  if (!text) return null;
  if (!rest && text.length <= SHORT && text.split("\n").length <= ROWS)
    return h("div", { class: "wrote" }, h("h3", {}, TITLE), h("p", {}, visible(text)));
  const left = rest ? h("p", { class: "hint" }, `${count(rest)} more characters are not shown here.`) : null;
  const size = `${TITLE} ${count(text.length + rest)} characters: `;
  const lead = `${visible(text.slice(0, LEAD)).replaceAll(/\s+/g, " ")} …`;
  const summary = h("summary", {}, h("b", {}, size), lead);
  return h("details", { class: "wrote" }, summary, textBlock(text, { label: TITLE, more: left }));
}
