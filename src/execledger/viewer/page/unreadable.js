/** The files that hold no run: how many, and why, for whoever opens the list. */

import { visible } from "./ansi.js";
import { fill, h } from "./dom.js";
import { plural } from "./format.js";

/** Show in `details` what can't be read: names and reasons. */
export function showUnreadable(details, broken) {
  const told = JSON.stringify(broken);
  if (details.dataset.told === told) return;
  details.dataset.told = told;
  details.hidden = broken.length === 0;
  fill(
    details,
    h("summary", {}, `${plural(broken.length, "file")} can't be read`),
    h(
      "ul",
      {},
      broken.map(({ name, reason }) => h("li", {}, h("code", {}, visible(name)), `: ${visible(reason)}`)),
    ),
  );
}
