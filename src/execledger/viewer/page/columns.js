/** The columns of the list of runs: what each shows, and how. */

import { visible } from "./ansi.js";
import { h } from "./dom.js";
import { bytes, count, nameParts, taskLine } from "./format.js";
import { LAST, runAddress } from "./router.js";

/** A column: the field that it is sorted by, its heading, its class, what it says, and a word on what that is. */
export const COLUMNS = [
  { field: "name", title: "Run", kind: "name", cell: nameCell, about: "where it was found, and how its task begins" },
  { field: "agent", title: "Agent", kind: "agent", cell: (run) => visible(run.agent), about: "the agent" },
  { field: "model", title: "Model", kind: "model", cell: (run) => visible(run.model), about: "the model" },
  {
    field: "steps",
    title: "Steps",
    kind: "number",
    cell: (run) => count(run.steps),
    about: "commands that were proposed",
  },
  {
    field: "reuses",
    title: "Reused",
    kind: "number",
    cell: (run) => count(run.reuses),
    about: "not run: an earlier result still holds",
  },
  {
    field: "elided",
    title: "Elided",
    kind: "number",
    cell: (run) => count(run.elided),
    about: "run, with a reference in place of the output",
  },
  { field: "nudges", title: "Nudged", kind: "number", cell: (run) => count(run.nudges), about: "shown with a remark" },
  {
    field: "saved_bytes",
    title: "Saved",
    kind: "number",
    cell: (run) => bytes(run.saved_bytes),
    about: "what references kept out of the model's input, over all its calls",
  },
  {
    field: "view_bytes",
    title: "Views",
    kind: "number spare",
    cell: (run) => bytes(run.view_bytes),
    about: "what state views added to the model's input",
  },
  {
    field: "input_tokens",
    title: "Input tokens",
    kind: "number wide spare",
    cell: (run) => count(run.input_tokens),
    about: "as the provider counted them",
  },
  {
    field: "faults",
    title: "Faults",
    kind: "number",
    cell: (run) => count(run.faults),
    about: "faults of Ledger's own, all of them caught",
  },
  {
    field: "ended",
    title: "Ended",
    kind: "ended spare",
    cell: endCell,
    about: "how it ended, in the agent's own word",
  },
];

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
