/** The state view exactly as the model saw it, with what changed since the step before. */

import { visible } from "./ansi.js";
import { lineDiff } from "./diff.js";
import { fill, h } from "./dom.js";

const WORDS = { "+": "new: ", "-": "gone: " };

/** The panel of the state view. */
export class StateViewPanel {
  constructor() {
    this.body = h("div", { class: "view-body" });
    this.old = h("input", { type: "checkbox", checked: true, onchange: () => this.draw() });
    this.hint = h("span", { class: "hint" });
    this.element = h(
      "section",
      { class: "panel view-panel", "aria-labelledby": "view-title" },
      h(
        "header",
        {},
        h("h2", { id: "view-title" }, "State view"),
        this.hint,
        h("label", { class: "check" }, this.old, "Show what is gone"),
      ),
      this.body,
    );
  }

  /** Show the view of a step; a replay is not what the model saw. */
  show(step, replayed) {
    this.step = step;
    this.shown = replayed ? "would have been shown" : "was shown";
    this.hint.textContent = replayed ? "as the model would have seen it" : "as the model saw it";
    this.draw();
  }

  draw() {
    if (!this.step) return;
    const { view, view_before: before } = this.step;
    if (view === "") fill(this.body, h("p", { class: "empty" }, `The model ${this.shown} no state view here.`));
    else {
      const text = this.text(lineDiff(before, view));
      fill(this.body, text);
      const changed = text.querySelector(".added, .removed");
      if (changed && changed.offsetTop + changed.offsetHeight > text.clientHeight)
        text.scrollTop = changed.offsetTop - changed.offsetHeight;
    }
  }

  text(lines) {
    const shown = lines.filter(([mark]) => mark !== "-" || this.old.checked);
    const rows = shown.map(([mark, text]) =>
      h(
        "span",
        { class: `line ${{ "+": "added", "-": "removed" }[mark] ?? "kept"}` },
        h("span", { class: "sign", "aria-hidden": "true" }, mark === "-" ? "−" : mark),
        WORDS[mark] ? h("span", { class: "unseen" }, WORDS[mark]) : null,
        `${visible(text)}\n`,
      ),
    );
    return h("pre", { class: "view-text scrolls", tabindex: "0", role: "region", "aria-label": "State view" }, rows);
  }
}
