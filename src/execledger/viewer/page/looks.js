/** What was known from looks at the files when the model was called: a verdict for each range that results showed. */

import { visible } from "./ansi.js";
import { h } from "./dom.js";
import { plural } from "./format.js";

const RANKS = ["gone", "changed", "moved", "unknown", "same"]; // The first one that a file has counts for it.

/** The section of a step; null if there was no look. `link(step)` makes a link to another step. */
export function looksSection({ files, failed }, link) {
  if (failed) return h("p", { class: "looks hint" }, "The look before this call failed: nothing could be read.");
  if (files.length === 0) return null;
  const found = files.map(verdictOf);
  const counts = RANKS.map((verdict) => [verdict, found.filter((one) => one === verdict).length]);
  const words = counts.filter(([, many]) => many).map(([verdict, many]) => `${many} ${verdict}`);
  return h(
    "details",
    { class: "looks", open: found.some((verdict) => verdict !== "same") },
    h("summary", {}, `Looked at before this call: ${plural(files.length, "file")} (${words.join(", ")})`),
    h(
      "table",
      {},
      h("thead", {}, h("tr", {}, ["File", "Lines", "Shown by"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, files.flatMap((file) => file.results.map((result) => row(file, result, link)))),
    ),
  );
}

/** What became of a file's lines, in one word. */
function verdictOf(file) {
  const verdicts = new Set(file.results.flatMap((result) => result.lines.map((piece) => piece[2])));
  return RANKS.find((verdict) => verdicts.has(verdict)) ?? "same";
}

function row(file, result, link) {
  const unknown = result.lines.some((piece) => piece[2] === "unknown");
  return h(
    "tr",
    {},
    h("th", { scope: "row", title: visible(file.path) }, visible(file.name)),
    h(
      "td",
      {},
      result.lines.map((piece, place) => [
        place ? ", " : "",
        h("span", { class: `verdict ${piece[2]}` }, words(piece, result.not_by_agent)),
      ]),
      unknown && file.reason ? h("span", { class: "hint" }, `: ${visible(file.reason)}`) : null,
    ),
    h("td", {}, link(result.step)),
  );
}

/** Lines and their verdict in words. */
function words([first, last, verdict, place], notByAgent) {
  const moved = place === null ? "" : ` to ${range(place, place + last - first)}`;
  const other = notByAgent && (verdict === "changed" || verdict === "gone") ? " (not by the agent)" : "";
  return `${range(first, last)} ${verdict}${moved}${other}`;
}

function range(first, last) {
  return first === last ? `${first}` : `${first}–${last}`;
}
