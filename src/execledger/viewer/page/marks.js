/** The signs of what Ledger did or would have done: on a canvas as shapes, elsewhere as a sign with its word. */

import { h } from "./dom.js";
import { isHypothetical, meaningOf, plainMark } from "./lanes.js";

const SHAPES = {
  reuse: [
    [0, -5],
    [5, 0],
    [0, 5],
    [-5, 0],
  ],
  reference: [
    [0, -4.5],
    [4.5, 0],
    [0, 4.5],
    [-4.5, 0],
  ],
  partial: [
    [0, -5.5],
    [5.5, 0],
    [0, 5.5],
    [-5.5, 0],
  ],
  remark: [
    [0, -4.5],
    [5, 4],
    [-5, 4],
  ],
  nudge: [
    [0, -4],
    [4.5, 3.5],
    [-4.5, 3.5],
  ],
};
/** What a shape holds: a diamond within a diamond is filled, as in the sign. */
const CORES = {
  partial: [
    [0, -2.5],
    [2.5, 0],
    [0, 2.5],
    [-2.5, 0],
  ],
};
const FILLED = new Set(["reuse", "remark"]);

/** Draw a mark around a point: the shape says which, not only the colour. */
export function drawMark(pen, mark, x, y, colour) {
  trace(pen, SHAPES[plainMark(mark)] ?? [], x, y);
  pen.fillStyle = pen.strokeStyle = colour;
  if (isHypothetical(mark)) drawHypothetical(pen, mark);
  else if (FILLED.has(mark)) pen.fill();
  else pen.stroke();
  if (!(plainMark(mark) in CORES)) return;
  trace(pen, CORES[plainMark(mark)], x, y);
  pen.fill();
}

/** Begin the outline of a shape around a point. */
function trace(pen, corners, x, y) {
  pen.beginPath();
  for (const [dx, dy] of corners) pen.lineTo(x + dx, y + dy);
  pen.closePath();
}

/** Draw what would have been with a dashed outline, and fill it only faintly. */
function drawHypothetical(pen, mark) {
  pen.globalAlpha = 0.4;
  if (FILLED.has(plainMark(mark))) pen.fill();
  pen.globalAlpha = 1;
  pen.setLineDash([2, 1.5]);
  pen.stroke();
  pen.setLineDash([]);
}

/** A mark with its word, or nothing. */
export function markBadge(mark) {
  if (!mark) return null;
  const { sign, short, words } = meaningOf(mark);
  return h("span", { class: "badge", title: words }, `${sign} ${short}`);
}

/** A mark where there is no room for its word, which can still be heard. */
export function markSign(mark) {
  if (!mark) return null;
  const { sign, short, words } = meaningOf(mark);
  return h("span", { class: "badge", title: `${short}: ${words}` }, sign, h("span", { class: "unseen" }, ` ${short}`));
}

/** A category by its colour and its word. */
export function categoryBadge(category) {
  return h("span", { class: `category category-${category}` }, category);
}
