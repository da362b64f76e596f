/** Numbers and words as people read them. */

const NUMBER = new Intl.NumberFormat("en");

/** A number with separators; a dash for what nobody counted. */
export function count(value) {
  return value === null || value === undefined ? "–" : NUMBER.format(value);
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

/** A sum of money, with as many digits as it needs to be told from nothing. */
export function dollars(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  const digits = size.toFixed(size >= 1 || size === 0 ? 2 : 4);
  return `${value < 0 && Number(digits) > 0 ? "−" : ""}$${digits}`;
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
