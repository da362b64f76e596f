/**
 * Where runs come from: one interface, two sources of it.
 *
 * A served page asks the server. An exported page holds every answer of the server, each in an element
 * `<script type="application/json" data-path="/api/…">`, and parses one when it is asked for.
 */

import { chosenRuns } from "./filters.js";

const KEPT = 96; // Answers that are kept: enough to go back and forth, and bounded however long a run is.
const PATIENCE = [250, 500, 1000, 2000, 2000, 2000]; // Milliseconds between attempts while a server restarts.

/** An answer that says no. */
class Refusal extends Error {}

const HERE = 30_000; // Milliseconds after which the server is told that this page is still open.

/** Open the source of this page; `trouble` is told whether the server can be reached. */
export function openSource(trouble) {
  const embedded = document.querySelector("script[data-path]") !== null;
  // A server beside an agent that has ended stays as long as somebody looks.
  if (!embedded) setInterval(() => fetch("/api/here").catch(() => {}), HERE);
  return new Source(embedded ? readEmbedded : (path) => ask(path, trouble), embedded);
}

/** What the rest of the page knows of runs. */
class Source {
  constructor(read, embedded) {
    this.embedded = embedded; // Whether everything is in this page, and nothing grows.
    this.read = read;
    this.kept = new Map();
  }

  /** A part of the list of runs; `query` has `q`, `sort`, `desc`, `offset` and `limit`. */
  async runs(query) {
    if (!this.embedded) return this.read(`/api/runs?${new URLSearchParams(query)}`);
    const all = await this.keep("/api/runs");
    return { ...all, ...chosenRuns(all.runs, query, Object.keys(all.totals[0]?.sums ?? {})) };
  }

  /** A run: its parallel arrays of steps, and its files. */
  run(id) {
    return this.read(`/api/runs/${encodeURIComponent(id)}`);
  }

  /** Why the server refuses to tell of a run; "" if it does not. */
  async refusal(id) {
    try {
      await this.run(id);
      return "";
    } catch (error) {
      return error instanceof Refusal ? error.message : "";
    }
  }

  /** All of one step. */
  step(id, index) {
    return this.keep(`/api/runs/${encodeURIComponent(id)}/steps/${index}`);
  }

  /** Two runs, aligned. */
  compare(a, b) {
    return this.keep(`/api/compare?a=${encodeURIComponent(a)}&b=${encodeURIComponent(b)}`);
  }

  /** Where a large output can be read to its end; null if nowhere. */
  outputAddress(id, index) {
    return this.embedded ? null : `/api/runs/${encodeURIComponent(id)}/output/${index}`;
  }

  /** Where a growing run tells of its steps; null if it can't grow. */
  eventsAddress(id) {
    return this.embedded ? null : `/api/runs/${encodeURIComponent(id)}/events`;
  }

  /** The answer at `path`, asked for once; the answers used least recently are let go. */
  keep(path) {
    const answer = this.kept.get(path) ?? this.read(path);
    this.kept.delete(path);
    this.kept.set(path, answer);
    answer.catch(() => this.kept.delete(path));
    if (this.kept.size > KEPT) this.kept.delete(this.kept.keys().next().value);
    return answer;
  }
}

/** Ask the server, patiently while it can't be reached. */
async function ask(path, trouble) {
  for (let attempt = 0; ; attempt += 1) {
    try {
      const response = await fetch(path, { headers: { accept: "application/json" } });
      trouble(false);
      const answer = await response.json();
      if (!response.ok) throw new Refusal(answer.error ?? `the server answered ${response.status}`);
      return answer;
    } catch (error) {
      if (error instanceof Refusal) throw error;
      trouble(true);
      if (attempt >= PATIENCE.length) throw new Error("The server does not answer.");
      await new Promise((resolve) => setTimeout(resolve, PATIENCE[attempt]));
    }
  }
}

/** Parse the answer that an exported page holds. */
async function readEmbedded(path) {
  const element = document.querySelector(`script[data-path="${CSS.escape(path)}"]`);
  if (element === null) throw new Refusal("This file does not hold that.");
  return JSON.parse(element.textContent);
}
