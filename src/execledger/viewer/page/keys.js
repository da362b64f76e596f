/** The keyboard: one table of keys, which is also what the help shows. */

import { fill, h } from "./dom.js";

/** Keys, the name of what they do, and what that is in words. A view says which of the names it knows. */
const KEYS = [
  [["j", "ArrowDown", "ArrowRight"], "next", "next step or row"],
  [["k", "ArrowUp", "ArrowLeft"], "previous", "step or row before"],
  [["g", "Home"], "first", "first step or row"],
  [["G", "End"], "last", "last step or row"],
  [["n"], "nextMark", "next step with a mark, or next difference"],
  [["N"], "previousMark", "the one before"],
  [["p"], "play", "play the run, and pause"],
  [["Enter"], "open", "open the row"],
  [["x"], "choose", "choose the row for a comparison"],
  [["/"], "search", "search"],
  [["f"], "filter", "choose runs by agent, model, task or faults"],
  [["t"], "theme", "theme"],
  [["?"], "help", "this help"],
  [["Escape"], "leave", "close, or go back"],
];
const NAMES = { ArrowDown: "↓", ArrowRight: "→", ArrowUp: "↑", ArrowLeft: "←", Escape: "Esc" };
const BY_KEY = new Map(KEYS.flatMap(([keys, action]) => keys.map((key) => [key, action])));

/** Call the action of each key that is pressed: one of the view's, or one of the page's. */
export function startKeys(viewActions, pageActions) {
  document.addEventListener("keydown", (event) => {
    const action = BY_KEY.get(event.key);
    if (!action || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (document.querySelector("dialog[open]") || taken(event)) return;
    const act = viewActions()?.[action] ?? pageActions[action];
    if (act && act(event) !== false) event.preventDefault();
  });
}

/** Whether the key means something to the element that has the focus. */
function taken({ key, target }) {
  if (key === "Escape") return false;
  if (target.closest("input:not([type=checkbox]), textarea, select")) return true;
  if (key === "Enter") return target.closest("a, button, summary") !== null;
  // What can be scrolled is scrolled, a part of the page or all of it; sideways there is nothing to scroll to.
  const scrolls = target.closest(".scrolls") !== null || document.documentElement.scrollHeight > window.innerHeight;
  return scrolls && ["ArrowUp", "ArrowDown", "Home", "End"].includes(key);
}

/** Fill and show the dialog that explains the keys. */
export function showKeys(dialog) {
  const rows = KEYS.map(([keys, , words]) => [
    h(
      "dt",
      {},
      keys.flatMap((key) => [h("kbd", {}, NAMES[key] ?? key), " "]),
    ),
    h("dd", {}, words),
  ]);
  fill(
    dialog,
    h("h2", { id: "keys-title" }, "Keys"),
    h("dl", { class: "keys" }, rows.flat()),
    h("form", { method: "dialog" }, h("button", { autofocus: true }, "Close")),
  );
  dialog.showModal();
}
