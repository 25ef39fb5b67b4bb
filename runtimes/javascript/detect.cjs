// Whether a file is a module, which is told by what the parser says to it as a script.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const vm = require('node:vm');

const names = ['exports', 'require', 'module', '__filename', '__dirname'];
const complaints = /Cannot use import statement outside a module|Unexpected token 'export'|Cannot use 'import.meta' outside a module/;

// The nearest package.json decides where it says something.
function isDeclared(directory) {
	for (let at = directory; ; at = path.dirname(at)) {
		try {
			return JSON.parse(fs.readFileSync(path.join(at, 'package.json'), 'utf8')).type !== undefined;
		} catch (error) {
			if (error.code !== 'ENOENT' || at === path.dirname(at))
				return false;
		}
	}
}

// What the parser says; null: nothing.
function complaint(source, file) {
	try {
		vm.compileFunction(source, names, { filename: file });
		return null;
	} catch (error) {
		return error instanceof SyntaxError ? error.message : null;
	}
}

// An await at the top level makes a module, and one in a function that is not async does not: what tells them apart is
// an async function around all. In an expression the parser of Node.js 18 does not name the await.
function needsModule(source, file) {
	const said = complaint(source, file);

	if (said === null || complaints.test(said))
		return said !== null;
	if (!/\bawait\b/.test(source))
		return false;
	const inAsync = complaint(`return async () => {${source}\n}`, file);
	return inAsync === null || complaints.test(inAsync);
}

exports.isModule = (file) => {
	let source;

	try {
		source = fs.readFileSync(file, 'utf8').replace(/^#!.*/, '');
	} catch {
		return false;
	}
	return needsModule(source, file) && !isDeclared(path.dirname(file));
};
