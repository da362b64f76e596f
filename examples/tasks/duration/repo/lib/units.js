'use strict';

// Units from the largest to the smallest, with their length in seconds.
exports.UNITS = [
  ['h', 3600],
  ['m', 60],
  ['s', 1],
];
