/** A run that is about to begin: this waits for it, and goes there. */

import { h } from "./dom.js";
import { LAST, runAddress, runsAddress } from "./router.js";

const AGAIN = 400; // Milliseconds between two looks.

/** The view of what is not there yet. */
export class ComingView {
  constructor(route, { source, crumbs }) {
    this.source = source;
    this.status = h("p", { class: "empty", role: "status" }, "Waiting for the run to begin …");
    this.element = h(
      "div",
      { class: "coming-view" },
      h("h1", {}, "A run is coming"),
      this.status,
      h("p", {}, h("a", { href: runsAddress() }, "All runs")),
    );
    this.actions = {
      leave: () => {
        location.hash = runsAddress();
      },
    };
    document.title = "A run is coming · Ledger";
    crumbs([
      ["Runs", runsAddress()],
      ["Coming", null],
    ]);
    this.look();
  }

  /** Whether an address is this view's. */
  accepts(route) {
    return route.view === "coming";
  }

  /** There is nothing in an address that could change. */
  update() {}

  /** Wait no more. */
  destroy() {
    this.gone = true;
    clearTimeout(this.timer);
  }

  async look() {
    try {
      const { runs } = await this.source.runs({ limit: 1 });
      if (this.gone) return;
      // Back should not lead here again.
      if (runs.length) return location.replace(runAddress(runs[0].id, LAST));
    } catch (error) {
      this.status.textContent = error.message;
    }
    if (!this.gone) this.timer = setTimeout(() => this.look(), AGAIN);
    return undefined;
  }
}
