// Code that uses import, export or a top-level await is a module, though its name ends in .js and no package.json says
// so. Node.js 20.19 and 22.7 tell by themselves; this does it for the older ones that can be taught.
'use strict';
const [major, minor] = process.versions.node.split('.', 2).map(Number);
if (major < 20 || (major === 20 && minor < 19) || major === 21 || (major === 22 && minor < 7)) {
	const Module = require('node:module');
	const { isModule } = require('./detect.cjs');
	const url = require('node:url');
	const entry = process.argv[1];
	const runMain = Module.runMain;

	if (Module.register && entry?.endsWith('.js') && isModule(entry)) {
		Module.register(url.pathToFileURL(__dirname + '/hooks.mjs'));
		Module.runMain = () => {
			Module.runMain = runMain;
			import(url.pathToFileURL(entry));
		};
	}
}
