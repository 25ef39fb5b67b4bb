// Errors of cells: their text as Node.js prints it, and the same in parts.
'use strict';
const Module = require('node:module');
const util = require('node:util');

const TEXT_MAX = 1 << 20;
const MESSAGE_MAX = 16 << 10;
const FRAMES_MAX = 100;
const FRAME = /^ +at (?:async )?(?:(.*?) \()?((?:file:\/\/)?[^()]+?):(\d+):(\d+)\)?$/;
const OURS = /^ +at (?:Session\.post \(node:inspector|(?:.*\()?node:cell:)/;
const cells = new Map(); // name: { lines, map }

function keep(name, code, most) {
	cells.set(name, { lines: code.split('\n'), map: null });
	if (cells.size > most)
		cells.delete(cells.keys().next().value);
}

function map(name, code, payload) {
	const cell = cells.get(name);

	if (cell && payload)
		cell.map = new Module.SourceMap(payload);
}

// A place in the code that ran, as one in the cell's text.
function original(file, line, column) {
	const found = cells.get(file)?.map?.findEntry(line - 1, column - 1);

	return found?.originalLine === undefined ? [line, column] : [found.originalLine + 1, found.originalColumn + 1];
}

function shortened(text, most) {
	if (text.length <= most)
		return text;
	return `${text.slice(0, most / 2)}\n[… ${text.length - most} more characters …]\n${text.slice(-most / 2)}`;
}

// A stack without what runs cells, with places of the cells' own text.
function cleaned(stack) {
	const lines = stack.split('\n');
	const end = lines.findIndex((line) => OURS.test(line));

	return (end < 0 ? lines : lines.slice(0, end)).map((line) => line.replace(/(cell-\d+):(\d+):(\d+)/, (_, file, row, column) => {
		const [first, second] = original(file, Number(row), Number(column));
		return `${file}:${first}:${second}`;
	}));
}

function framesOf(lines) {
	const frames = [];

	for (const line of lines) {
		const found = FRAME.exec(line);
		if (!found || frames.length === FRAMES_MAX)
			continue;
		const file = found[2].replace(/^file:\/\//, '');
		const text = cells.get(file)?.lines[found[3] - 1]?.trim().slice(0, 1000) ?? '';
		const user = /^cell-\d+$|^\/sandbox\//.test(file);
		frames.push({ file, line: Number(found[3]), column: Number(found[4]), function: found[1] ?? '<cell>', text, user });
	}
	return frames.reverse();
}

function plain(value, name) {
	try {
		const text = value[name];
		return typeof text === 'string' ? text : '';
	} catch {
		return '';
	}
}

// { text, error } of what was thrown; `place`: where a cell could not be read.
function told(value, name, place) {
	if (!(value instanceof Error) && !util.types.isNativeError(value)) {
		const text = shortened(util.inspect(value), MESSAGE_MAX);
		return { text: `Uncaught ${text}\n`, error: { type: 'Uncaught', message: text, file: null, line: null, column: null, frames: [] } };
	}
	const message = shortened(plain(value, 'message'), MESSAGE_MAX);
	const type = plain(value, 'name') || 'Error';
	if (place) {
		[place.line, place.column] = original(name, place.line, place.column);
		const line = cells.get(name)?.lines[place.line - 1] ?? '';
		const blank = line.slice(0, place.column - 1).replace(/[^\t]/g, ' ');
		const text = `${name}:${place.line}\n${line}\n${blank}^\n\nUncaught ${type}: ${message}\n`;
		return { text, error: { type, message, file: name, ...place, frames: [] } };
	}
	const lines = cleaned(plain(value, 'stack'));
	const frames = framesOf(lines);
	const at = frames.findLast?.((frame) => frame.user) ?? frames.at(-1);
	try {
		value.stack = lines.join('\n');
	} catch {
		// It cannot be changed: it is shown as it is.
	}
	let text;
	try {
		text = util.inspect(value);
	} catch {
		text = `${type}: ${message}`;
	}
	const where = { file: at?.file ?? null, line: at?.line ?? null, column: at?.column ?? null };
	for (const frame of frames)
		delete frame.column;
	return { text: `Uncaught ${shortened(text, TEXT_MAX)}\n`, error: { type, message, ...where, frames } };
}

module.exports = { keep, map, told };
