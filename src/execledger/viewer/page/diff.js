/** What changed between two texts, line by line: a longest common subsequence, bounded. */

const CELLS = 1_000_000; // Pairs of lines that are compared at most; beyond that, all that differs is new.

/** Lines in order, each `[" " | "-" | "+", text]`: the "+" and " " ones are `after`, the "-" and " " ones `before`. */
export function lineDiff(before, after) {
  const old = before === "" ? [] : before.split("\n");
  const now = after === "" ? [] : after.split("\n");
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < Math.min(old.length, now.length) - start && old.at(-1 - end) === now.at(-1 - end)) end += 1;
  const middle = middleDiff(old.slice(start, old.length - end), now.slice(start, now.length - end));
  return [
    ...now.slice(0, start).map((text) => [" ", text]),
    ...middle,
    ...now.slice(now.length - end).map((text) => [" ", text]),
  ];
}

function middleDiff(old, now) {
  const result = [];
  const common = old.length * now.length <= CELLS ? commonLengths(old, now) : null;
  let i = 0;
  let j = 0;
  while (common && i < old.length && j < now.length) {
    if (old[i] === now[j]) {
      result.push([" ", now[j]]);
      i += 1;
      j += 1;
    } else if (common[i + 1][j] >= common[i][j + 1]) {
      result.push(["-", old[i]]);
      i += 1;
    } else {
      result.push(["+", now[j]]);
      j += 1;
    }
  }
  return [...result, ...old.slice(i).map((text) => ["-", text]), ...now.slice(j).map((text) => ["+", text])];
}

/** For each pair of places, how many lines the rests have in common. */
function commonLengths(old, now) {
  const table = Array.from({ length: old.length + 1 }, () => new Uint32Array(now.length + 1));
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1) {
      table[i][j] = old[i] === now[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
    }
  }
  return table;
}
