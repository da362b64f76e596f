/** The columns of the list of runs: what each shows, and how. */

import { visible } from "./ansi.js";
import { h } from "./dom.js";
import { bytes, count, nameParts, taskLine } from "./format.js";
import { LAST, runAddress } from "./router.js";

const SAVED = "what references kept out of the model's input, over all its calls";

/** The columns: the field that one is sorted by, its heading, its class, what it is, and what it says of a run. */
export const COLUMNS = [
  column("name", "Run", "name", "where it was found, and how its task begins", nameCell),
  column("agent", "Agent", "agent", "the agent", (run) => visible(run.agent)),
  column("model", "Model", "model", "the model", (run) => visible(run.model)),
  column("steps", "Steps", "number", "commands that were proposed"),
  column("reuses", "Reused", "number", "not run: an earlier result still holds"),
  column("elided", "Elided", "number", "run, with a reference in place of the output"),
  column("nudges", "Nudged", "number", "shown with a remark"),
  column("saved_bytes", "Saved", "number", SAVED, (run) => bytes(run.saved_bytes)),
  column("view_bytes", "Views", "number spare", "bytes of state views", (run) => bytes(run.view_bytes)),
  column("input_tokens", "Input tokens", "number spare", "as the provider counted them"),
  column("faults", "Faults", "number", "faults of Ledger's own, all of them caught"),
  column("ended", "Ended", "ended spare", "how it ended, in the agent's own word", endCell),
];

function column(field, title, kind, about, cell = (run) => count(run[field])) {
  return { field, title, kind, about, cell };
}

function nameCell(run) {
  const [folder, name] = nameParts(run.name).map(visible);
  return [
    h("a", { href: runAddress(run.id, run.live ? LAST : null), class: "run-name", title: folder + name }, name),
    h("span", { class: "folder" }, ` ${folder}`),
    h("span", { class: "run-task" }, visible(taskLine(run.task))),
  ];
}

function endCell(run) {
  return run.live ? h("span", { class: "live-badge" }, "live") : visible(run.ended);
}

/** The cells of one run; one that is not counted yet has a name and nothing else. */
export function runCells(run) {
  return COLUMNS.map(({ field, kind, cell }) => {
    const known = !run.pending || field === "name";
    const value = known ? cell(run) : "…";
    return h("div", { class: `cell ${kind}${run[field] === 0 ? " zero" : ""}`, role: "cell" }, value);
  });
}
