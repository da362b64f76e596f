'use strict';

exports.format = require('./lib/format').format;
exports.parse = require('./lib/parse').parse;
