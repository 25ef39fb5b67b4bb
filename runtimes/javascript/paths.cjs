// What a box's Node.js does before the program, loaded by -r, and what it leaves: nothing.
//
// Node.js also looks for modules beside itself. Debian's has hundreds there, in /usr/share/nodejs, for whoever has npm
// installed, and the same program would run on one host and not on the next. In a box there is none.
'use strict';
const Module = require('node:module');

exports.init = () => {
	const path = process.execPath;

	// Nothing is below that, and no program can make it.
	process.execPath = '/sandbox/bin/node';
	try {
		Module._initPaths();
	} finally {
		process.execPath = path;
	}
};

// As if these files had not been loaded, and the first not been on the command line.
exports.forget = (...files) => {
	const at = process.execArgv.indexOf(files[0]);

	if (at > 0)
		process.execArgv.splice(at - 1, 2);
	if (process._preload_modules)
		Object.defineProperty(process, '_preload_modules', {
			value: process._preload_modules.filter((name) => name !== files[0]),
			configurable: true,
			enumerable: true,
		});
	for (const file of files)
		delete require.cache[file];
	for (const key of Object.keys(Module._pathCache))
		if (files.includes(Module._pathCache[key]))
			delete Module._pathCache[key];
};

exports.init();
exports.forget(__filename);
