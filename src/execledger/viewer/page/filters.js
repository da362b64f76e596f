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

const SHADOW = { shadow: true, replayed: false, took_part: false };
const KINDS = [
  { shadow: false, replayed: false, took_part: false },
  SHADOW,
  { shadow: false, replayed: true, took_part: true },
  { shadow: false, replayed: true, took_part: false },
];

/** Runs of each kind added up: journals, runs in shadow mode, replayed runs that Ledger took part in, other replays. */
function totals(runs, added) {
  const kindOf = ({ shadow, replayed, took_part }) =>
    shadow ? SHADOW : KINDS.find((kind) => !kind.shadow && kind.replayed === replayed && kind.took_part === took_part);
  const isOf = (kind) => (run) => kindOf(run) === kind;
  const kinds = KINDS.map((kind) => [kind, runs.filter(isOf(kind))]);
  return kinds.filter(([, ofKind]) => ofKind.length).map(([kind, ofKind]) => total(kind, ofKind, added));
}

function total(kind, runs, added) {
  const knowing = (name) => runs.filter((run) => run[name] !== null);
  const estimated = runs.filter((run) => run.estimated);
  const byTable = knowing("run_cost").filter((run) => run.cost === null);
  return {
    ...kind,
    runs: runs.length,
    sums: sums(runs, added),
    known: Object.fromEntries(added.map((name) => [name, knowing(name).length])),
    estimated: {
      uncached_tokens: estimated.length,
      run_cost: byTable.filter((run) => run.estimated || run.assumed_price).length,
    },
    beside: Object.fromEntries(["uncached_tokens", "run_cost"].map((name) => [name, sums(knowing(name), added)])),
    prices: {
      date: runs[0].price_date,
      models: [...new Set(runs.map((run) => run.priced_as))].sort(),
      assumed: runs.filter((run) => run.assumed_price).length,
      recorded: runs.filter((run) => run.cost !== null).length,
      assumed_costs: byTable.filter((run) => run.assumed_price).length,
    },
  };
}

/** By field, the sum over the runs that know it; null if none does. */
function sums(runs, added) {
  const values = added.map((name) => [name, runs.map((run) => run[name]).filter((value) => value !== null)]);
  const sum = (known) => (known.length ? known.reduce((one, other) => one + other, 0) : null);
  return Object.fromEntries(values.map(([name, known]) => [name, sum(known)]));
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
