/** What two runs came to, side by side. */

import { visible } from "./ansi.js";
import { h } from "./dom.js";
import { bytes, count, nameParts } from "./format.js";
import { runAddress } from "./router.js";

const TITLES = {
  steps: "steps",
  calls: "model calls",
  input_tokens: "input tokens",
  reuses: "reused",
  elided: "elided",
  nudges: "nudged",
  rereads: "redundant re-reads",
  saved_bytes: "saved",
  view_bytes: "state views",
  faults: "faults",
};

/** A table with a row for each run, and one for the difference. */
export function totalsTable({ a, b, totals }) {
  const named = Object.entries(totals);
  const heads = named.map(([name]) => h("th", { scope: "col" }, TITLES[name] ?? name));
  const rows = [a, b].map((line, side) =>
    h(
      "tr",
      {},
      runHeading(line, side),
      named.map(([name, values]) => h("td", {}, unitOf(name)(values[side]))),
    ),
  );
  const differences = named.map(([name, values]) => h("td", {}, signed(values, unitOf(name))));
  return h(
    "table",
    { class: "totals" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Run"), heads)),
    h("tbody", {}, rows, h("tr", { class: "difference" }, h("th", { scope: "row" }, "B − A"), differences)),
  );
}

function runHeading(line, side) {
  const name = h("a", { href: runAddress(line.id), title: visible(line.name) }, visible(nameParts(line.name)[1]));
  const who = visible([line.agent, line.model].filter(Boolean).join(", "));
  return h("th", { scope: "row" }, `${"AB"[side]} `, name, h("span", { class: "hint" }, ` ${who}`));
}

/** How a total is said. */
function unitOf(name) {
  return name.endsWith("_bytes") ? bytes : count;
}

/** The difference of two numbers with its sign. */
function signed([one, other], say) {
  if (typeof one !== "number" || typeof other !== "number") return "–";
  const sign = other > one ? "+" : other < one ? "−" : "±";
  return sign + say(Math.abs(other - one));
}
