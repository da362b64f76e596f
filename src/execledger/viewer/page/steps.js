/** The list of all steps of a run, as far as it is in sight. */

import { visible } from "./ansi.js";
import { h } from "./dom.js";
import { shortCommand } from "./format.js";
import { categoryBadge, markSign } from "./marks.js";
import { runAddress } from "./router.js";
import { VirtualRows } from "./virtual.js";

/** The list; each row is a link to its step. */
export class StepList {
  constructor(id) {
    this.id = id;
    this.selected = 0;
    this.entries = []; // The rows: `[step, looked]`, a look before the step that it precedes.
    this.places = []; // By step, its row.
    this.scroller = h("div", { class: "step-rows" });
    this.element = h("nav", { class: "panel steps-panel", "aria-label": "Steps" }, this.scroller);
    this.rows = new VirtualRows(this.scroller, "list", (index) => this.row(index));
  }

  /** Show other steps, or the same ones grown. */
  setSteps(steps, { grown = false } = {}) {
    this.steps = steps;
    if (!grown) [this.entries, this.places] = [[], []];
    for (let step = this.places.length; step < steps.label.length; step += 1) {
      if (steps.looked[step]) this.entries.push([step, true]);
      this.places.push(this.entries.push([step, false]) - 1);
    }
    this.rows.setLength(this.entries.length, { anew: !grown });
  }

  /** Mark a step, and have it in sight. */
  select(step) {
    const before = this.selected;
    const focused = this.scroller.contains(document.activeElement);
    this.selected = step;
    this.rows.refreshRow(this.places[before]);
    this.rows.refreshRow(this.places[step]);
    this.rows.reveal(this.places[step]);
    if (focused) this.scroller.querySelector("[aria-current]")?.focus({ preventScroll: true });
  }

  row(place) {
    const [step, looked] = this.entries[place];
    const row = looked ? this.look(step) : this.step(step);
    row.setAttribute("aria-posinset", place + 1);
    row.setAttribute("aria-setsize", this.entries.length);
    return row;
  }

  /** What a look at the files found before a step. */
  look(step) {
    const words = visible(this.steps.looked[step]);
    return h(
      "div",
      { class: "look-row", role: "listitem" },
      h(
        "a",
        { href: runAddress(this.id, step), tabindex: "-1", title: `Looked at before step ${step}: ${words}` },
        h("span", { class: "sign", "aria-hidden": "true" }, "◎"),
        h("span", { class: "unseen" }, "Looked at: "),
        h("span", { class: "label" }, words),
      ),
    );
  }

  step(index) {
    const { category, mark, label, turn, thread } = this.steps;
    const begins = index === 0 || turn[index] !== turn[index - 1] || thread[index] !== thread[index - 1];
    const current = index === this.selected;
    return h(
      "div",
      { class: `step-row${begins ? "" : " same-turn"}`, role: "listitem" },
      h(
        "a",
        { href: runAddress(this.id, index), "aria-current": current ? "step" : null, tabindex: current ? "0" : "-1" },
        h("span", { class: "number" }, String(index)),
        categoryBadge(category[index]),
        h("code", { class: "label", title: visible(label[index]) }, visible(shortCommand(label[index]))),
        markSign(mark[index]),
      ),
    );
  }

  /** Stop watching. */
  destroy() {
    this.rows.destroy();
  }
}
