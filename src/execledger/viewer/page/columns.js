/** The columns of the list of runs: what each shows, and how. */

import { visible } from "./ansi.js";
import { h } from "./dom.js";
import { count, nameParts, shortCount } from "./format.js";
import { LAST, runAddress } from "./router.js";

const SAVED = "tokens that references kept out of the model's input, over all its calls; estimated from bytes";
const VIEWS = "tokens of state views in the model's input; estimated from bytes";
const SPENT = "tokens of input and output, as the provider counted them";

/** The columns: the field that one is sorted by, its heading, its class, what it is, and what it says of a run. */
export const COLUMNS = [
  column("name", "Run", "name", "where it was found, and its task", nameCell),
  column("agent", "Agent", "agent", "the agent", (run) => visible(run.agent)),
  column("model", "Model", "model", "the model", (run) => visible(run.model)),
  column("steps", "Steps", "number", "commands that were proposed"),
  column("reuses", "Reused before", "number", "reused before running: an earlier result still holds", done("reuses")),
  column("elided", "Reused after", "number", "reused after running: a reference is shown instead", done("elided")),
  column("nudges", "Nudged", "number", "shown with a remark", done("nudges")),
  column("saved_tokens", "Saved", "number", SAVED, (run) => shortCount(run.saved_tokens)),
  column("view_tokens", "Views", "number spare", VIEWS, (run) => shortCount(run.view_tokens)),
  column("spent_tokens", "Spent", "number spent", SPENT, spentCell),
  column("faults", "Faults", "number faults", "faults of Ledger's own, all of them caught"),
  column("ended", "Ended", "ended spare", "how it ended, in the agent's own word", endCell),
];

function column(field, title, kind, about, cell = (run) => count(run[field])) {
  return { field, title, kind, about, cell };
}

/** What Ledger did; in brackets where it only would have. */
function done(field) {
  return (run) => {
    if (!run.shadow) return count(run[field]);
    const words = h("span", { class: "unseen" }, " would have been");
    return h("span", { title: "would have been: in shadow mode nothing is changed" }, `(${count(run[field])})`, words);
  };
}

function nameCell(run) {
  const [folder, name] = nameParts(run.name).map(visible);
  return [
    h("a", { href: runAddress(run.id, run.live ? LAST : null), class: "run-name", title: folder + name }, name),
    run.shadow ? h("span", { class: "shadow-badge", title: "Ledger only watched" }, "shadow") : null,
    h("span", { class: "folder" }, ` ${folder}`),
    h("span", { class: "run-task" }, visible(run.task)),
  ];
}

function spentCell(run) {
  const { input_tokens: input, cached_tokens: cached, output_tokens: output, cost, spent_tokens: spent } = run;
  if (spent === null) return "–";
  const words = [
    `input ${count(input)}${cached === null ? "" : `, ${count(cached)} of it cached`}`,
    output === null ? null : `output ${count(output)}`,
    cost === null ? null : `$${cost.toFixed(2)}`,
  ];
  return h("span", { title: words.filter(Boolean).join("; ") }, shortCount(spent));
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
