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

exports.isModule = (file) => {
	let source;

	try {
		source = fs.readFileSync(file, 'utf8');
		vm.compileFunction(source.replace(/^#!.*/, ''), names, { filename: file });
		return false;
	} catch (error) {
		return error instanceof SyntaxError && complaints.test(error.message) && !isDeclared(path.dirname(file));
	}
};
