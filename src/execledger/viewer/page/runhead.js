/** What a run is and what it came to, in a few lines above it. */

import { visible } from "./ansi.js";
import { h } from "./dom.js";
import { bytes, count, nameParts, plural, taskLine } from "./format.js";

/** The elements of the head. */
export function runHead({ line, governed, task, trouble }) {
  const [, name] = nameParts(line.name);
  return [
    h("h1", { title: visible(line.name) }, visible(name)),
    line.live && governed ? h("span", { class: "live-badge" }, "live") : null,
    h("span", { class: "hint" }, governed ? "What Ledger did in this run." : "A replay: what Ledger would have done."),
    h(
      "ul",
      { class: "facts" },
      facts(line).map(([value, word]) => h("li", {}, h("b", {}, visible(value)), word)),
    ),
    h(
      "details",
      { class: "task" },
      h("summary", {}, h("span", {}, visible(taskLine(line.task)) || "No task is known.")),
      h("pre", {}, visible(task)),
    ),
    trouble.length ? h("p", { class: "notice" }, trouble.map(visible).join("; ")) : null,
  ];
}

/** What is known in numbers: each with the word behind it. */
function facts(line) {
  return [
    [line.agent || "unknown agent", ""],
    line.model && [line.model, ""],
    [plural(line.steps, "step"), ""],
    [count(line.reuses), " reused"],
    [count(line.elided), " elided"],
    [count(line.nudges), " nudged"],
    [bytes(line.saved_bytes), " saved"],
    [bytes(line.view_bytes), " of state views"],
    line.input_tokens !== null && [count(line.input_tokens), " input tokens"],
    line.faults > 0 && [plural(line.faults, "fault"), ""],
  ].filter(Boolean);
}
