/** A list of which only the rows in sight exist, so that its length costs nothing. */

import { h, oncePerFrame } from "./dom.js";

const SPARE = 6; // Rows beyond either edge, so that a slow frame shows no gap.
const FOCUSABLE = "a, input"; // What a row may hold that can have the focus, which stays where it is.

/** Rows of one height, the `--row` of the scroller's style, made by `render(index)` when they come into sight. */
export class VirtualRows {
  /**
   * @param {HTMLElement} scroller it scrolls; its rows go into an element of `role` at its end.
   * @param {() => void} added is called when other rows have come into sight.
   */
  constructor(scroller, role, render, added = () => {}) {
    this.scroller = scroller;
    this.render = render;
    this.added = added;
    this.length = 0;
    this.height = 1; // Of a row, in pixels, until the style is asked.
    this.rows = new Map(); // The rows that exist, by index.
    this.body = h("div", { class: "rows", role });
    scroller.append(this.body);
    this.draw = oncePerFrame(() => this.drawNow());
    scroller.addEventListener("scroll", this.draw, { passive: true });
    this.watching = new ResizeObserver(() => {
      this.measure();
      this.draw();
    });
    this.watching.observe(scroller);
  }

  /** Ask the style how high a row is: it depends on the size of the user's font. */
  measure() {
    const style = getComputedStyle(this.scroller);
    const root = parseFloat(getComputedStyle(document.documentElement).fontSize);
    const height = parseFloat(style.getPropertyValue("--row")) * root || 1;
    if (height !== this.height) this.clear();
    this.height = height;
    this.body.style.height = `${this.length * this.height}px`;
  }

  /** Say how many rows there are; the ones that exist are kept unless they are to be made anew. */
  setLength(length, { anew = true } = {}) {
    this.length = length;
    if (anew) this.clear();
    this.measure();
    this.drawNow();
  }

  /** Make the rows in sight anew. */
  refresh() {
    this.clear();
    this.drawNow();
  }

  /** Make those of the rows in sight anew that a test picks. */
  refreshWhere(picks) {
    for (const index of [...this.rows.keys()].filter(picks)) this.refreshRow(index);
  }

  /** Make one row anew, if it exists. */
  refreshRow(index) {
    const row = this.rows.get(index);
    if (!row) return;
    const focused = [...row.querySelectorAll(FOCUSABLE)].indexOf(document.activeElement);
    const anew = this.make(index);
    row.replaceWith(anew);
    if (focused >= 0) anew.querySelectorAll(FOCUSABLE)[focused]?.focus({ preventScroll: true });
  }

  /** Scroll as little as is needed to have a row in sight. */
  reveal(index) {
    const top = index * this.height + this.body.offsetTop;
    const { scrollTop, clientHeight } = this.scroller;
    const above = this.body.offsetTop; // What sticks to the top must not hide it.
    if (top - above < scrollTop) this.scroller.scrollTop = top - above - this.height;
    else if (top + this.height > scrollTop + clientHeight)
      this.scroller.scrollTop = top + 2 * this.height - clientHeight;
    this.drawNow();
  }

  /** The first row in sight and the one behind the last. */
  window() {
    const top = this.scroller.scrollTop - this.body.offsetTop;
    const first = Math.max(0, Math.floor(top / this.height) - SPARE);
    const last = Math.min(this.length, Math.ceil((top + this.scroller.clientHeight) / this.height) + SPARE);
    return [Math.min(first, this.length), Math.max(last, 0)];
  }

  drawNow() {
    const [first, last] = this.window();
    for (const [index, row] of this.rows) {
      if (index < first || index >= last) {
        row.remove();
        this.rows.delete(index);
      }
    }
    const before = this.rows.size;
    for (let index = first; index < last; index += 1) {
      if (!this.rows.has(index)) this.insert(index);
    }
    if (this.rows.size > before) this.added();
  }

  /** Put a row where it belongs, so that the order of focus is the order that one sees. */
  insert(index) {
    const row = this.make(index);
    let next = null;
    for (const [other, element] of this.rows) {
      if (other > index && element !== row && (next === null || other < next[0])) next = [other, element];
    }
    this.body.insertBefore(row, next && next[1]);
  }

  make(index) {
    const row = this.render(index);
    row.style.top = `${index * this.height}px`;
    this.rows.set(index, row);
    return row;
  }

  clear() {
    this.body.replaceChildren();
    this.rows.clear();
  }

  /** Stop watching. */
  destroy() {
    this.watching.disconnect();
  }
}
