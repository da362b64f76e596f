/**
 * The file map: each file that was touched as a strip of its lines, coloured by what the agent has seen of it and
 * whether that still holds at the selected step. A range leads to the step that showed it.
 */

import { visible } from "./ansi.js";
import { h } from "./dom.js";
import { count, lines, listed, plural } from "./format.js";
import {
  CHANGED,
  counted,
  CURRENT,
  eventsUpTo,
  GONE,
  Knowledge,
  MOVED,
  NEVER,
  STALE,
  SUSPECT,
  UNTOLD,
} from "./knowledge.js";
import { runAddress } from "./router.js";
import { VirtualRows } from "./virtual.js";

/** The states in the order of the legend, with the class that colours them. */
const STATES = {
  [CURRENT]: "current",
  [MOVED]: "moved",
  [CHANGED]: "changed",
  [GONE]: "gone",
  [SUSPECT]: "suspect",
  [STALE]: "stale",
  [UNTOLD]: "untold",
  [NEVER]: "never",
};
const ABOUT = {
  [CURRENT]: "seen, and looked up and found before the step, or nothing that may write has run since",
  [MOVED]: "looked up before the step: the same lines were at another place of the file",
  [CHANGED]: "looked up before the step: the file had other lines",
  [GONE]: "looked up before the step: the file did not exist any more",
  [SUSPECT]: "seen, and something that may have written to it has run since",
  [STALE]: "seen, and written since",
  [UNTOLD]: "seen, and nothing has run since that may have written to it; but something left running still may",
  [NEVER]: "not shown to the agent",
};
const PASSIVE = ["suspect", "untold", "looked", "unlooked"]; // What happens to a file without a step that touches it.
const SYMBOLS = 3; // Names that have room in a row.

/** The panel of the file map. */
export class FileMap {
  constructor(id) {
    this.id = id;
    this.step = 0;
    this.files = [];
    this.byPath = new Map();
    this.touched = new Map(); // By step, the first file that it showed or wrote.
    this.scroller = h("div", { class: "file-rows" });
    this.summary = h("span", { class: "hint" });
    this.detail = h("p", { class: "detail" });
    const legend = Object.entries(STATES).map(([words, name]) =>
      h("li", { title: ABOUT[words] }, h("i", { class: `swatch ${name}` }), words),
    );
    this.element = h(
      "section",
      { class: "panel map-panel", "aria-labelledby": "map-title" },
      h("header", {}, h("h2", { id: "map-title" }, "File map"), this.summary, h("ul", { class: "legend" }, legend)),
      this.scroller,
      this.detail,
    );
    this.rows = new VirtualRows(this.scroller, "list", (index) => this.row(index));
    this.scroller.addEventListener("keydown", (event) => this.rove(event));
    for (const kind of ["pointerover", "focusin"])
      this.scroller.addEventListener(kind, (event) => this.tell(event.target));
    this.tell(null);
  }

  /** Take in files, or more events of files that are known. */
  add(tracks) {
    for (const track of tracks) {
      const place = this.byPath.get(track.path) ?? this.files.length;
      if (place === this.files.length) {
        this.byPath.set(track.path, place);
        this.files.push(new Knowledge({ ...track, events: [] }));
      }
      const file = this.files[place].track;
      file.lines = Math.max(file.lines, track.lines);
      for (const event of track.events) {
        file.events.push(event);
        if (!PASSIVE.includes(event[1]) && !this.touched.has(event[0])) this.touched.set(event[0], place);
      }
    }
    this.rows.setLength(this.files.length);
  }

  /** Show what was known after a step, and have the file in sight that it touched. */
  select(step) {
    const before = this.step;
    this.step = step;
    const touched = this.touched.get(step);
    const known = this.knownAt(step);
    this.summary.textContent = `${count(known)} of ${plural(this.files.length, "file")} touched after step ${step}`;
    this.rows.refreshWhere((index) => this.files[index].differs(before, step));
    if (touched !== undefined) this.rows.reveal(touched);
  }

  /** How many files had come up: they stand in that order. */
  knownAt(step) {
    return eventsUpTo(
      this.files.map((file) => [file.begins]),
      step,
    );
  }

  row(index) {
    const file = this.files[index];
    const { name, lines: total } = file.track;
    const spans = file.at(this.step);
    const happened = file.happened(this.step);
    const classes = ["seen", "changed"].filter((kind) => happened.has(kind)).map((kind) => `now-${kind}`);
    return h(
      "div",
      {
        class: ["file-row", file.begins > this.step ? "not-yet" : "", ...classes].join(" "),
        role: "listitem",
        "aria-posinset": index + 1,
        "aria-setsize": this.files.length,
      },
      h(
        "div",
        { class: "file-head" },
        h("bdi", { class: "file-name", title: visible(file.track.path) }, visible(name)),
        this.modified(file),
        this.apart(file),
        h("span", { class: "file-lines" }, total ? plural(total, "line") : "never read"),
      ),
      this.strip(file, spans),
    );
  }

  /** Lines that were seen and have no place on the strip. */
  apart(file) {
    const seen = file.apart(this.step);
    if (!seen) return null;
    const about = `shown by step ${seen.step}; how long the file is nobody knows, so these lines have no numbers`;
    const words = `+ the last ${plural(seen.lines, "line")}`;
    return h("a", { class: "apart", href: runAddress(this.id, seen.step), title: about }, words);
  }

  /** The names of what was modified last. */
  modified(file) {
    const modified = file.modified(this.step);
    if (!modified) return null;
    const { step, symbols } = modified;
    const names = symbols.slice(0, SYMBOLS).map(visible);
    const rest = symbols.length > SYMBOLS ? ` and ${symbols.length - SYMBOLS} more` : "";
    const words = names.length ? listed(names) + rest : "modified";
    return h(
      "a",
      { class: "modified", href: runAddress(this.id, step), title: `last written by step ${step}` },
      `✎ ${words}`,
    );
  }

  strip(file, spans) {
    const total = Math.max(file.track.lines, 1);
    const counts = counted(spans, total);
    const words = Object.keys(STATES)
      .filter((state) => counts[state])
      .map((state) => `${count(counts[state])} ${state}`);
    const links = spans.map((span, place) => this.range(file, span, total, place === 0));
    const label = file.track.lines
      ? `${visible(file.track.name)}: ${listed(words)}`
      : `${visible(file.track.name)}: never read`;
    return h("div", { class: file.track.lines ? "strip" : "strip unread", role: "group", "aria-label": label }, links);
  }

  range(file, [first, last, state, step], total, reachable) {
    const words = `${visible(file.track.name)}, ${lines(first, last)}: ${state}, shown by step ${step}`;
    const link = h("a", {
      class: `range ${STATES[state]}${step === this.step ? " now" : ""}`,
      href: runAddress(this.id, step),
      tabindex: reachable ? "0" : "-1",
      "aria-label": words,
    });
    link.style.left = `${((first - 1) / total) * 100}%`;
    link.style.width = `${((last - first + 1) / total) * 100}%`;
    return link;
  }

  /** The arrows move along the ranges of a strip; Enter follows the link that it is. */
  rove(event) {
    const range = event.target.closest(".range");
    const next = { ArrowRight: range?.nextElementSibling, ArrowLeft: range?.previousElementSibling }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    next?.focus();
  }

  /** Say in words what is pointed at. */
  tell(target) {
    const range = target?.closest(".range");
    this.detail.textContent = range?.getAttribute("aria-label") ?? "A range leads to the step that showed it.";
  }

  /** Stop watching. */
  destroy() {
    this.rows.destroy();
  }
}
