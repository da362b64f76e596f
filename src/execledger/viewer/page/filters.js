/** Which runs of the list are asked for: what the server does to the list, for a page without one. */

/** The fields of which one value can be chosen. */
export const CHOICES = ["agent", "model", "task"];

/** The part of all runs that `query` asks for, sorted as it says, how many there are, and their totals of `added`. */
export function chosenRuns(runs, query, added) {
  const { sort = "", desc = "", offset = 0, limit = runs.length } = query;
  const found = runs.filter((run) => takes(query, run));
  if (sort) found.sort((a, b) => order(a[sort], b[sort]) * (desc ? -1 : 1));
  const part = found.slice(Number(offset), Number(offset) + Number(limit));
  return { runs: part, total: found.length, totals: totals(found, added) };
}

const KINDS = [
  { replayed: false, took_part: false },
  { replayed: true, took_part: true },
  { replayed: true, took_part: false },
];

/** Runs of each kind added up: journals, replayed runs that Ledger took part in, and other replayed runs. */
function totals(runs, added) {
  const isOf = (kind) => (run) => run.replayed === kind.replayed && run.took_part === kind.took_part;
  const kinds = KINDS.map((kind) => [kind, runs.filter(isOf(kind))]);
  return kinds.filter(([, ofKind]) => ofKind.length).map(([kind, ofKind]) => total(kind, ofKind, added));
}

function total(kind, runs, added) {
  const values = added.map((name) => [name, runs.map((run) => run[name]).filter((value) => value !== null)]);
  const sum = (known) => (known.length ? known.reduce((one, other) => one + other, 0) : null);
  return {
    ...kind,
    runs: runs.length,
    sums: Object.fromEntries(values.map(([name, known]) => [name, sum(known)])),
    known: Object.fromEntries(values.map(([name, known]) => [name, known.length])),
  };
}

function takes(query, run) {
  if (query.faults && !run.faults) return false;
  if (CHOICES.some((name) => query[name] && run[name] !== query[name])) return false;
  const words = (query.q ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const text = `${run.name} ${run.agent} ${run.model} ${run.title} ${run.task}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

function order(a, b) {
  if (typeof a === "string") return a.localeCompare(b);
  return (a ?? -1) - (b ?? -1);
}
