// Whether a file is a module, which is told by what the parser says to it as a script.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const vm = require('node:vm');

const names = ['exports', 'require', 'module', '__filename', '__dirname'];
const complaints = /Cannot use import statement outside a module|Unexpected token 'export'|Cannot use 'import.meta' outside a module|await is only valid in async functions and the top level bodies of modules/;

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

// Of an await in an expression the parser of Node.js 18 only says that it expected something else.
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
