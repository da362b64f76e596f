/** What the dollars of the page rest on: the agent's own record, or a price table with prices that may be assumed. */

import { count, listed } from "./format.js";

const ASSUMED = " (assumed)"; // Behind the name of a model whose prices are used for models that the table lacks.

/** Whether the cost of a run is estimated: it is computed from estimated tokens, or at an assumed price. */
export function estimatedCost(run) {
  return run.cost === null && (run.estimated || run.assumed_price);
}

/** The price table of a run, with the model whose prices are used. */
export function tablePrices(run) {
  return `at table prices of ${run.price_date}, ${run.priced_as}`;
}

/** What the cost of a run rests on. */
export function costBasis(run) {
  return run.cost === null ? tablePrices(run) : "as recorded by the agent";
}

/** The price table of a list, with the models that are assumed. */
export function listPrices({ runs, prices }) {
  return datedPrices(prices, prices.assumed, runs);
}

/** What the cost of the runs of a list rests on. */
export function listCostBasis({ runs, known, prices }) {
  const table = datedPrices(prices, prices.assumed_costs, runs);
  if (prices.recorded === 0) return table;
  if (prices.recorded === known.run_cost) return "as recorded by the agent";
  return `as recorded by the agent for ${count(prices.recorded)} of ${count(runs)} runs, else ${table}`;
}

/** All models whose prices are used for the runs of a list. */
export function listModels({ prices }) {
  return `prices of ${prices.date} for ${listed(prices.models)}`;
}

/** The day of the price table, with the models that are assumed for some of the runs. */
function datedPrices({ date, models }, assumed, runs) {
  const names = models.filter((name) => name.endsWith(ASSUMED)).map((name) => name.slice(0, -ASSUMED.length));
  const some = assumed < runs ? ` for ${count(assumed)} of ${count(runs)} runs` : "";
  return `at table prices of ${date}${assumed ? ` (${listed(names)} assumed${some})` : ""}`;
}
