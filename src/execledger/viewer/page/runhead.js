/** What a run is and what it came to, in a few lines above it. */

import { visible } from "./ansi.js";
import { netTokens, remarkTokens, savedTokens, viewTokens } from "./columns.js";
import { h } from "./dom.js";
import { about, count, dollars, moment, nameParts, plural } from "./format.js";
import { costBasis, estimatedCost, tablePrices } from "./prices.js";

const TOOK_PART =
  "Ledger took part in this run, and its tokens are those after Ledger's edits. " +
  "Decisions are those of a replay; what was decided is in its journal.";

/** The elements of the head. */
export function runHead({ line, task, trouble }) {
  const [, name] = nameParts(line.name);
  return [
    h("h1", { title: visible(line.name) }, visible(line.title || name)),
    line.title ? h("span", { class: "hint run-name", title: visible(line.name) }, visible(name)) : null,
    line.live && !line.replayed ? h("span", { class: "live-badge" }, "live") : null,
    line.shadow ? h("span", { class: "hypothetical-badge" }, "shadow") : null,
    h("span", { class: "hint" }, aboutRun(line)),
    h(
      "ul",
      { class: "facts" },
      facts(line).map(([value, word]) => h("li", {}, h("b", {}, visible(value)), word)),
    ),
    h(
      "details",
      { class: "task" },
      h("summary", {}, h("span", {}, visible(line.task) || "No task is known.")),
      h("pre", {}, visible(task)),
    ),
    trouble.length ? h("p", { class: "notice" }, trouble.map(visible).join("; ")) : null,
  ];
}

/** What one sees here, in a sentence. */
function aboutRun(line) {
  const kept = line.replayed ? "" : " Its journal does not hold what the model wrote.";
  if (line.shadow)
    return `In shadow mode: everything ran and was shown; what Ledger would have done is marked.${kept}`;
  if (!line.replayed) return `What Ledger did in this run.${kept}`;
  return line.took_part ? TOOK_PART : "A replay: what Ledger would have done.";
}

/** What references saved, what remarks and views took, and the difference; of a replay, as what would have been.
 *
 * `prices` says what the dollars rest on; without `tokens` those behind the dollars are left out. */
export function moneyFacts(line, prices, { tokens = true } = {}) {
  const aside = (words) => (tokens ? ` (${words})` : "");
  const verb = line.replayed ? "would have been " : "";
  return [
    [dollars(line.saved_cost), ` ${verb}saved by references${aside(savedTokens(line))}`],
    ...(line.remark_cost ? [[dollars(line.remark_cost), ` ${verb}spent on remarks${aside(remarkTokens(line))}`]] : []),
    [dollars(line.view_cost), ` ${verb}spent on state views${aside(viewTokens(line))}`],
    [dollars(line.net_cost), ` net${aside(netTokens(line))}, ${prices}`],
  ];
}

/** What the run cost. */
function inAll(line) {
  const estimated = estimatedCost(line);
  const tokens = line.estimated && line.cost === null ? ", by estimated tokens" : "";
  return [about(dollars(line.run_cost), estimated), ` in all, ${visible(costBasis(line))}${tokens}`];
}

/** What is known in numbers: each with the word behind it. */
function facts(line) {
  const would = line.hypothetical ? " would be" : "";
  return [
    [line.agent || "unknown agent", ""],
    line.model && [line.model, ""],
    line.started !== null && [moment(line.started), ""],
    [plural(line.steps, "step"), ""],
    [count(line.reuses), `${would} reused before running`],
    [count(line.elided), `${would} reused after`],
    line.partial > 0 && [count(line.partial), `${would} reused in part`],
    [count(line.nudges), `${would} nudged`],
    ...(line.shadow ? [] : moneyFacts(line, visible(tablePrices(line)))),
    line.run_cost !== null && inAll(line),
    line.faults > 0 && [plural(line.faults, "fault"), ""],
  ].filter(Boolean);
}
