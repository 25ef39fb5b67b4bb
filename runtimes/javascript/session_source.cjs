// What has to be changed in a cell's text before V8's console takes it, without moving lines.
'use strict';
const { createRequire, isBuiltin } = require('node:module');
const { pathToFileURL } = require('node:url');
const vm = require('node:vm');

const IMPORT = '__emberbox_import__';
// After these a slash begins a regular expression, not a division.
const KEYWORDS = /(?:^|[^\w$.])(?:return|typeof|case|in|of|delete|void|throw|new|instanceof|else|do|await|yield)$/;

// Where strings, comments, templates and regular expressions are there are blanks; and each character's depth of brackets.
function mask(text) {
	const out = Array.from(text.split(''));
	const depth = new Uint16Array(text.length);
	const stack = []; // the depths at which ${ began
	let level = 0;

	const blank = (from, to) => {
		for (let i = from; i < to; i++)
			if (out[i] !== '\n')
				out[i] = ' ';
		depth.fill(level, from, to);
	};
	const until = (at, mark) => {
		while (at < text.length && text[at] !== mark && !(text[at] === '\n' && mark !== '`'))
			at += text[at] === '\\' ? 2 : 1;
		return Math.min(at + 1, text.length);
	};
	const template = (at) => {
		for (; at < text.length; at++) {
			if (text[at] === '\\')
				at++;
			else if (text[at] === '`')
				return at + 1;
			else if (text[at] === '$' && text[at + 1] === '{') {
				stack.push(level);
				level++;
				return at + 2;
			}
		}
		return text.length;
	};
	const regex = (at) => {
		for (let inside = false; at < text.length && text[at] !== '\n'; at++) {
			if (text[at] === '\\')
				at++;
			else if (text[at] === '[')
				inside = true;
			else if (text[at] === ']')
				inside = false;
			else if (text[at] === '/' && !inside)
				return at + 1;
		}
		return at;
	};
	let before = ''; // the code so far, near its end

	for (let at = 0; at < text.length;) {
		const char = text[at];
		let end = at;

		if (char === '"' || char === "'")
			end = until(at + 1, char);
		else if (char === '`')
			end = template(at + 1);
		else if (char === '/' && text[at + 1] === '/')
			end = (text.indexOf('\n', at) + text.length + 1) % (text.length + 1);
		else if (char === '/' && text[at + 1] === '*')
			end = text.indexOf('*/', at + 2) < 0 ? text.length : text.indexOf('*/', at + 2) + 2;
		else if (char === '/' && (/(?:^|[^\w$)\]"'`\s])\s*$/.test(before) || KEYWORDS.test(before.trimEnd())))
			end = regex(at + 1);
		else if (char === '}' && stack.length && level === stack.at(-1) + 1) {
			level = stack.pop();
			end = template(at + 1);
		}
		if (end > at) {
			blank(at, end);
			if (char !== '/')
				before = `${before.slice(-20)}"`;
			at = end;
			continue;
		}
		if ('([{'.includes(char))
			depth[at] = level++;
		else if (')]}'.includes(char))
			depth[at] = level = Math.max(0, level - 1);
		else
			depth[at] = level;
		before = before.slice(-20) + char;
		at++;
	}
	return { text: out.join(''), depth };
}

function splice(text, at, length, more) {
	return text.slice(0, at) + more + text.slice(at + length);
}

// A name of the top can be declared again and again, as const, let or class: V8's console allows it among let and class.
function prepare(code) {
	if (/^\s*\{/.test(code) && !/;\s*$/.test(code)) {
		try {
			new vm.Script(`(${code}\n)`);
			return `(${code}\n)`;
		} catch {
			// A block, then.
		}
	}
	if (!/\bconst\b|\bimport\s*\(/.test(code))
		return code;
	const masked = mask(code);
	for (const found of [...masked.text.matchAll(/\bconst\b|\bimport(?=\s*\()/g)].reverse()) {
		if (/[.$]\s*$/.test(masked.text.slice(0, found.index)))
			continue;
		if (found[0] === 'import')
			code = splice(code, found.index, 6, IMPORT);
		else if (masked.depth[found.index] === 0)
			code = splice(code, found.index, 5, 'let  ');
	}
	return code;
}

function offset(code, { line, column }) {
	let at = 0;

	for (; line > 1; line--)
		at = code.indexOf('\n', at) + 1;
	return at + column - 1;
}

const STATEMENT = /^import\s*(?:(?<names>[\w$*{][^'"]*?)\s*\bfrom\s*)?(?<quoted>'[^'\n]*'|"[^"\n]*")(?:\s*(?:with|assert)\s*(?<kind>\{[^}]*\}))?\s*;?/;

// import … from '…' as a declaration that waits for it.
function imported(text) {
	const found = STATEMENT.exec(text);

	if (!found)
		return null;
	const { names, quoted, kind } = found.groups;
	const call = `await ${IMPORT}(${quoted}${kind ? `, { with: ${kind} }` : ''});`;
	const lines = '\n'.repeat(found[0].split('\n').length - 1);
	if (!names)
		return [found[0].length, call + lines];
	const parts = [];
	const list = /\{([^}]*)\}/.exec(names);
	const space = /\*\s*as\s+([\w$]+)/.exec(names);
	const first = /^([\w$]+)\s*(?:,|$)/.exec(names);
	if (first)
		parts.push(`default: ${first[1]}`);
	if (list)
		parts.push(...list[1].split(',').map((part) => part.trim()).filter(Boolean).map((part) => part.replace(/\s+as\s+/, ': ')));
	const call_ = call.slice(0, -1);
	if (!space)
		return [found[0].length, `let { ${parts.join(', ')} } = ${call_};${lines}`];
	return [found[0].length, `let ${space[1]} = ${call_}${parts.length ? `, { ${parts.join(', ')} } = ${space[1]}` : ''};${lines}`];
}

// A declaration of a name that was one of the other kind: let and class against var and function.
function redeclared(code, name) {
	const masked = mask(code);
	const word = name.replace(/\$/g, '\\$&');
	const kinds = new RegExp(`(?:\\b(var|let)\\s+|\\b(class)\\s+|\\b((?:async\\s+)?function\\s*\\*?)\\s*)${word}(?![\\w$])`, 'g');

	for (const found of masked.text.matchAll(kinds)) {
		if (masked.depth[found.index] !== 0)
			continue;
		const [, variable, kind] = found;
		if (variable)
			return splice(code, found.index, 3, variable === 'var' ? 'let' : 'var');
		let end = masked.text.indexOf('{', found.index);
		while (end >= 0 && masked.depth[end] !== 0)
			end = masked.text.indexOf('{', end + 1);
		end = end < 0 ? -1 : masked.text.indexOf('}', end);
		while (end >= 0 && masked.depth[end] !== 0)
			end = masked.text.indexOf('}', end + 1);
		if (end < 0)
			return null;
		return splice(splice(code, end + 1, 0, ';'), found.index, 0, `${kind ? 'var' : 'let'} ${name} = `);
	}
	return null;
}

// What V8 could not take, in another form; null if there is none.
function mend(code, message, place) {
	const at = offset(code, place);
	const name = /^Identifier '([^']+)' has already been declared$/.exec(message);

	if (name)
		return redeclared(code, name[1]);
	if (message === 'Cannot use import statement outside a module') {
		const made = imported(code.slice(at));
		return made && splice(code, at, ...made);
	}
	if (message === "Unexpected token 'export'") {
		const found = /^export(?:\s+default)?(?=\s+(?:const|let|var|class|function|async|enum)\b)|^export\s*\{[^}]*\}\s*;?/.exec(code.slice(at));
		return found && splice(code, at, found[0].length, found[0].replace(/\S/g, ' '));
	}
	return null;
}

// What import() of Node.js 18 finds only from its own file: files by their place, packages as require() does.
function locate(name, place) {
	if (/^\.{0,2}\//.test(name))
		return String(new URL(name, pathToFileURL(`${place}/`)));
	if (isBuiltin(name) || /^[a-z]+:/.test(name))
		return name;
	try {
		return String(pathToFileURL(createRequire(`${place}/`).resolve(name)));
	} catch {
		return name;
	}
}

// import() as if it stood in a file of the working directory.
function importer() {
	let place, run;

	return (what, options) => {
		if (place !== process.cwd()) {
			place = process.cwd();
			const loader = vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER;
			run = loader
				? vm.runInThisContext('(what, options) => import(what, options)', { filename: `${place}/cell.js`, importModuleDynamically: loader })
				: (name, more) => import(locate(String(name), place), more);
		}
		return options === undefined ? run(what) : run(what, options);
	};
}

module.exports = { IMPORT, importer, mask, mend, prepare };
