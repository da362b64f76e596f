/** What two runs came to, side by side: a row for each run, or a column for each where there is little room. */

import { visible } from "./ansi.js";
import { netTokens, savedTokens, spentTokens } from "./columns.js";
import { fill, h } from "./dom.js";
import { about, count, dollars, nameParts } from "./format.js";
import { estimatedCost } from "./prices.js";
import { runAddress } from "./router.js";

const NARROW = "(max-width: 140rem)"; // A row for each run needs more than that.

// Tokens behind sums of money.
const BEHIND = { saved_cost: savedTokens, spent_cost: spentTokens, net_cost: netTokens };

const TAKEN = ["input_tokens", "uncached_tokens", "written_tokens", "cached_tokens", "output_tokens"];

/** The table; `comparison` has both runs, their totals and the titles of these. */
export class Totals {
  constructor(comparison) {
    this.comparison = comparison;
    this.element = h("table", { class: "totals" });
    this.narrow = matchMedia(NARROW);
    this.draw = () => fill(this.element, this.narrow.matches ? this.columns() : this.rows());
    this.narrow.addEventListener("change", this.draw);
    this.draw();
  }

  /** Stop watching. */
  destroy() {
    this.narrow.removeEventListener("change", this.draw);
  }

  /** A row for each run, and one for the difference. */
  rows() {
    const counted = this.counted();
    const sides = [0, 1].map((side) =>
      h(
        "tr",
        {},
        this.heading(side, "row"),
        counted.map(({ values, kind }) => h("td", { class: kind }, values[side])),
      ),
    );
    const difference = counted.map((one) => h("td", {}, one.difference));
    return [
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("th", { scope: "col" }, "Run"),
          counted.map(({ title }) => h("th", { scope: "col" }, title)),
        ),
      ),
      h("tbody", {}, sides, h("tr", { class: "difference" }, h("th", { scope: "row" }, "B − A"), difference)),
    ];
  }

  /** A column for each run, and one for the difference. */
  columns() {
    const rows = this.counted().map(({ title, values, difference }) =>
      h(
        "tr",
        {},
        h("th", { scope: "row" }, title),
        values.map((value) => h("td", {}, value)),
        h("td", { class: "difference" }, difference),
      ),
    );
    const heads = [0, 1].map((side) => this.heading(side, "col"));
    return [
      h("thead", {}, h("tr", {}, h("td", {}), heads, h("th", { scope: "col", class: "difference" }, "B − A"))),
      h("tbody", {}, rows),
    ];
  }

  /** The totals in words: title, values, and their difference; behind the cost, what the dollars of each rest on. */
  counted() {
    const { a, b, totals, titles } = this.comparison;
    const lines = [a, b];
    const sources = lines.map(priceSource);
    const difference = sources[0] === sources[1] ? "the same" : "not the same";
    return Object.entries(totals).flatMap(([name, values]) => {
      const estimates = lines.map((line) => isEstimate(name, line));
      const words = values.map((value, side) => about(shown(name, value), estimates[side]));
      const told = words.map((value, side) => withTokens(name, lines[side], value));
      // The classes of input tokens have different prices: they are compared, and their sum is not.
      const changed = name === "input_tokens" ? "" : about(signed(name, values), estimates.some(Boolean));
      const row = { title: titles[name], values: told, difference: changed };
      return name === "run_cost" ? [row, { title: "prices", values: sources, difference, kind: "source" }] : [row];
    });
  }

  heading(side, scope) {
    const line = this.comparison["ab"[side]];
    const name = h("a", { href: runAddress(line.id), title: visible(line.name) }, visible(nameParts(line.name)[1]));
    const how = line.shadow ? "shadow mode" : line.replayed && "replay";
    const who = visible([line.agent, line.model, how].filter(Boolean).join(", "));
    return h("th", { scope }, `${"AB"[side]} `, name, h("span", { class: "hint" }, ` ${who}`));
  }
}

/** Whose prices the dollars of a run are at; the agent may have recorded what the run itself cost. */
function priceSource(line) {
  const recorded = line.estimated ? "estimated tokens, at " : "";
  return `${line.cost === null ? recorded : "cost as recorded, savings at "}${visible(line.priced_as)}`;
}

/** Whether a total of a run is estimated though it may be counted: what was saved and spent always is. */
function isEstimate(name, line) {
  return name === "run_cost" ? estimatedCost(line) : line.estimated && TAKEN.includes(name);
}

/** A total of a run; where it is money saved or spent, with the tokens by class as its tip. */
function withTokens(name, line, value) {
  return BEHIND[name] ? h("span", { title: BEHIND[name](line) }, value) : value;
}

/** A number, or a sum of money. */
function shown(name, value) {
  return name.endsWith("_cost") ? dollars(value) : count(value);
}

/** The difference of two numbers with its sign. */
function signed(name, [one, other]) {
  if (typeof one !== "number" || typeof other !== "number") return "–";
  const size = shown(name, Math.abs(other - one));
  const sign = size === shown(name, 0) ? "±" : other > one ? "+" : "−";
  return sign + size;
}
