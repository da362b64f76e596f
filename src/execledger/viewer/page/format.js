/** Numbers and words as people read them. */

const NUMBER = new Intl.NumberFormat("en");
const MONEY = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const LEAST_DOLLARS = 1e-9; // Less than any token costs.

/** A number with separators; a dash for what nobody counted. */
export function count(value) {
  return value === null || value === undefined ? "–" : NUMBER.format(value);
}

/** What a provider charges for by itself: the classes of tokens, and their words. */
export const CLASSES = {
  uncached: "uncached",
  written: "written to the cache",
  cached: "cached",
  output: "output",
};

/** Tokens by class, those that there are: "5 uncached, 70 written to the cache and 900 cached". */
export function byClass(tokens, number = count) {
  const known = Object.entries(tokens).filter(([, value]) => value);
  return listed(known.map(([name, value]) => `${number(value)} ${CLASSES[name]}`)) || "0";
}

/** A number of bytes in the unit that suits it. */
export function bytes(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size < 1000) return `${value} B`;
  const [unit, name] = size < 999_500 ? [1e3, "kB"] : size < 999_500_000 ? [1e6, "MB"] : [1e9, "GB"];
  const scaled = value / unit;
  return `${scaled.toFixed(Math.abs(scaled) < 99.5 ? 1 : 0)} ${name}`;
}

/** A sum of money, with its sign and at least two significant digits; what rounding errors leave of zero is zero. */
export function dollars(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size < LEAST_DOLLARS) return "$0.00";
  const sign = value < 0 ? "−" : "";
  return `${sign}$${size < 1 ? size.toFixed(Math.max(4, 1 - Math.floor(Math.log10(size)))) : MONEY.format(size)}`;
}

/** A number of tokens that may be negative, with its sign. */
export function signedCount(value) {
  return `${value < 0 ? "−" : "+"}${count(Math.abs(value))}`;
}

/** A number or a sum in words, marked where it is an estimate and not what was counted. */
export function about(words, estimated) {
  return estimated && words !== "–" ? `~${words}` : words;
}

/** A moment in seconds since 1970, as a date and a time of day here; a dash where it is not known. */
export function moment(seconds, { precise = false } = {}) {
  if (seconds === null || seconds === undefined) return "–";
  const local = new Date((seconds - new Date(seconds * 1000).getTimezoneOffset() * 60) * 1000);
  return local.toISOString().slice(0, precise ? 19 : 16).replace("T", " ");
}

/** A number of seconds in the units that suit it. */
export function duration(seconds) {
  if (seconds < 0.9995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)];
  return hours ? `${count(hours)} h ${minutes} min` : `${minutes} min ${whole % 60} s`;
}

/** "1 step", "2 steps". */
export function plural(value, word) {
  return `${count(value)} ${word}${value === 1 ? "" : "s"}`;
}

/** The first and last of some lines. */
export function lines(first, last) {
  return first === last ? `line ${first}` : `lines ${first}–${last}`;
}

/** The name of a run in two: the folder or archive that it is in, and the rest. */
export function nameParts(name) {
  const at = Math.max(name.lastIndexOf("/"), name.lastIndexOf("!")) + 1;
  return [name.slice(0, at), name.slice(at)];
}

/** A command where there is little room: without the `cd` that many of them begin with. */
export function shortCommand(command) {
  return command.replace(/^cd \S+ *(?:&&|;) *(?=\S)/, "");
}

/** Names in a row: "a, b and c". */
export function listed(names) {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}
