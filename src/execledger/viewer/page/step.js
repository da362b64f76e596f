/** One step: what was asked for, what Ledger decided and why, and what came back. */

import { visible } from "./ansi.js";
import { fill, h } from "./dom.js";
import { byClass, bytes, count, dollars, duration, moment } from "./format.js";
import { isHypothetical, meaningOf } from "./lanes.js";
import { looksSection } from "./looks.js";
import { categoryBadge, markBadge } from "./marks.js";
import { commandBlock, textBlock, wholeOutput } from "./output.js";
import { runAddress } from "./router.js";
import { wroteSection } from "./wrote.js";

const EFFECTS = { none: "changes nothing", listed: "changes files that it names", unknown: "may change anything" };

/** The panel of a step. */
export class StepPanel {
  constructor(source, id) {
    this.source = source;
    this.id = id;
    this.body = h("div", { class: "step-body" });
    this.element = h("section", { class: "panel step-panel scrolls", tabindex: "0", "aria-label": "Step" }, this.body);
  }

  /** Show a step, as the source tells it. */
  show(step, replayed) {
    this.element.setAttribute("aria-label", `Step ${step.index}`);
    const looked = looksSection(step.looks, (other) => this.links([other]));
    fill(this.body, this.heading(step), this.decision(step, replayed), looked, this.result(step, replayed));
    this.element.scrollTop = 0;
  }

  /** Say why there is no step. */
  fail(message) {
    fill(this.body, h("p", { class: "empty", role: "alert" }, message));
  }

  heading(step) {
    const facts = [
      EFFECTS[step.effects] ?? step.effects,
      step.cwd && `in ${visible(step.cwd)}`,
      `turn ${step.turn}`,
      step.thread && `thread ${visible(step.thread)}`,
      ...timeFacts(step),
      ...callFacts(step.call),
    ];
    return h(
      "section",
      { class: "asked" },
      h("header", {}, h("h2", {}, `Step ${step.index}`), categoryBadge(step.category), this.facts(facts)),
      wroteSection(step),
      commandBlock(step.command),
    );
  }

  facts(facts) {
    const known = facts.filter(Boolean).map((fact) => h("li", {}, fact));
    return known.length ? h("ul", { class: "facts" }, known) : null;
  }

  decision(step, replayed) {
    const { kind, rule, proof, refers_to: refersTo } = step.decision;
    const { mark } = step;
    const rows = [
      ["Rule", [h("code", {}, rule)]],
      [
        "Proof",
        proof.length
          ? [
              h(
                "ul",
                {},
                proof.map((fact) => h("li", {}, visible(fact))),
              ),
            ]
          : null,
      ],
      ["Refers to", refersTo.length ? this.links(refersTo) : null],
      ["Compared", step.comparison ? [step.comparison, ...this.comparedTo(step)] : null],
    ];
    return h(
      "section",
      { class: `decision${mark ? " acted" : ""}`, "aria-label": "Decision" },
      h(
        "header",
        {},
        h("h3", {}, kind !== "allow" && isHypothetical(mark) ? `would ${kind}` : kind),
        markBadge(mark),
        replayed ? h("span", { class: "hint" }, "as a replay decides") : null,
      ),
      h("p", { class: "words" }, visible(step.words)),
      h(
        "dl",
        {},
        rows.filter(([, value]) => value).flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
      ),
    );
  }

  comparedTo(step) {
    return step.compared_to.length ? [": ", ...this.links(step.compared_to)] : [];
  }

  /** Links to other steps of this run. */
  links(steps) {
    return steps.flatMap((step, place) => [
      place ? ", " : "",
      h("a", { href: runAddress(this.id, step) }, `step ${step}`),
    ]);
  }

  result(step, replayed) {
    const { output, shown } = step;
    const was = replayed ? "would have been" : "was";
    const instead = shown.kind === "reference" ? this.said(`In its place the model ${was} shown`, shown.text) : null;
    const remark = shown.kind === "remark" ? this.said(`With this remark it ${was} shown`, shown.text) : null;
    const omitted = shown.kind === "partial" ? this.omitted(shown, replayed) : null;
    return [instead, omitted, this.output(step, replayed), this.stderr(output), remark].filter(Boolean);
  }

  /** Which lines of the file were left out of the output, and where each run of them was shown. */
  omitted({ omitted }, replayed) {
    const runs = omitted.map(([first, last, step]) =>
      h("li", {}, first === last ? `line ${first}` : `lines ${first}-${last}`, ", as shown by ", ...this.links([step])),
    );
    const title = `${replayed ? "Would have been omitted" : "Omitted"}, with a reference in place of each`;
    return h("section", { class: "said" }, h("h3", {}, title), h("ul", {}, runs));
  }

  said(title, text) {
    return h("section", { class: "said" }, h("h3", {}, title), textBlock(text, { label: title }));
  }

  output(step, replayed) {
    const { output, shown } = step;
    const title = outputTitle(step, replayed);
    const facts = [
      output.exit_status === null || output.exit_status === undefined ? null : `exit status ${output.exit_status}`,
      output.timed_out && "stopped by a time limit",
      output.known || output.bytes ? bytes(output.bytes) : null,
    ];
    const more = output.cut ? wholeOutput(this.source.outputAddress(this.id, step.index), output.bytes) : null;
    const text =
      output.text === ""
        ? h("p", { class: "empty" }, withoutText(output))
        : textBlock(output.text, { label: title, gap: output.cut ? output.head : null, more });
    return h(
      "section",
      { class: shown.kind === "reference" ? "output withheld" : "output" },
      h("header", {}, h("h3", {}, title), this.facts(facts)),
      text,
      output.notice ? h("p", { class: "notice" }, visible(output.notice)) : null,
    );
  }

  stderr({ stderr }) {
    if (!stderr) return null;
    return h(
      "section",
      { class: "output" },
      h("h3", {}, "Standard error"),
      textBlock(stderr, { label: "Standard error" }),
    );
  }
}

/** When a step was, and how long it took, as far as the run tells. */
function timeFacts({ at, replied, seconds, elapsed }) {
  const when = at ?? replied;
  const waited = at !== null && replied !== null ? at - replied : 0;
  return [
    when !== null && h("time", { datetime: new Date(when * 1000).toISOString() }, moment(when, { precise: true })),
    seconds !== null && `ran ${duration(seconds)}`,
    seconds === null && waited > 0 && `result ${duration(waited)} after the model's reply`,
    elapsed > 0 && `${duration(elapsed)} after the step before`,
  ];
}

/** What the call of the model that proposed a step took, as far as the run tells. */
function callFacts(call) {
  if (!call) return [];
  const { uncached, cached, written, output } = call.tokens;
  const tokens = { uncached, written, cached, output };
  return [
    Object.values(tokens).some(Boolean) && `model call: ${byClass(tokens)} tokens`,
    call.cost !== null && `${dollars(call.cost)} for the model call`,
  ];
}

/** Why there is no text of an output. */
function withoutText({ known, ran }) {
  if (known) return "It printed nothing.";
  return ran
    ? "It ran, and the record of this run does not hold what it printed."
    : "It was not run, so what it would have printed is not known.";
}

/** What the text below is: what the model read, or what was replaced by a reference. */
function outputTitle({ output, shown }, replayed) {
  if (!output.ran) return "What it would have printed";
  const was = replayed ? "would have been" : "was";
  if (shown.kind === "partial") return `Output, as the model ${was} shown it`;
  if (shown.kind !== "reference") return "Output";
  return replayed ? "What it printed when it was recorded" : "What it printed, replaced by the reference";
}

/** A step in a few words, for a screen reader. */
export function stepInWords(step) {
  const { mark } = step;
  return `Step ${step.index}, ${step.category}, ${mark ? meaningOf(mark).words : step.decision.kind}.`;
}
