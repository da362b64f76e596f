/** The page: opens where runs come from, and shows the view that the address asks for. */

import { ComingView } from "./coming.js";
import { CompareView } from "./compare.js";
import { openSource } from "./data.js";
import { fill, h, part } from "./dom.js";
import { showKeys, startKeys } from "./keys.js";
import { startRouter } from "./router.js";
import { RunView } from "./run.js";
import { RunsView } from "./runs.js";
import { startTheme } from "./theme.js";

const VIEWS = { runs: RunsView, run: RunView, compare: CompareView, coming: ComingView };
const CONNECTION = {
  live: "live",
  reading: "reading on …",
  lost: "connection lost, trying again …",
  finished: "the run has ended",
  left: "nobody writes to this run any more",
  gone: "the file of this run is gone: what was read of it stays",
  trouble: "this run can't be read any further",
  "": "",
};

/** Say how things stand with the server, and with the run. */
function connected(state) {
  const place = part("connection");
  place.className = state;
  if (place.textContent !== CONNECTION[state]) place.textContent = CONNECTION[state];
}

/** Say where one is. */
function crumbs(names) {
  const items = names.map(([name, address]) =>
    h("li", {}, address ? h("a", { href: address }, name) : h("span", { "aria-current": "page" }, name)),
  );
  fill(part("crumbs"), h("ol", {}, items));
}

/** Make a view and put it into the page. */
function show(route) {
  connected("");
  const view = new VIEWS[route.view](route, { source, crumbs, connected });
  fill(part("main"), view.element);
  part("main").focus({ preventScroll: true });
  return view;
}

const source = openSource((lost) => {
  if (lost) connected("lost");
  else if (part("connection").className === "lost") connected("");
});
let currentView = () => null;
const turnTheme = startTheme(part("theme"), () => currentView()?.repaint?.());
currentView = startRouter(show);
startKeys(() => currentView().actions, { help: () => showKeys(part("keys")), theme: turnTheme });
part("help").addEventListener("click", () => showKeys(part("keys")));
part("skip").addEventListener("click", (event) => {
  event.preventDefault();
  part("main").focus();
});
