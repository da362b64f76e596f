/** What one chooses runs by: words, an agent, a model, a task, and whether Ledger had faults. */

import { visible } from "./ansi.js";
import { fill, h, whenQuiet } from "./dom.js";
import { count } from "./format.js";
import { CHOICES } from "./filters.js";

const ANY = { agent: "any agent", model: "any model", task: "any task" };
const SHOWN = 60; // Characters of a value that have room in a list.

/** The controls; `ask(change)` is called with what is chosen anew. */
export class RunFilter {
  constructor(ask) {
    this.search = h("input", {
      type: "search",
      placeholder: "Search name, agent, model, task",
      "aria-label": "Search runs",
    });
    this.search.addEventListener(
      "input",
      whenQuiet(120, () => ask({ q: this.search.value })),
    );
    this.lists = Object.fromEntries(
      CHOICES.map((name) => [
        name,
        h("select", { "aria-label": `Only one ${name}`, onchange: (event) => ask({ [name]: event.target.value }) }),
      ]),
    );
    this.faults = h("input", { type: "checkbox", onchange: () => ask({ faults: this.faults.checked ? "1" : "" }) });
    this.element = h(
      "div",
      { class: "filters" },
      this.search,
      Object.values(this.lists),
      h("label", { class: "check" }, this.faults, "With faults"),
    );
    this.choices = {};
    this.query = {};
  }

  /** Show what is chosen. */
  update(query) {
    this.query = query;
    // What is being typed is newer than what was asked for.
    if (document.activeElement !== this.search) this.search.value = query.q;
    this.faults.checked = query.faults !== "";
    for (const name of CHOICES) this.drawList(name);
  }

  /** Offer other values. */
  offer(choices) {
    if (JSON.stringify(choices) === JSON.stringify(this.choices)) return;
    this.choices = choices;
    for (const name of CHOICES) this.drawList(name);
  }

  drawList(name) {
    const offered = this.choices[name] ?? [];
    const chosen = this.query[name] ?? "";
    const values = offered.some(([value]) => value === chosen) || !chosen ? offered : [[chosen, 0], ...offered];
    fill(
      this.lists[name],
      h("option", { value: "" }, ANY[name]),
      values.map(([value, many]) => h("option", { value, title: visible(value) }, `${brief(value)} (${count(many)})`)),
    );
    this.lists[name].value = chosen;
  }
}

function brief(value) {
  const text = visible(value);
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}
