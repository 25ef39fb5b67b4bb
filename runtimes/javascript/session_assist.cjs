// Completion and description of names, from what the session has in it. Nothing that has an effect is evaluated.
'use strict';
const { isBuiltin } = require('node:module');
const util = require('node:util');

const MATCHES_MAX = 1000;
const WORDS = `await async break case catch class const continue debugger default delete do else export extends false finally
for function if import in instanceof let new null of return super switch this throw true try typeof undefined var void
while with yield`.split(/\s+/);
const CHAIN = /(?:([\p{ID_Start}$_][\p{ID_Continue}$]*(?:\??\.[\p{ID_Start}$_][\p{ID_Continue}$]*|\[\d+\])*)\??\.)?([\p{ID_Start}$_][\p{ID_Continue}$]*)?$/u;

function nothing(word, cursor) {
	return word === 'complete' ? { matches: [], start: cursor, end: cursor } : { found: false, 'text/plain': '' };
}

function lookUp(debug, valueOf, expression) {
	let found;

	if (isBuiltin(expression) && Object.getOwnPropertyDescriptor(globalThis, expression)?.get)
		return { value: require(expression) }; // it is loaded when it is first asked for
	debug.post('Runtime.evaluate', { expression, throwOnSideEffect: true, silent: true, objectGroup: 'assist', timeout: 40 }, (error, answer) => {
		if (!error && !answer.exceptionDetails)
			found = { value: valueOf(answer.result) };
	});
	debug.post('Runtime.releaseObjectGroup', { objectGroup: 'assist' });
	return found;
}

function members(value) {
	const names = new Set();

	for (let at = Object(value), depth = 0; at && depth < 20; at = Object.getPrototypeOf(at), depth++)
		for (const name of Object.getOwnPropertyNames(at).slice(0, MATCHES_MAX))
			names.add(name);
	return [...names].filter((name) => /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(name));
}

function complete(debug, valueOf, code, cursor) {
	const before = Buffer.from(code).subarray(0, cursor).toString();
	const [, chain, typed = ''] = CHAIN.exec(before.split('\n').at(-1));
	let names = [];

	if (chain !== undefined) {
		const found = lookUp(debug, valueOf, chain);
		names = found && found.value !== undefined && found.value !== null ? members(found.value) : [];
	} else if (typed) {
		debug.post('Runtime.globalLexicalScopeNames', {}, (error, answer) => {
			names = [...(answer?.names ?? []), ...Object.getOwnPropertyNames(globalThis), ...WORDS];
		});
	}
	const hidden = (name) => name.startsWith('_') && !typed.startsWith('_');
	const matches = [...new Set(names)].filter((name) => name.startsWith(typed) && !hidden(name)).sort().slice(0, MATCHES_MAX);
	return { matches, start: cursor - Buffer.byteLength(typed), end: cursor };
}

function inspect(debug, valueOf, code, cursor) {
	const before = Buffer.from(code).subarray(0, cursor).toString().split('\n').at(-1).replace(/\($/, '');
	const after = /^[\p{ID_Continue}$]*/u.exec(Buffer.from(code).subarray(cursor).toString())[0];
	const [name] = /[\p{ID_Continue}$_.]*$/u.exec(before + after);
	const found = name && lookUp(debug, valueOf, name);

	if (!found || found.value === undefined)
		return null;
	const { value } = found;
	const kind = value === null ? 'null' : typeof value === 'object' ? (Object.getPrototypeOf(value)?.constructor?.name ?? 'Object') : typeof value;
	const text = typeof value === 'function' ? Function.prototype.toString.call(value).slice(0, 2000) : util.inspect(value).slice(0, 2000);
	return { found: true, 'text/plain': `${name}: ${kind}\n${text}` };
}

module.exports = { complete, inspect, nothing };
