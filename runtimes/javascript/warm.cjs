// A program of nothing, for the zygote: it is how the loader of scripts is made ready (ember.cjs).
'use strict';
module.exports = require.main === module;
