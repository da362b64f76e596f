/** Two runs of one task: what each came to, and their steps side by side where they are the same. */

import { visible } from "./ansi.js";
import { fill, h } from "./dom.js";
import { plural, shortCommand } from "./format.js";
import { categoryBadge, markSign } from "./marks.js";
import { runAddress, runsAddress } from "./router.js";
import { KINDS, sideBySide } from "./sides.js";
import { Timeline, usedCategories } from "./timeline.js";
import { Totals } from "./totals.js";
import { VirtualRows } from "./virtual.js";

/** The view of two runs. */
export class CompareView {
  constructor(route, { source, crumbs }) {
    this.source = source;
    this.route = route;
    this.active = 0;
    this.pairs = [];
    this.element = h("div", { class: "compare-view" }, h("p", { class: "empty" }, "Aligning the runs …"));
    this.timelines = [];
    crumbs([
      ["Runs", runsAddress()],
      ["Compare", null],
    ]);
    document.title = "Compare · Ledger";
    this.actions = {
      next: () => this.move(this.active + 1),
      previous: () => this.move(this.active - 1),
      first: () => this.move(0),
      last: () => this.move(this.pairs.length - 1),
      nextMark: () => this.moveToDifference(1),
      previousMark: () => this.moveToDifference(-1),
      open: () => this.open(),
      leave: () => {
        location.hash = runsAddress();
      },
    };
    this.read();
  }

  /** Whether an address is this comparison's. */
  accepts(route) {
    return route.view === "compare" && route.a === this.route.a && route.b === this.route.b;
  }

  /** There is nothing in an address that could change. */
  update() {}

  /** Draw with the colours of today. */
  repaint() {
    for (const timeline of this.timelines) timeline.repaint();
  }

  /** Stop watching. */
  destroy() {
    this.gone = true;
    for (const timeline of this.timelines) timeline.destroy();
    this.rows?.destroy();
    this.totals?.destroy();
  }

  async read() {
    const { a, b } = this.route;
    try {
      // The comparison first: the server reads both runs to their ends for it.
      this.comparison = await this.source.compare(a, b);
      this.runs = await Promise.all([this.source.run(a), this.source.run(b)]);
    } catch (error) {
      fill(this.element, h("p", { class: "empty", role: "alert" }, `These runs can't be compared: ${error.message}`));
      return;
    }
    if (!this.gone) this.lay();
  }

  lay() {
    this.onlyDifferences = h("input", { type: "checkbox", onchange: () => this.draw() });
    this.summary = h("span", { class: "hint", role: "status" });
    this.table = h("div", {
      class: "pair-rows scrolls",
      role: "table",
      tabindex: "0",
      "aria-label": "Steps of both runs",
    });
    this.rows = new VirtualRows(this.table, "rowgroup", (index) => this.row(index));
    this.totals = new Totals(this.comparison);
    const categories = usedCategories(this.runs.map((run) => run.steps));
    this.timelines = this.runs.map((run, side) => {
      const timeline = new Timeline(`Steps of run ${"AB"[side]}`, (step) => this.moveToStep(side, step));
      timeline.setSteps(run.steps, run.compactions, categories);
      return timeline;
    });
    fill(
      this.element,
      h(
        "section",
        { class: "panel compare-head", "aria-label": "Runs" },
        h("h1", {}, "Compare"),
        this.counted(),
        this.tasks(),
        this.totals.element,
      ),
      h(
        "section",
        { class: "panel time-panel", "aria-label": "Timelines" },
        this.timelines.map((timeline, side) => [h("h2", {}, `Run ${"AB"[side]}`), timeline.element]),
      ),
      h(
        "section",
        { class: "panel pairs-panel", "aria-label": "Steps" },
        h(
          "header",
          {},
          h("h2", {}, "Steps"),
          this.summary,
          this.legend(),
          h("label", { class: "check" }, this.onlyDifferences, "Only differences"),
        ),
        this.table,
      ),
    );
    this.draw();
    this.move(0);
  }

  /** How the numbers came about, where they are not what happened. */
  counted() {
    const [a, b] = [this.comparison.a, this.comparison.b].map(howCounted);
    const words = a === b ? [a && `Both runs: ${a}`] : [a && `Run A: ${a}`, b && `Run B: ${b}`];
    const known = words.filter(Boolean).join(" ");
    return known ? h("p", { class: "hint", role: "note" }, known) : null;
  }

  /** A remark where the two can hardly be compared. */
  tasks() {
    const { a, b, same_task: same } = this.comparison;
    if (same !== false) return null;
    const told = [a, b].map((line, side) =>
      h("span", { class: "run-task" }, `${"AB"[side]}: ${visible(line.task)}`),
    );
    return h("p", { class: "notice warning", role: "note" }, "These two runs had different tasks.", told);
  }

  legend() {
    return h(
      "ul",
      { class: "legend" },
      Object.entries(KINDS).map(([kind, { sign, words }]) =>
        h("li", { class: `pair-${kind}` }, h("b", {}, sign), ` ${words}`),
      ),
    );
  }

  draw() {
    const all = sideBySide(this.comparison.pairs);
    const different = all.filter(([, , kind]) => kind !== "same");
    this.pairs = this.onlyDifferences.checked ? different : all;
    this.active = 0;
    this.summary.textContent = `${plural(different.length, "difference")} in ${plural(all.length, "row")}`;
    this.table.setAttribute("aria-rowcount", this.pairs.length);
    this.rows.setLength(this.pairs.length);
  }

  row(index) {
    const [i, j, kind] = this.pairs[index];
    const { sign, words } = KINDS[kind] ?? { sign: "?", words: kind };
    return h(
      "div",
      {
        class: `pair-row pair-${kind}${index === this.active ? " active" : ""}`,
        role: "row",
        "aria-rowindex": index + 1,
        onclick: () => this.move(index),
      },
      this.side(0, i),
      h("div", { class: "cell sign", role: "cell", title: words }, sign, h("span", { class: "unseen" }, ` ${words}`)),
      this.side(1, j),
    );
  }

  side(side, step) {
    if (step === null)
      return h("div", { class: "cell side nothing", role: "cell" }, h("span", { class: "unseen" }, "nothing"));
    const { category, mark, label } = this.runs[side].steps;
    return h(
      "div",
      { class: "cell side", role: "cell" },
      h(
        "a",
        {
          class: "number",
          href: runAddress(this.runs[side].line.id, step),
          "aria-label": `Step ${step} of run ${"AB"[side]}`,
        },
        String(step),
      ),
      categoryBadge(category[step]),
      h("code", { class: "label", title: visible(label[step]) }, visible(shortCommand(label[step]))),
      markSign(mark[step]),
    );
  }

  /** Mark another pair, on the timelines too. */
  move(asked) {
    if (this.pairs.length === 0) return;
    const before = this.active;
    this.active = Math.max(0, Math.min(this.pairs.length - 1, asked));
    this.rows.refreshRow(before);
    this.rows.refreshRow(this.active);
    this.rows.reveal(this.active);
    this.timelines.forEach((timeline, side) => {
      const step = this.pairs[this.active][side];
      if (step !== null) timeline.select(step);
    });
  }

  moveToStep(side, step) {
    this.move(this.pairs.findIndex((pair) => pair[side] !== null && pair[side] >= step));
  }

  moveToDifference(direction) {
    for (let row = this.active + direction; row >= 0 && row < this.pairs.length; row += direction) {
      if (this.pairs[row][2] !== "same") return this.move(row);
    }
    return undefined;
  }

  open() {
    if (this.pairs.length === 0) return;
    const [i, j] = this.pairs[this.active];
    const side = i === null ? 1 : 0;
    location.hash = runAddress(this.runs[side].line.id, side ? j : i);
  }
}

/** How the numbers of a run came about, in a sentence; "" where they are what happened. */
function howCounted(line) {
  if (line.shadow) return "shadow mode; reuse and remarks are what would have been, and nothing was saved or spent.";
  if (!line.replayed) return "";
  const tokens = line.took_part ? " Ledger took part in it, and its tokens are those after Ledger's edits." : "";
  return `a replay; reuse, remarks, savings and views are what would have been.${tokens}`;
}
