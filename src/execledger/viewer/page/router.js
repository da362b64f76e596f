/**
 * Addresses within the page, so that every view can be linked to: `#/`, `#/run/<id>/<step>`, `#/compare/<a>/<b>`,
 * and `#/coming` for a run that is about to begin.
 * The step `last` is whichever is the last at the moment.
 */

/** The step that is the last one, also while the run grows. */
export const LAST = "last";

/** What an address asks for: a view by name, and its parts. */
export function parseAddress(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [view, ...parts] = path.split("/").map(decoded);
  if (view === "run" && parts[0]) return { view, id: parts[0], step: stepNamed(parts[1]) };
  if (view === "compare" && parts[0] && parts[1]) return { view, a: parts[0], b: parts[1] };
  if (view === "coming") return { view };
  return { view: "runs", query: Object.fromEntries(new URLSearchParams(query)) };
}

function stepNamed(text = "") {
  if (text === LAST) return LAST;
  return /^\d{1,9}$/.test(text) ? Number(text) : null;
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The address of the list of runs, searched and sorted. */
export function runsAddress(query = {}) {
  const said = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== "")).toString();
  return said ? `#/?${said}` : "#/";
}

/** The address of a run, or of one of its steps. */
export function runAddress(id, step = null) {
  return `#/run/${encodeURIComponent(id)}${step === null ? "" : `/${step}`}`;
}

/** The address of a comparison. */
export function compareAddress(a, b) {
  return `#/compare/${encodeURIComponent(a)}/${encodeURIComponent(b)}`;
}

/** Say where the page is without adding to the history: steps are many, and Back should leave the run. */
export function replaceAddress(address) {
  if (location.hash !== address) history.replaceState(null, "", address);
}

/** Show the view that the address asks for, now and whenever it changes; a view that can stay is only updated. */
export function startRouter(open) {
  let current = null;
  const go = (hash) => {
    const route = parseAddress(hash);
    if (current?.accepts(route)) return current.update(route);
    current?.destroy();
    current = open(route);
    return undefined;
  };
  // The event says what was asked for; by now the address may have been replaced.
  window.addEventListener("hashchange", (event) => go(new URL(event.newURL).hash));
  go(location.hash);
  return () => current;
}
