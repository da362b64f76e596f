/** What two runs came to, side by side: a row for each run, or a column for each where there is little room. */

import { visible } from "./ansi.js";
import { fill, h } from "./dom.js";
import { count, dollars, nameParts } from "./format.js";
import { runAddress } from "./router.js";

const NARROW = "(max-width: 100rem)"; // A row for each run needs more than that.

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
    const named = Object.entries(this.comparison.totals);
    const sides = [0, 1].map((side) =>
      h(
        "tr",
        {},
        this.heading(side, "row"),
        named.map(([name, values]) => h("td", {}, shown(name, values[side]))),
      ),
    );
    const difference = named.map(([name, values]) => h("td", {}, signed(name, values)));
    return [
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("th", { scope: "col" }, "Run"),
          named.map(([name]) => h("th", { scope: "col" }, this.comparison.titles[name])),
        ),
      ),
      h("tbody", {}, sides, h("tr", { class: "difference" }, h("th", { scope: "row" }, "B − A"), difference)),
    ];
  }

  /** A column for each run, and one for the difference. */
  columns() {
    const rows = Object.entries(this.comparison.totals).map(([name, values]) =>
      h(
        "tr",
        {},
        h("th", { scope: "row" }, this.comparison.titles[name]),
        values.map((value) => h("td", {}, shown(name, value))),
        h("td", { class: "difference" }, signed(name, values)),
      ),
    );
    const heads = [0, 1].map((side) => this.heading(side, "col"));
    return [
      h("thead", {}, h("tr", {}, h("td", {}), heads, h("th", { scope: "col", class: "difference" }, "B − A"))),
      h("tbody", {}, rows),
    ];
  }

  heading(side, scope) {
    const line = this.comparison["ab"[side]];
    const name = h("a", { href: runAddress(line.id), title: visible(line.name) }, visible(nameParts(line.name)[1]));
    const how = line.shadow ? "shadow mode" : line.replayed && "replay";
    const who = visible([line.agent, line.model, how].filter(Boolean).join(", "));
    return h("th", { scope }, `${"AB"[side]} `, name, h("span", { class: "hint" }, ` ${who}`));
  }
}

/** A number, or a sum of money. */
function shown(name, value) {
  return name.endsWith("_cost") ? dollars(value) : count(value);
}

/** The difference of two numbers with its sign. */
function signed(name, [one, other]) {
  if (typeof one !== "number" || typeof other !== "number") return "–";
  const sign = other > one ? "+" : other < one ? "−" : "±";
  return sign + shown(name, Math.abs(other - one));
}
