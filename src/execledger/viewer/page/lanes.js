/** Where the steps of a run stand on its timeline: one lane per category, one cell per step. Pure arithmetic. */

/** The categories, in the order of their lanes. */
export const CATEGORIES = ["inspect", "search", "test", "modify", "setup", "other", "submit"];

/** What Ledger did with a step: the mark, and what it stands for. */
export const MARKS = {
  reuse: {
    sign: "◆",
    short: "reused before running",
    words: "not executed: an earlier result still holds, and a reference to it is the answer",
  },
  reference: {
    sign: "◇",
    short: "reused after running",
    words: "run, with a reference in place of an output that already stands there",
  },
  partial: {
    sign: "◈",
    short: "reused in part",
    words: "run, with references in place of lines that already stand there; the rest is shown",
  },
  remark: { sign: "▲", short: "nudged", words: "run, and shown with a remark" },
  nudge: { sign: "△", short: "withheld", words: "a nudge was ready, and its result was a new one" },
};

/** What Ledger would have done: in a replay, and in shadow mode. */
export const WOULD_MARKS = {
  "would-reuse": {
    sign: "(◆)",
    short: "would be reused before running",
    words: "an earlier result still holds, and a reference to it would have been the answer",
  },
  "would-reference": {
    sign: "(◇)",
    short: "would be reused after running",
    words: "a reference would have stood in place of its output",
  },
  "would-partial": {
    sign: "(◈)",
    short: "would be reused in part",
    words: "references would have stood in place of some of its lines",
  },
  "would-remark": { sign: "(▲)", short: "would be nudged", words: "a remark would have been added to its output" },
  "would-nudge": {
    sign: "(△)",
    short: "would be withheld",
    words: "a nudge would have been ready, and its result was a new one",
  },
};

const STRENGTH = { "": 0, nudge: 1, partial: 2, reference: 3, remark: 4, reuse: 5 };
const NARROWEST = 11; // Pixels of a cell that one can still hit.
const WIDEST = 72;

/** A mark without the word that it would only have been made. */
export function plainMark(mark) {
  return mark.replace(/^would-/, "");
}

/** Whether a mark is of what Ledger only would have done. */
export function isHypothetical(mark) {
  return mark !== plainMark(mark);
}

/** What a mark stands for. */
export function meaningOf(mark) {
  return MARKS[mark] ?? WOULD_MARKS[mark] ?? { sign: "?", short: mark, words: mark };
}

/** The part of the run that is in sight, with `selected` near its middle: the width of a cell, first and last step. */
export function inSight(count, selected, width) {
  const cell = Math.max(NARROWEST, Math.min(WIDEST, width / Math.max(count, 1)));
  const room = Math.max(1, Math.floor(width / cell));
  if (count <= room) return { cell, first: 0, last: count - 1 };
  const first = Math.min(Math.max(0, selected - (room >> 1)), count - room);
  return { cell, first, last: first + room - 1 };
}

/** The step at a distance from the left edge. */
export function stepAt({ cell, first, last }, x) {
  return Math.max(first, Math.min(last, first + Math.floor(x / cell)));
}

/** The whole run in `width` columns: for each its most frequent category and its strongest mark. */
export function overview(steps, width) {
  const count = steps.category.length;
  return Array.from({ length: width }, (_, column) => {
    const first = Math.floor((column * count) / width);
    const last = Math.max(first + 1, Math.floor(((column + 1) * count) / width));
    return { category: mostFrequent(steps.category.slice(first, last)), mark: strongest(steps, first, last) };
  });
}

function mostFrequent(names) {
  const counts = new Map();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].reduce((best, entry) => (entry[1] > best[1] ? entry : best), ["other", 0])[0];
}

function strongest(steps, first, last) {
  let best = "";
  for (let step = first; step < last; step += 1) {
    const mark = steps.mark[step];
    if (STRENGTH[plainMark(mark)] > STRENGTH[plainMark(best)]) best = mark;
  }
  return best;
}

/** Steps between two numbers on the axis, so that the numbers do not touch. */
export function tickDistance(cell) {
  return [1, 2, 5, 10, 20, 50].find((distance) => distance * cell >= 30) ?? 100;
}

/** One step in a few words. */
export function inBrief(steps, step) {
  const mark = steps.mark[step];
  return `Step ${step}: ${steps.category[step]}${mark ? `, ${meaningOf(mark).words}` : ""}: ${steps.label[step]}`;
}
