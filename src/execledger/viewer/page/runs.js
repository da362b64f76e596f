/** The list of runs: searched, sorted and read in parts by the server, so that a thousand of them are quick. */

import { visible } from "./ansi.js";
import { headingCells, runCells } from "./columns.js";
import { announce, fill, h } from "./dom.js";
import { count, plural } from "./format.js";
import { compareAddress, LAST, replaceAddress, runAddress, runsAddress } from "./router.js";
import { RunFilter } from "./runfilter.js";
import { Sums } from "./sums.js";
import { showUnreadable } from "./unreadable.js";
import { VirtualRows } from "./virtual.js";
import { ColumnWidths } from "./widths.js";

const PART = 100; // Runs that are asked for at once.
const AGAIN = 2000; // Milliseconds between two looks at the list.
const NOTHING = { q: "", agent: "", model: "", task: "", faults: "" }; // The list as it is when nothing is chosen.

/** The view of all runs. */
export class RunsView {
  constructor(route, { source, crumbs }) {
    this.source = source;
    this.crumbs = crumbs;
    this.comparable = true;
    this.chosen = []; // Ids of the runs that are to be compared, two at most.
    this.active = -1;
    this.filter = new RunFilter((change) => this.gone || this.ask(change));
    this.filter.search.addEventListener("keydown", (event) => event.key === "Enter" && this.move(0));
    this.lookAgain = () => document.hidden || this.read();
    document.addEventListener("visibilitychange", this.lookAgain);
    this.total = h("span", { class: "hint", role: "status" });
    this.compareButton = h("button", { type: "button", onclick: () => this.compare() });
    this.heading = h("div", { class: "run-row heading", role: "row", "aria-rowindex": 1 });
    this.table = h(
      "div",
      { class: "run-table", role: "table", "aria-label": "Runs" },
      h("div", { role: "rowgroup", class: "headings" }, this.heading),
    );
    this.widths = new ColumnWidths(this.table);
    this.rows = new VirtualRows(this.table, "rowgroup", (index) => this.row(index), () => this.widths.fit());
    this.sums = new Sums();
    this.unreadable = h("details", { class: "unreadable", hidden: true });
    this.element = h(
      "div",
      { class: "runs-view" },
      h(
        "section",
        { class: "toolbar", "aria-label": "Search and compare" },
        h("h1", {}, "Runs"),
        this.filter.element,
        this.total,
        this.compareButton,
      ),
      this.sums.element,
      this.table,
      this.unreadable,
    );
    this.actions = {
      next: () => this.move(this.active + 1),
      previous: () => this.move(this.active - 1),
      first: () => this.move(0),
      last: () => this.move(this.rows.length - 1),
      open: () => this.open(),
      choose: () => this.choose(this.active),
      search: () => this.filter.search.focus(),
      filter: () => this.filter.lists.agent.focus(),
      leave: () => {
        document.activeElement.blur();
        this.ask({ ...NOTHING });
      },
    };
    document.title = "Runs · Ledger";
    crumbs([["Runs", null]]);
    this.showChosen();
    this.update(route);
  }

  /** Whether an address is one of this view's. */
  accepts(route) {
    return route.view === "runs";
  }

  /** Search and sort as an address says. */
  update({ query }) {
    const known = Object.keys({ ...NOTHING, sort: "", desc: "" });
    this.query = Object.fromEntries(known.map((name) => [name, query[name] ?? ""]));
    this.filter.update(this.query);
    this.read();
  }

  /** Stop whatever goes on. */
  destroy() {
    this.gone = true;
    document.removeEventListener("visibilitychange", this.lookAgain);
    clearTimeout(this.timer);
    this.rows.destroy();
  }

  ask(change) {
    this.query = { ...this.query, ...change };
    replaceAddress(runsAddress(this.query));
    this.filter.update(this.query);
    this.widths.reset();
    this.read();
  }

  /** Read the list from its beginning; what stands there stays until that has come. */
  async read() {
    clearTimeout(this.timer);
    const asked = (this.asked = { parts: new Map() });
    let listing;
    try {
      [listing] = await Promise.all([0, ...this.partsInSight()].map((number) => this.part(asked, number)));
    } catch (error) {
      if (this.gone || asked !== this.asked) return;
      this.total.textContent = error.message;
      this.readLater();
      return;
    }
    if (this.gone || asked !== this.asked) return;
    const before = this.shown;
    this.shown = asked;
    this.comparable = listing.comparable;
    this.filter.offer(listing.choices);
    this.showChosen();
    this.drawHeading();
    this.table.setAttribute("aria-rowcount", listing.total + 1);
    this.rows.setLength(listing.total, { anew: false });
    // What is as it was stays as it is: somebody may be about to copy it.
    this.rows.refreshWhere((index) => !before || !same(runIn(before, index), runIn(asked, index)));
    this.widths.fit();
    const total =
      plural(listing.total, "run") + (listing.pending ? `, ${count(listing.pending)} still being counted` : "");
    if (this.total.textContent !== total) this.total.textContent = total; // What is said anew is heard anew.
    this.sums.show(listing.totals);
    showUnreadable(this.unreadable, listing.unreadable);
    this.readLater();
  }

  /** Runs come, go and grow: look again, unless this page can't change or nobody sees it. */
  readLater() {
    if (this.source.embedded) return;
    this.timer = setTimeout(() => (document.hidden ? this.readLater() : this.read()), AGAIN);
  }

  /** A part of the list, asked for once; the rows that waited for it are drawn when it comes. */
  part(asked, number) {
    if (!asked.parts.has(number)) {
      const answer = this.source.runs({ ...this.query, offset: number * PART, limit: PART });
      asked.parts.set(number, { answer, runs: null });
      answer.then(
        ({ runs }) => {
          asked.parts.get(number).runs = runs;
          if (asked !== this.shown) return;
          runs.forEach((_, place) => this.rows.refreshRow(number * PART + place));
          this.widths.fit();
        },
        () => asked.parts.delete(number),
      );
    }
    return asked.parts.get(number).answer;
  }

  partsInSight() {
    const [first, last] = this.rows.window();
    return first < last ? [Math.floor(first / PART), Math.floor((last - 1) / PART)] : [];
  }

  runAt(index) {
    this.part(this.shown, Math.floor(index / PART)).catch(() => {});
    return runIn(this.shown, index);
  }

  row(index) {
    const run = this.runAt(index);
    const attributes = {
      class: `run-row${index === this.active ? " active" : ""}`,
      role: "row",
      "aria-rowindex": index + 2,
    };
    if (run === null) return h("div", attributes, h("div", { role: "cell", class: "cell name" }, "…"));
    const box = h("input", {
      type: "checkbox",
      "aria-label": `Compare ${visible(run.name)}`,
      checked: this.chosen.includes(run.id),
      onchange: () => this.choose(index),
    });
    return h("div", attributes, h("div", { class: "cell box", role: "cell" }, box), runCells(run));
  }

  drawHeading() {
    const focused = [...this.heading.querySelectorAll("button")].indexOf(document.activeElement);
    fill(
      this.heading,
      h("div", { class: "cell box", role: "columnheader" }, h("span", { class: "unseen" }, "Compare")),
      headingCells(this.query, (change) => this.ask(change)),
    );
    this.heading.querySelectorAll("button")[focused]?.focus();
  }

  /** Mark another row, for the keyboard. */
  move(asked) {
    if (this.rows.length === 0) return;
    const before = this.active;
    this.active = Math.max(0, Math.min(this.rows.length - 1, asked));
    this.rows.refreshRow(before);
    this.rows.reveal(this.active);
    this.rows.refreshRow(this.active);
    this.rows.rows.get(this.active)?.querySelector("a")?.focus({ preventScroll: true });
  }

  open() {
    const run = this.active < 0 ? null : this.runAt(this.active);
    if (run) location.hash = runAddress(run.id, run.live ? LAST : null);
  }

  /** Choose a run for a comparison, or take it back; a third takes the place of the first. */
  choose(index) {
    const run = index < 0 ? null : this.runAt(index);
    if (!run) return;
    this.chosen = this.chosen.includes(run.id)
      ? this.chosen.filter((id) => id !== run.id)
      : [...this.chosen, run.id].slice(-2);
    this.rows.refresh();
    this.rows.rows.get(index)?.querySelector("input")?.focus({ preventScroll: true });
    this.showChosen();
    announce(`${plural(this.chosen.length, "run")} chosen.`);
  }

  showChosen() {
    const enough = this.chosen.length === 2 && this.comparable;
    const words = enough ? "Compare the two" : "Choose two to compare";
    this.compareButton.disabled = !enough;
    this.compareButton.textContent = this.comparable ? words : "Too many runs: this file holds no comparisons";
  }

  compare() {
    location.hash = compareAddress(...this.chosen);
  }
}

/** A run of a list that was read in parts; null if its part has not come. */
function runIn({ parts }, index) {
  return parts.get(Math.floor(index / PART))?.runs?.[index % PART] ?? null;
}

function same(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}
