// Code that uses import, export or a top-level await is a module, though its name ends in .js and no package.json says
// so. Node.js 20.19 and 22.7 tell by themselves; this does it for the older ones that can be taught. In a zygote the
// program is not there yet: ember.cjs asks again when it is.
'use strict';
const paths = require('./paths.cjs');
const [major, minor] = process.versions.node.split('.', 2).map(Number);
if (major < 20 || (major === 20 && minor < 19) || major === 21 || (major === 22 && minor < 7)) {
	const Module = require('node:module');
	const { isModule } = require('./detect.cjs');
	const url = require('node:url');

	// As Node.js runs modules: one that waits for ever ends with 13.
	const run = async (entry) => {
		const unsettled = () => {
			process.exitCode ??= 13;
		};

		process.on('exit', unsettled);
		try {
			await import(url.pathToFileURL(entry));
		} finally {
			process.off('exit', unsettled);
		}
	};

	// Whether the program is a module that Node.js would run as a script; it is run as what it is then.
	exports.teach = (entry) => {
		const { runMain } = Module;

		if (!Module.register || !entry?.endsWith('.js') || !isModule(entry))
			return false;
		Module.register(url.pathToFileURL(__dirname + '/hooks.mjs'));
		Module.runMain = () => {
			Module.runMain = runMain;
			run(entry);
		};
		return true;
	};
	exports.teach(process.argv[1]);
}

paths.forget(__filename, `${__dirname}/detect.cjs`);
