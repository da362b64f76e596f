/** Which runs of the list are asked for: what the server does to the list, for a page without one. */

/** The fields of which one value can be chosen. */
export const CHOICES = ["agent", "model", "task"];

/** The part of all runs that `query` asks for, sorted as it says, and how many there are. */
export function chosenRuns(runs, query) {
  const { sort = "", desc = "", offset = 0, limit = runs.length } = query;
  const found = runs.filter((run) => takes(query, run));
  if (sort) found.sort((a, b) => order(a[sort], b[sort]) * (desc ? -1 : 1));
  return { runs: found.slice(Number(offset), Number(offset) + Number(limit)), total: found.length };
}

function takes(query, run) {
  if (query.faults && !run.faults) return false;
  if (CHOICES.some((name) => query[name] && run[name] !== query[name])) return false;
  const words = (query.q ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const text = `${run.name} ${run.agent} ${run.model} ${run.task}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

function order(a, b) {
  if (typeof a === "string") return a.localeCompare(b);
  return (a ?? -1) - (b ?? -1);
}
