/** The columns of the list of runs: what each shows, and how. */

import { visible } from "./ansi.js";
import { h } from "./dom.js";
import { count, dollars, moment, nameParts } from "./format.js";
import { LAST, runAddress } from "./router.js";

const SAVED = "what references kept out of the model's input, over all its calls: new once, then cached; estimated";
const VIEWS = "what state views took: never cached, and they keep what the model wrote out of the cache; estimated";
const NET = "what was saved less what views took, in dollars: cached and uncached tokens have their own price";
const LOOKS = "references after which the model requested the same content within three calls";
const COST = "what the run cost: as the agent recorded it, else its tokens at the table's prices";

/** The columns: the field that one is sorted by, its heading, its class, what it is, and what it says of a run. */
const COLUMNS = [
  column("name", "Run", "name", "the first line of its task, and where it was found", nameCell),
  column("agent", "Agent", "agent", "the agent", (run) => visible(run.agent)),
  column("model", "Model", "model", "the model", (run) => visible(run.model)),
  column("steps", "Steps", "number", "commands that were proposed"),
  column("reuses", "Reused before", "number", "reused before running: an earlier result still holds", done("reuses")),
  column("elided", "Reused after", "number", "reused after running: a reference is shown instead", done("elided")),
  column("partial", "Reused in part", "number spare", "references in place of some lines", done("partial")),
  column("second_looks", "Looked again", "number spare", LOOKS, looksCell),
  column("nudges", "Nudged", "number spare", "shown with a remark", done("nudges")),
  column("saved_cost", "Saved", "number parts", SAVED, money("saved_cost", savedTokens)),
  column("view_cost", "Views", "number parts", VIEWS, money("view_cost", viewTokens)),
  column("net_cost", "Net", "number", NET, money("net_cost")),
  column("run_cost", "Cost", "number spent", COST, costCell),
  column("faults", "Faults", "number faults", "faults of Ledger's own, all of them caught"),
  column("started", "Started", "started spare", "when it began, where that is recorded", (run) => moment(run.started)),
  column("ended", "Ended", "ended", "how it ended, in the agent's own word", endCell),
];

function column(field, title, kind, about, cell = (run) => count(run[field])) {
  return { field, title, kind, about, cell };
}

/** What Ledger did; in brackets where it only would have. */
function done(field) {
  return (run) => (run.hypothetical ? wouldBe(run, count(run[field])) : count(run[field]));
}

/** Second looks, of how many references. */
function looksCell(run) {
  if (!run.references) return "–";
  const looks = `${count(run.second_looks)} of ${count(run.references)}`;
  return run.hypothetical ? wouldBe(run, looks) : looks;
}

/** Dollars, with the tokens behind them and the prices that they are at; in shadow mode nothing is saved or spent. */
function money(field, tokens = () => "estimated") {
  return (run) => {
    const title = `${tokens(run)}; prices of ${run.prices}`;
    return run.replayed ? wouldBe(run, dollars(run[field]), title) : h("span", { title }, dollars(run[field]));
  };
}

/** A number of what would have been: in brackets, and with its reason. */
function wouldBe(run, value, ...rest) {
  const reason = run.shadow ? "in shadow mode nothing is changed" : "a replay decides";
  const title = [`would have been: ${reason}`, ...rest].join("; ");
  return h("span", { title }, `(${value})`, h("span", { class: "unseen" }, " would have been"));
}

/** That what Ledger decided in a run was not done, and why. */
function hypotheticalBadge(run) {
  const [word, title] = run.shadow ? ["shadow", "Ledger only watched"] : ["replay", "what Ledger would have done"];
  return h("span", { class: "hypothetical-badge", title }, word);
}

/** Tokens that references kept out, by the class that a provider charges for. */
export function savedTokens(run) {
  return `${count(run.saved_new_tokens)} new and ${count(run.saved_cached_tokens)} cached tokens, estimated`;
}

/** Tokens that state views took. */
export function viewTokens(run) {
  const moved = run.displaced_tokens ? `, ${count(run.displaced_tokens)} of which would have been cached` : "";
  return `${count(run.view_tokens)} uncached tokens${moved}, estimated`;
}

function nameCell(run) {
  const [folder, name] = nameParts(run.name).map(visible);
  const title = run.title ? h("span", { class: "run-title", title: visible(run.task) }, visible(run.title)) : null;
  const when = run.started === null ? null : h("span", { class: "run-when" }, `${moment(run.started)} `);
  return [
    h(
      "a",
      { href: runAddress(run.id, run.live ? LAST : null), class: title ? "run-link titled" : "run-link" },
      title ? [title, " "] : null,
      when,
      h("span", { class: "run-name", title: folder + name }, name),
    ),
    run.hypothetical ? hypotheticalBadge(run) : null,
    h("span", { class: "folder" }, ` ${folder}`),
  ];
}

function costCell(run) {
  const { input_tokens: input, cached_tokens: cached, output_tokens: output, cost, run_cost: whole } = run;
  if (whole === null) return "–";
  const words = [
    input === null ? null : `tokens: input ${count(input)}${cached === null ? "" : `, ${count(cached)} of it cached`}`,
    output === null ? null : `output ${count(output)}`,
    cost === null ? `prices of ${run.prices}` : "as the agent recorded it",
  ];
  return h("span", { title: words.filter(Boolean).join("; ") }, dollars(whole));
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

/** The headings, of which each sorts by its column; `ask(change)` is called with what is chosen. */
export function headingCells({ sort, desc }, ask) {
  return COLUMNS.map(({ field, title, kind, about }) => {
    const sorted = field === sort ? (desc ? "descending" : "ascending") : null;
    const turn = { sort: field, desc: (field === sort ? !desc : kind.startsWith("number")) ? "1" : "" };
    const sign = sorted ? (desc ? " ↓" : " ↑") : "";
    const button = h("button", { type: "button", title: about, onclick: () => ask(turn) }, title, sign);
    return h("div", { class: `cell ${kind}`, role: "columnheader", "aria-sort": sorted ?? "none" }, button);
  });
}
