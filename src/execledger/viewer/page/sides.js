/** Two aligned runs as rows: what stands on either side, and how the two belong together. */

/** How the two sides of a row belong together: a sign, and what it stands for. */
export const KINDS = {
  same: { sign: "=", words: "same command, same result" },
  changed: { sign: "≠", words: "same command, another result" },
  apart: { sign: "·", words: "different commands" },
  removed: { sign: "−", words: "only in run A" },
  added: { sign: "+", words: "only in run B" },
};

/**
 * Rows `[i, j, kind]` from the server's pairs, in which what only one run did stands alone: between two commands that
 * both have, the steps of one run are put beside those of the other, so that one reads both at once.
 */
export function sideBySide(pairs) {
  const rows = [];
  let alone = [[], []];
  const settle = () => {
    const [left, right] = alone;
    for (let place = 0; place < Math.max(left.length, right.length); place += 1) {
      const [i, j] = [left[place] ?? null, right[place] ?? null];
      rows.push([i, j, i === null ? "added" : j === null ? "removed" : "apart"]);
    }
    alone = [[], []];
  };
  for (const [i, j, kind] of pairs) {
    if (i !== null && j !== null) {
      settle();
      rows.push([i, j, kind]);
    } else if (i !== null) alone[0].push(i);
    else alone[1].push(j);
  }
  settle();
  return rows;
}
