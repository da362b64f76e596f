/** The runs of a list, added up: how many, what they took, what Ledger saved and spent, and where the tokens went. */

import { fill, h } from "./dom.js";
import { count, dollars, plural } from "./format.js";
import { moneyFacts } from "./runhead.js";

const NOTE = "Bars show numbers and no cost: a cached token costs a fraction of an uncached one.";
const REAL = {
  saved: "Saved",
  views: "Views took",
  note: "Tokens taken include what views took, and not what was saved.",
};
const REPLAYED = {
  saved: "Would be saved",
  views: "Views would take",
  note: "Tokens taken include what would have been saved, and not what views would have taken.",
};
const TOOK_PART = {
  ...REPLAYED,
  note:
    "Ledger took part in these runs: tokens taken are those after its edits. " +
    "What would be saved and spent is counted by a replay.",
};
const CLASSES = {
  uncached: "uncached",
  written: "written to the cache",
  cached: "cached",
  output: "output",
};

/** The totals of a list. */
export class Sums {
  constructor() {
    this.element = h("section", { class: "sums", "aria-label": "Totals of these runs", hidden: true });
  }

  /** Show other totals; equal ones stay as they are, since somebody may be about to copy them. */
  show(totals) {
    const told = JSON.stringify(totals);
    if (told === this.told) return;
    this.told = told;
    this.element.hidden = totals.length === 0;
    fill(this.element, totals.map(sumPanel), h("p", { class: "hint" }, NOTE));
  }
}

/** One kind of runs: those without Ledger are apart from others, since nothing was really done in them. */
function sumPanel(one) {
  const line = { ...one.sums, replayed: one.replayed, took_part: one.took_part };
  const runs = plural(one.runs, one.replayed ? "replayed run" : "run");
  const facts = [
    [plural(line.steps, "step"), ""],
    [plural(line.turns, "model call"), ""],
    ...moneyFacts(line, () => ""), // The bars have the tokens.
    line.run_cost !== null && [dollars(line.run_cost), ` in all${ofThem(one, "run_cost")}`],
  ];
  return h(
    "div",
    { class: "panel sum" },
    h(
      "header",
      {},
      h("h2", {}, one.replayed && !one.took_part ? runs : `${runs} with Ledger`),
      h(
        "ul",
        { class: "facts" },
        facts.filter(Boolean).map(([value, word]) => h("li", {}, h("b", {}, value), word)),
      ),
    ),
    tokenBars(one, line),
  );
}

/** How many of the runs a sum is of, if it is not all of them. */
function ofThem({ runs, known }, field) {
  return known[field] < runs ? `, known of ${count(known[field])} of ${count(runs)} runs` : "";
}

/** Where the tokens went: a bar for the runs, one for what references kept out, and one for state views. */
function tokenBars(one, line) {
  const words = line.took_part ? TOOK_PART : line.replayed ? REPLAYED : REAL;
  const took = {
    uncached: line.uncached_tokens,
    written: line.written_tokens,
    cached: line.cached_tokens,
    output: line.output_tokens,
  };
  const bars = [
    ["Tokens taken", took, ofThem(one, "uncached_tokens").slice(2)],
    [words.saved, { uncached: line.saved_new_tokens, cached: line.saved_cached_tokens }, "estimated"],
    [words.views, { uncached: line.view_tokens }, `estimated${displaced(line)}`],
  ];
  const longest = Math.max(1, ...bars.map(([, tokens]) => size(tokens)));
  return [
    h(
      "ul",
      { class: "token-bars", "aria-label": "Where the tokens went" },
      bars.map(([title, tokens, rest]) => bar(title, tokens, rest, longest)),
    ),
    h("p", { class: "hint" }, words.note),
  ];
}

/** How many of the tokens that views took would have been cached without them. */
function displaced(line) {
  return line.displaced_tokens ? `; ${count(line.displaced_tokens)} of them would have been cached` : "";
}

function bar(title, tokens, rest, longest) {
  const known = Object.entries(tokens).filter(([, value]) => value > 0);
  const parts = known.map(([name, value]) => {
    const part = h("i", { class: `token-${name}` });
    part.style.width = `${(100 * value) / longest}%`;
    return part;
  });
  const words = known.map(([name, value]) => [
    h("i", { class: `swatch token-${name}`, "aria-hidden": "true" }),
    `${count(value)} ${CLASSES[name]} `,
  ]);
  const nothing = Object.values(tokens).every((value) => value === null) ? "not recorded" : "none";
  return h(
    "li",
    {},
    h("span", { class: "bar-title" }, title),
    h("span", { class: "token-bar", "aria-hidden": "true" }, parts),
    h("span", { class: "bar-words" }, known.length ? [words, rest ? `(${rest})` : ""] : nothing),
  );
}

function size(tokens) {
  return Object.values(tokens).reduce((sum, value) => sum + Math.max(value ?? 0, 0), 0);
}
