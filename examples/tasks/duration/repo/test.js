'use strict';

const assert = require('assert');
const { format, parse } = require('.');

let number = 0;

// Runs a test and prints a line of TAP.
function test(name, body) {
  number += 1;
  try {
    body();
    console.log(`ok ${number} ${name}`);
  } catch (error) {
    console.log(`not ok ${number} ${name}`);
    console.log(`# ${String(error.message).split('\n').join(' ')}`);
    process.exitCode = 1;
  }
}

test('zero', () => assert.strictEqual(format(0), '0s'));
test('seconds', () => assert.strictEqual(format(12.3), '12s'));
test('minutes and seconds', () => assert.strictEqual(format(62), '1m 2s'));
test('reads what it writes', () => assert.strictEqual(parse(format(3723)), 3723));
test('refuses nonsense', () => assert.throws(() => parse('1x')));
