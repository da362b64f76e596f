'use strict';

const { UNITS } = require('./units');

// A duration in seconds as a text; units before the first one that counts are left out.
function format(seconds) {
  const parts = [];
  let rest = seconds;
  for (const [unit, length] of UNITS) {
    const last = length === 1;
    const count = last ? Math.round(rest) : Math.floor(rest / length);
    rest -= count * length;
    if (count || parts.length || last) {
      parts.push(`${count}${unit}`);
    }
  }
  return parts.join(' ');
}

exports.format = format;
