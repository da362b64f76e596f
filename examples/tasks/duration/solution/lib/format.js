'use strict';

const { UNITS } = require('./units');

// A duration in seconds as a text; units before the first one that counts are left out.
function format(seconds) {
  const parts = [];
  let rest = Math.round(seconds);
  for (const [unit, length] of UNITS) {
    const count = Math.floor(rest / length);
    rest -= count * length;
    if (count || parts.length || length === 1) {
      parts.push(`${count}${unit}`);
    }
  }
  return parts.join(' ');
}

exports.format = format;
