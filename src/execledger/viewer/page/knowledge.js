/**
 * What the agent knows of a file at any step: which of its lines it has seen, and whether that still holds.
 *
 * A file's track is a list of events in order: `[step, "seen", [[first, last], …]]`, `[step, "changed", symbols]`,
 * `[step, "suspect"]`, `[step, "untold"]`, `[step, "looked", spans]` for what a look found before the step,
 * `[step, "unlooked"]` where that does not count any more, and `[step, "apart", …]` for lines whose numbers nobody
 * knows.
 * The knowledge after some of them is a list of spans `[first, last, state, step]`, ascending and without overlap;
 * what lies between them was never seen. `step` is the step that showed the lines.
 */

/** The states of a line, as the state view calls them. */
export const CURRENT = "current";
export const SUSPECT = "possibly stale";
export const STALE = "stale";
export const UNTOLD = "no claim";
export const MOVED = "moved";
export const CHANGED = "changed";
export const GONE = "gone";
export const NEVER = "never seen";

const STRIDE = 32; // Events between two spans lists that are kept, so that any step is near one.
const LOOK_BACK = 256; // Events that are searched for names of symbols.

/** Before any event: no line was seen, and no look was taken. */
const NOTHING = { spans: [], found: [] };

/** The knowledge after one more event: spans by what ran, and what a look found, until something may have written. */
function afterEvent({ spans, found }, event) {
  const kind = event[1];
  if (kind === "looked") return { spans, found: event[2] };
  if (kind === "unlooked") return { spans, found: [] };
  return { spans: afterStep(spans, event), found: kind === "changed" || kind === "suspect" ? [] : found };
}

/** The spans after an event that is no look. */
function afterStep(spans, [step, kind, detail]) {
  if (kind === "seen")
    return detail.reduce((known, [first, last]) => withSpan(known, [first, last, CURRENT, step]), spans);
  if (kind === "changed") return spans.map(([first, last, , shown]) => [first, last, STALE, shown]);
  if (kind === "suspect") return turned(spans, [CURRENT, UNTOLD], SUSPECT);
  return kind === "untold" ? turned(spans, [CURRENT], UNTOLD) : spans;
}

/** `spans` with the state by which a look found them, where it did. */
function lookedUp(spans, found) {
  if (found.length === 0) return spans;
  return spans.flatMap(([first, last, state, step]) => {
    const parts = [];
    let next = first;
    for (const [from, to, verdict, shown] of found) {
      const [begin, end] = [Math.max(first, from), Math.min(last, to)];
      if (shown !== step || begin > end) continue;
      if (next < begin) parts.push([next, begin - 1, state, step]);
      parts.push([begin, end, verdict, step]);
      next = end + 1;
    }
    return next <= last ? [...parts, [next, last, state, step]] : parts;
  });
}

/** `spans` with those in some states in another one. */
function turned(spans, states, state) {
  return spans.map((span) => (states.includes(span[2]) ? [span[0], span[1], state, span[3]] : span));
}

/** `spans` with one more, which hides what it covers of the others. */
function withSpan(spans, added) {
  const [first, last] = added;
  const below = spans.filter((span) => span[0] < first).map(([a, b, ...rest]) => [a, Math.min(b, first - 1), ...rest]);
  const above = spans.filter((span) => span[1] > last).map(([a, b, ...rest]) => [Math.max(a, last + 1), b, ...rest]);
  return [...below, added, ...above];
}

/** How many of the events, which are in order, happened up to and with `step`. */
export function eventsUpTo(events, step) {
  let low = 0;
  let high = events.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (events[middle][0] <= step) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The knowledge of one file over time, at a cost that does not grow with the number of its events. */
export class Knowledge {
  constructor(track) {
    this.track = track;
    this.kept = [NOTHING]; // The knowledge after 0, STRIDE, 2 × STRIDE… events; events are only ever appended.
  }

  /** The spans after `step`. */
  at(step) {
    const { events } = this.track;
    const upTo = eventsUpTo(events, step);
    while (this.kept.length * STRIDE <= upTo) {
      const from = (this.kept.length - 1) * STRIDE;
      this.kept.push(events.slice(from, from + STRIDE).reduce(afterEvent, this.kept.at(-1)));
    }
    const nearest = Math.floor(upTo / STRIDE);
    const { spans, found } = events.slice(nearest * STRIDE, upTo).reduce(afterEvent, this.kept[nearest]);
    return lookedUp(spans, found);
  }

  /** The step that touched the file first. */
  get begins() {
    return this.track.events[0][0];
  }

  /** What happened to the file at this very step: a set of the kinds of events. */
  happened(step) {
    const { events } = this.track;
    return new Set(events.slice(eventsUpTo(events, step - 1), eventsUpTo(events, step)).map((event) => event[1]));
  }

  /** Whether the file looks another way after one step than after the other. */
  differs(one, other) {
    const { events } = this.track;
    return (
      eventsUpTo(events, one) !== eventsUpTo(events, other) ||
      this.happened(one).size > 0 ||
      this.happened(other).size > 0
    );
  }

  /** The step that showed lines from the file's end last, if nobody knows their numbers, and how many; else null. */
  apart(step) {
    const { events } = this.track;
    const upTo = eventsUpTo(events, step);
    const lately = events.slice(Math.max(0, upTo - LOOK_BACK), upTo).reverse();
    const found = lately.find((event) => event[1] === "apart" || event[1] === "changed");
    if (found?.[1] !== "apart") return null;
    return { step: found[0], lines: found[2].reduce((sum, [first, last]) => sum + last - first + 1, 0) };
  }

  /** When the file was last written up to `step`, and the symbols named lately, newest first; null if it was not. */
  modified(step) {
    const { events } = this.track;
    const upTo = eventsUpTo(events, step);
    const changes = events
      .slice(Math.max(0, upTo - LOOK_BACK), upTo)
      .filter((event) => event[1] === "changed")
      .reverse();
    if (changes.length === 0) return null;
    return { step: changes[0][0], symbols: [...new Set(changes.flatMap((event) => [...event[2]].reverse()))] };
  }
}

/** How many lines are in each state. */
export function counted(spans, total) {
  const counts = Object.fromEntries([CURRENT, MOVED, CHANGED, GONE, SUSPECT, STALE, UNTOLD].map((state) => [state, 0]));
  counts[NEVER] = total;
  for (const [first, last, state] of spans) {
    counts[state] += last - first + 1;
    counts[NEVER] -= last - first + 1;
  }
  return counts;
}
