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
    this.scroller = h("div", { class: "step-rows" });
    this.element = h("nav", { class: "panel steps-panel", "aria-label": "Steps" }, this.scroller);
    this.rows = new VirtualRows(this.scroller, "list", (index) => this.row(index));
  }

  /** Show other steps, or the same ones grown. */
  setSteps(steps, { grown = false } = {}) {
    this.steps = steps;
    this.rows.setLength(steps.category.length, { anew: !grown });
  }

  /** Mark a step, and have it in sight. */
  select(step) {
    const before = this.selected;
    const focused = this.scroller.contains(document.activeElement);
    this.selected = step;
    this.rows.refreshRow(before);
    this.rows.refreshRow(step);
    this.rows.reveal(step);
    if (focused) this.scroller.querySelector("[aria-current]")?.focus({ preventScroll: true });
  }

  row(index) {
    const { category, mark, label, turn, thread } = this.steps;
    const begins = index === 0 || turn[index] !== turn[index - 1] || thread[index] !== thread[index - 1];
    const current = index === this.selected;
    return h(
      "div",
      {
        class: `step-row${begins ? "" : " same-turn"}`,
        role: "listitem",
        "aria-posinset": index + 1,
        "aria-setsize": label.length,
      },
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
