/** Text from outside, as text: an output of any size, of which a screenful or two is made into elements at first. */

import { ansiPieces, visible } from "./ansi.js";
import { fill, h } from "./dom.js";
import { bytes, count } from "./format.js";
import { shellTokens } from "./highlight.js";

const AT_ONCE = 12_000; // Characters that are shown without being asked for.
const COLOURED = 20_000; // Characters of a command that are coloured.

/** A command, coloured as shell. */
export function commandBlock(command) {
  const coloured = shellTokens(command.slice(0, COLOURED)).map(([kind, text]) =>
    kind === "plain" ? visible(text) : h("span", { class: `sh-${kind}` }, visible(text)),
  );
  return h("pre", { class: "command" }, h("code", {}, coloured, visible(command.slice(COLOURED))));
}

/** A text whose colours are those of a terminal; the rest of a long one comes on demand. */
export function textBlock(text, { label, gap = null, more = null }) {
  const block = h("pre", { class: "text scrolls", tabindex: "0", role: "region", "aria-label": label });
  const frame = h("div", { class: "text-frame" }, block);
  const show = (end) => {
    const head =
      gap === null || gap > end
        ? [[0, end]]
        : [
            [0, gap],
            [gap, end],
          ];
    const parts = head.map(([from, to]) => pieces(text.slice(from, to)));
    fill(block, parts.length > 1 ? [parts[0], leftOut(), parts[1]].flat() : parts[0]);
    fill(frame, block, end < text.length ? rest(text.length - end, () => show(text.length)) : more);
  };
  show(Math.min(text.length, AT_ONCE));
  return frame;
}

function pieces(text) {
  return ansiPieces(text).map(([piece, classes]) => (classes ? h("span", { class: classes }, piece) : piece));
}

function leftOut() {
  return h("span", { class: "left-out" }, "\n… the middle is left out here …\n");
}

function rest(length, show) {
  return h("button", { type: "button", class: "more", onclick: show }, `Show ${count(length)} more characters`);
}

/** A link to the whole of an output that was too large to come with its step. */
export function wholeOutput(address, size) {
  if (address === null) return null;
  return h(
    "a",
    { class: "more", href: address, target: "_blank", rel: "noopener" },
    `Open all ${bytes(size)} as plain text`,
  );
}
