/** The columns of the list of runs: what each shows, and how. */

import { visible } from "./ansi.js";
import { h } from "./dom.js";
import { about, byClass, count, dollars, moment, nameParts, signedCount } from "./format.js";
import { costBasis, estimatedCost, tablePrices } from "./prices.js";
import { LAST, runAddress } from "./router.js";

const SAVED = "what references kept out of the model's input, over its calls: first not cached, then cached; estimated";
const SPENT =
  "what state views and remarks took: views are not cached, and keep what the model wrote out of the cache; estimated";
const NET = "what was saved less what was spent, in dollars: each class of tokens has its own price";
const LOOKS = "references after which the model requested the same content within three calls";
const COST =
  "what the run cost: as the agent recorded it, else its tokens at table prices; ~: estimated tokens or assumed prices";
const TOOK_PART = [
  "with Ledger, replayed",
  "Ledger took part in this run, and its tokens are those after its edits; decisions are those of a replay",
];

/** The columns: the field that one is sorted by, its heading, its class, what it is, and what it says of a run. */
const COLUMNS = [
  column("name", "Run", "name", "the first line of its task, and where it was found", nameCell),
  column("agent", "Agent", "agent", "the agent", (run) => named(run.agent)),
  column("model", "Model", "model", "the model", (run) => named(run.model)),
  column("steps", "Steps", "number", "commands that were proposed"),
  column("reuses", "Reused before", "number", "reused before running: an earlier result still holds", done("reuses")),
  column("elided", "Reused after", "number", "reused after running: a reference is shown instead", done("elided")),
  column("partial", "Reused in part", "number some", "references in place of some lines", done("partial")),
  column("second_looks", "Looked again", "number spare", LOOKS, looksCell),
  column("nudges", "Nudged", "number spare", "shown with a remark", done("nudges")),
  column("saved_cost", "Saved", "number parts", SAVED, money("saved_cost", savedTokens)),
  column("spent_cost", "Spent", "number parts", SPENT, money("spent_cost", spentTokens)),
  column("net_cost", "Net", "number", NET, money("net_cost", netTokens)),
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
function money(field, tokens) {
  return (run) => {
    const title = `${tokens(run)}; ${tablePrices(run)}`;
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
  const replay = run.took_part ? TOOK_PART : ["replay", "what Ledger would have done"];
  const [word, title] = run.shadow ? ["shadow", "Ledger only watched"] : replay;
  return h("span", { class: "hypothetical-badge", title }, word);
}

/** Tokens that references kept out, by the class that a provider charges for. */
export function savedTokens(run) {
  const { saved_uncached_tokens: uncached, saved_written_tokens: written, saved_cached_tokens: cached } = run;
  return `${byClass({ uncached, written, cached })} tokens, estimated`;
}

/** Tokens that state views took. */
export function viewTokens(run) {
  const moved = run.displaced_tokens ? `, ${count(run.displaced_tokens)} of which would have been cached` : "";
  return `${count(run.view_tokens)} uncached tokens${moved}, estimated`;
}

/** Tokens that remarks took, by class. */
export function remarkTokens(run) {
  const { remark_uncached_tokens: uncached, remark_written_tokens: written, remark_cached_tokens: cached } = run;
  return `${byClass({ uncached, written, cached })} tokens, estimated`;
}

/** Tokens that state views took, and those that remarks took, if there were any. */
export function spentTokens(run) {
  return run.remark_cost ? `views: ${viewTokens(run)}; remarks: ${remarkTokens(run)}` : `views: ${viewTokens(run)}`;
}

/** Tokens that references kept out less those that state views and remarks took, by class. */
export function netTokens(run) {
  const { net_uncached_tokens: uncached, net_written_tokens: written, net_cached_tokens: cached } = run;
  return `${byClass({ uncached, written, cached }, signedCount)} tokens, estimated`;
}

/** A name that may be too long for its cell. */
function named(name) {
  return h("span", { title: visible(name) }, visible(name));
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
      run.hypothetical ? [hypotheticalBadge(run), " "] : null,
      when,
      h("span", { class: "run-name", title: folder + name }, name),
    ),
    h("span", { class: "folder" }, ` ${folder}`),
  ];
}

function costCell(run) {
  const { input_tokens: input, output_tokens: output, estimated, run_cost: whole } = run;
  const { uncached_tokens: uncached, written_tokens: written, cached_tokens: cached } = run;
  if (whole === null) return "–";
  const apart = cached === null && written === null ? "" : `, of which ${byClass({ uncached, written, cached })}`;
  const words = [
    input === null ? null : `${estimated ? "estimated tokens" : "tokens"}: input ${count(input)}${apart}`,
    output === null ? null : `output ${count(output)}`,
    costBasis(run),
  ];
  return h("span", { title: words.filter(Boolean).join("; ") }, about(dollars(whole), estimatedCost(run)));
}

function endCell(run) {
  return run.live ? h("span", { class: "live-badge" }, "live") : visible(run.ended);
}

/** The cells of one run; one that is not counted yet has a name and nothing else. */
export function runCells(run) {
  return COLUMNS.map(({ field, kind, cell }) => {
    const known = !run.pending || field === "name";
    const value = known ? cell(run) : "…";
    const zero = run[field] === 0 ? " zero" : "";
    return h("div", { class: `cell ${kind}${zero}`, role: "cell", "data-column": measured(field) }, value);
  });
}

/** The headings, of which each sorts by its column; `ask(change)` is called with what is chosen. */
export function headingCells({ sort, desc }, ask) {
  return COLUMNS.map(({ field, title, kind, about }) => {
    const sorted = field === sort ? (desc ? "descending" : "ascending") : null;
    const turn = { sort: field, desc: (field === sort ? !desc : kind.startsWith("number")) ? "1" : "" };
    const sign = sorted ? (desc ? " ↓" : " ↑") : "";
    const [first, rest] = title.split(/ (.*)/); // Two lines at most, since the heading is no higher.
    const words = rest ? [`${first} `, h("span", { class: "together" }, rest, sign)] : [title, sign];
    const button = h("button", { type: "button", title: about, onclick: () => ask(turn) }, words);
    const attributes = { role: "columnheader", "aria-sort": sorted ?? "none", "data-column": measured(field) };
    return h("div", { class: `cell ${kind}`, ...attributes }, button);
  });
}

/** The name of a column whose width is measured; null for that of the title, which takes what is left. */
function measured(field) {
  return field === "name" ? null : field.replace("_", "-");
}
