/** What one steps through a run with, for whoever prefers a pointer; and what the marks stand for. */

import { fill, h } from "./dom.js";
import { count } from "./format.js";
import { MARKS, WOULD_MARKS } from "./lanes.js";

/** The controls; `actions` are those of the keyboard, `go` moves to a step by its number. */
export class Controls {
  constructor(actions, go) {
    const button = (label, sign, act) =>
      h("button", { type: "button", "aria-label": label, title: label, onclick: act }, sign);
    const number = { type: "number", min: 0, "aria-label": "Step", onchange: () => go(Number(this.number.value)) };
    this.number = h("input", number);
    this.range = h("span", {});
    this.play = h("button", { type: "button", class: "play", onclick: actions.play }, "Play");
    this.marks = h("ul", { class: "legend" });
    this.element = h(
      "div",
      { class: "controls" },
      button("First step", "⇤", actions.first),
      button("Step before", "←", actions.previous),
      h("label", { class: "jump" }, "Step ", this.number, this.range),
      button("Next step", "→", actions.next),
      button("Last step", "⇥", actions.last),
      this.play,
      button("Next step with a mark", "Next ◆", actions.nextMark),
      this.marks,
    );
    this.explain(false);
  }

  /** Say what the marks stand for: what Ledger did, or what it would have done. */
  explain(hypothetical) {
    const marks = Object.values(hypothetical ? WOULD_MARKS : MARKS);
    fill(
      this.marks,
      marks.map(({ sign, short, words }) => h("li", { title: words }, `${sign} ${short}`)),
    );
  }

  /** Show which of how many steps it is. */
  show(step, length) {
    this.number.value = step;
    this.number.max = length - 1;
    this.range.textContent = ` of 0–${count(length - 1)}`;
  }

  /** Show whether the run is being played. */
  showPlaying(yes) {
    this.play.textContent = yes ? "Pause" : "Play";
  }
}
