/** The runs of a list, added up: how many, what they took, what Ledger saved and spent, and where the tokens went. */

import { visible } from "./ansi.js";
import { fill, h } from "./dom.js";
import { about, CLASSES, count, dollars, plural, signedCount } from "./format.js";
import { listCostBasis, listModels, listPrices } from "./prices.js";
import { moneyFacts } from "./runhead.js";

const NOTE = "Bars show numbers and no cost: a cached token costs a fraction of an uncached one.";
const REAL = {
  saved: "Saved",
  remarks: "Remarks took",
  views: "Views took",
  net: "Net",
  note: "Tokens taken include what views and remarks took, and not what was saved.",
};
const REPLAYED = {
  saved: "Would be saved",
  remarks: "Remarks would take",
  views: "Views would take",
  net: "Would be net",
  note: "Tokens taken include what would have been saved, and not what views and remarks would have taken.",
};
const TOOK_PART = {
  ...REPLAYED,
  note:
    "Ledger took part: tokens taken are those after its edits. " +
    "What would be saved and spent is counted by a replay.",
};
const SHADOW = { note: "In shadow mode Ledger changes nothing: nothing was saved or spent." };

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
  const line = { ...one.sums, shadow: one.shadow, replayed: one.replayed, took_part: one.took_part };
  const basis = (word) => (word.includes("table prices") ? visible(listModels(one)) : null);
  const facts = [
    [plural(line.steps, "step"), ""],
    [plural(line.turns, "model call"), ""],
    ...(one.shadow ? [] : moneyFacts(line, visible(listPrices(one)), { tokens: false })), // Tokens are below.
    line.run_cost !== null && inAll(one),
  ];
  return h(
    "div",
    { class: "panel sum" },
    h(
      "header",
      {},
      h("h2", {}, heading(one)),
      h(
        "ul",
        { class: "facts" },
        facts.filter(Boolean).map(([value, word]) => h("li", { title: basis(word) }, h("b", {}, value), word)),
      ),
    ),
    tokenBars(one, line),
  );
}

/** How many runs of which kind they are. */
function heading({ shadow, replayed, took_part: tookPart, runs }) {
  if (shadow) return `${plural(runs, "run")} in shadow mode`;
  const counted = plural(runs, replayed ? "replayed run" : "run");
  return replayed && !tookPart ? counted : `${counted} with Ledger`;
}

/** What the runs cost; of some of them, with what is net of the same ones. */
function inAll(one) {
  const partly = one.known.run_cost < one.runs && !one.shadow;
  const net = partly ? `, whose net is ${dollars(one.beside.run_cost.net_cost)}` : "";
  const basis = `, ${visible(listCostBasis(one))}`;
  const words = [ofThem(one, "run_cost"), net, basis, ofEstimates(one, "run_cost")].join("");
  return [about(dollars(one.sums.run_cost), one.estimated.run_cost > 0), ` in all${words}`];
}

/** How many of the runs a sum is of, if it is not all of them. */
function ofThem({ runs, known }, field) {
  return known[field] < runs ? `, known of ${count(known[field])} of ${count(runs)} runs` : "";
}

/** Of how many of the runs it is estimated, if it is of any. */
function ofEstimates({ runs, estimated }, field) {
  if (!estimated[field]) return "";
  return estimated[field] < runs ? `, estimated for ${count(estimated[field])} of ${count(runs)} runs` : ", estimated";
}

/** Where the tokens went: a bar for the runs, one for what references kept out, one for remarks, if there were any, and
 * one for state views, and the net in words: all of them of the runs whose tokens are known. */
function tokenBars(one, line) {
  const partly = one.known.uncached_tokens > 0 && one.known.uncached_tokens < one.runs;
  const [beside, same] = partly ? [one.beside.uncached_tokens, " for the same runs"] : [line, ""];
  const words = line.shadow ? SHADOW : line.took_part ? TOOK_PART : line.replayed ? REPLAYED : REAL;
  const took = {
    uncached: line.uncached_tokens,
    written: line.written_tokens,
    cached: line.cached_tokens,
    output: line.output_tokens,
  };
  const saved = {
    uncached: beside.saved_uncached_tokens,
    written: beside.saved_written_tokens,
    cached: beside.saved_cached_tokens,
  };
  const remarks = {
    uncached: beside.remark_uncached_tokens,
    written: beside.remark_written_tokens,
    cached: beside.remark_cached_tokens,
  };
  const bars = [
    ["Tokens taken", took, `${ofThem(one, "uncached_tokens")}${ofEstimates(one, "uncached_tokens")}`.slice(2)],
  ];
  if (!line.shadow)
    bars.push(
      [words.saved, saved, `estimated${same}`],
      ...(line.remark_cost ? [[words.remarks, remarks, `estimated${same}`]] : []),
      [words.views, { uncached: beside.view_tokens }, `estimated${same}${displaced(beside)}`],
    );
  const longest = Math.max(1, ...bars.map(([, tokens]) => size(tokens)));
  return [
    h(
      "ul",
      { class: "token-bars", "aria-label": "Where the tokens went" },
      bars.map(([title, tokens, rest]) => bar(title, tokens, rest, longest)),
      line.shadow ? null : netLine(words.net, beside, `estimated${same}`),
    ),
    h("p", { class: "hint" }, words.note),
  ];
}

/** How many of the tokens that views took would have been cached without them. */
function displaced(line) {
  return line.displaced_tokens ? `; ${count(line.displaced_tokens)} of them would have been cached` : "";
}

/** What was saved less what remarks and views took, by class: in words, since a class may be negative. */
function netLine(title, beside, rest) {
  const tokens = {
    uncached: beside.net_uncached_tokens,
    written: beside.net_written_tokens,
    cached: beside.net_cached_tokens,
  };
  const known = Object.entries(tokens).filter(([, value]) => value);
  const words = known.length ? [inWords(known, signedCount), `(${rest})`] : "none";
  return h("li", {}, h("span", { class: "bar-title" }, title), h("span", { class: "bar-words net-words" }, words));
}

/** Tokens by class, each with the colour of its part of a bar. */
function inWords(known, number = count) {
  return known.map(([name, value]) => [
    h("i", { class: `swatch token-${name}`, "aria-hidden": "true" }),
    `${number(value)} ${CLASSES[name]} `,
  ]);
}

function bar(title, tokens, rest, longest) {
  const known = Object.entries(tokens).filter(([, value]) => value > 0);
  const parts = known.map(([name, value]) => {
    const part = h("i", { class: `token-${name}` });
    part.style.width = `${(100 * value) / longest}%`;
    return part;
  });
  const nothing = Object.values(tokens).every((value) => value === null) ? "not recorded" : "none";
  return h(
    "li",
    {},
    h("span", { class: "bar-title" }, title),
    h("span", { class: "token-bar", "aria-hidden": "true" }, parts),
    h("span", { class: "bar-words" }, known.length ? [inWords(known), rest ? `(${rest})` : ""] : nothing),
  );
}

function size(tokens) {
  return Object.values(tokens).reduce((sum, value) => sum + Math.max(value ?? 0, 0), 0);
}
