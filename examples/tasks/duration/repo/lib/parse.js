'use strict';

const { UNITS } = require('./units');

// The seconds of a text such as "1h 2m 3s"; other texts raise an error.
function parse(text) {
  let seconds = 0;
  for (const part of text.split(' ')) {
    const found = /^(\d+)([a-z])$/.exec(part);
    const unit = found && UNITS.find(([name]) => name === found[2]);
    if (!unit) {
      throw new Error(`found ${JSON.stringify(part)}, expected a number and one of h, m, s`);
    }
    seconds += Number(found[1]) * unit[1];
  }
  return seconds;
}

exports.parse = parse;
