// Keeps a JavaScript session: session.cjs [--esbuild PATH]. docs/sessions.md has what a session does.
//
// Requests come on descriptor 3. Cells are evaluated by V8 as its consoles do it (replMode: await at the top, names that
// can be declared again), by way of the inspector of this very thread, inside a vm call that an interrupt can end. With
// esbuild's path cells are TypeScript. What a cell waits for is waited for in the event loop.
'use strict';
const fs = require('node:fs');
const inspector = require('node:inspector');
const Module = require('node:module');
const net = require('node:net');
const path = require('node:path');
const { Writable } = require('node:stream');
const util = require('node:util');
const vm = require('node:vm');
const { Worker } = require('node:worker_threads');
require('./paths.cjs');
const source = require('./session_source.cjs');
const errors = require('./session_error.cjs');
const { stringify } = JSON;
const { Buffer, clearTimeout, process, setImmediate, setTimeout } = globalThis;
const { allocUnsafe, byteLength, concat, from } = Buffer; // cells may take things apart that this needs
const { exit, hrtime, reallyExit } = process;
const { readSync, writeSync } = fs;

const TEXT_MAX = 1 << 20; // characters of a value
const BUNDLE_MAX = 7 << 20; // bytes of a rich result; the keeper takes 8 MiB
const CELL_MAX = 15 << 20; // of all of a cell
const KEPT_MAX = 1000; // cells whose text and maps are kept

const esbuild = process.argv[2] === '--esbuild' ? process.argv[3] : null;
const debug = new inspector.Session();
const door = Symbol('cell'); // where the guard's script finds what to run; there only while it starts
const outside = `emberbox ${process.pid} ${process.hrtime.bigint()}`;
const guard = new vm.Script(`globalThis['${outside}']()`, { filename: 'node:cell' });
const channel = new net.Socket({ fd: 3, readable: true, writable: false });
let current = null; // the cell that runs: { secret, name, spent, began, told: its error was sent }
let handle = null; // the inspector's name of `take`
let taken; // what `take` was called with
let last; // _ of the cells
let waiting = from(''); // what came by the channel and was not taken yet

// Messages

// Written at once, and from where an interrupt left off: a stream's own state would not survive one.
let unsent = from('');
const moment = new Int32Array(new SharedArrayBuffer(4));

function send(word, secret, value) {
	const body = from(typeof value === 'string' ? value : stringify(value));

	unsent = concat([unsent, from(`${word} ${secret} ${body.length}\n`), body]);
	if (word === 'error') // between these two nothing is called: no interrupt can come
		current.told = true;
	while (unsent.length > 0)
		try {
			unsent = unsent.subarray(writeSync(3, unsent));
		} catch (error) {
			// A cell closed it: the keeper sees that, and tells so, unless there is an exit code to tell of.
			Atomics.wait(moment, 0, 0, error.code === 'EAGAIN' ? 1 : Infinity);
		}
}

function output(bundle) {
	const cell = current;

	if (!cell) {
		process.stdout.write(`${bundle['text/plain'] ?? stringify(bundle)}\n`);
		return;
	}
	let body = stringify(bundle);
	if (byteLength(body) > BUNDLE_MAX)
		body = stringify({ 'text/plain': `[a rich result of ${byteLength(body)} bytes is left out: too large]` });
	const before = cell.spent;
	cell.spent += byteLength(body);
	if (cell.spent <= CELL_MAX)
		send('output', cell.secret, body);
	else if (before <= CELL_MAX)
		send('output', cell.secret, { 'text/plain': '[this and further rich results of the cell are left out: more than 15 MiB]' });
}

function done(ok, exit) {
	const { secret } = current;

	current = null;
	input.end();
	send('done', secret, { ok, exit });
}

// Values

function cut(text) {
	return text.length <= TEXT_MAX ? text : `${text.slice(0, TEXT_MAX)} [… ${text.length - TEXT_MAX} more characters]`;
}

function bundleOf(value) {
	const rich = value !== null && typeof value === 'object' ? value[Symbol.for('Jupyter.display')] : undefined;
	const found = typeof rich === 'function' ? rich.call(value) : {};
	const long = typeof value === 'string' && value.length > TEXT_MAX;
	const text = long ? `${util.inspect(value.slice(0, TEXT_MAX), { maxStringLength: null })} [… ${value.length - TEXT_MAX} more characters]`
		: cut(util.inspect(value, { showProxy: true, maxStringLength: null }));

	return { 'text/plain': text, ...found };
}

function display(...values) {
	for (const value of values)
		output(bundleOf(value));
}

// What the inspector answers, as the value itself.
function valueOf(remote) {
	if (remote.objectId === undefined)
		return 'unserializableValue' in remote ? special(remote.unserializableValue) : remote.value;
	taken = undefined;
	debug.post('Runtime.callFunctionOn', {
		objectId: handle,
		functionDeclaration: 'function (value) { this(value); }',
		arguments: [{ objectId: remote.objectId }],
		silent: true,
	});
	return taken;
}

function special(text) {
	return text.endsWith('n') ? BigInt(text.slice(0, -1)) : Number(text);
}

// A name for a function of ours that only the inspector knows.
function hold(take) {
	globalThis[door] = take;
	const expression = 'Object.getOwnPropertySymbols(globalThis).map((s) => globalThis[s])';
	const functionDeclaration = `function () { return this.find((f) => typeof f === 'function' && f.name === 'take'); }`;
	const objectGroup = 'driver';
	debug.post('Runtime.evaluate', { expression, objectGroup }, (_, { result }) => {
		debug.post('Runtime.callFunctionOn', { objectId: result.objectId, objectGroup, functionDeclaration }, (error, found) => {
			handle = found.result.objectId;
		});
	});
	delete globalThis[door];
}

// Standard streams

// Written at once, without a state that an interrupt in its middle would leave behind.
function written(fd) {
	const stream = new Writable({ decodeStrings: false });

	stream.fd = fd;
	stream._type = 'pipe';
	stream._isStdio = true;
	stream.destroySoon = stream.destroy;
	stream._destroy = (error, callback) => callback(error);
	stream.write = (data, encoding, callback) => {
		const rest = typeof data === 'string' ? from(data, typeof encoding === 'string' ? encoding : 'utf8') : data;
		const then = typeof encoding === 'function' ? encoding : callback;

		for (let at = 0; at < rest.length;)
			at += writeSync(fd, rest, at);
		if (typeof then === 'function')
			process.nextTick(then);
		return true;
	};
	stream._write = (data, encoding, callback) => stream.write(data, encoding, callback);
	return stream;
}

const input = {
	kind: 'pipe',
	saved: -1, // the box's standard input, while 0 is something else
	stream: null,

	// Descriptor 0 is what is opened after it was closed: the lowest number that is free.
	open(kind, name) {
		if (this.saved < 0)
			this.saved = fs.openSync('/proc/self/fd/0', 'r');
		fs.closeSync(0);
		const fd = fs.openSync(name, 'r');
		if (fd !== 0)
			throw new Error(`standard input became ${fd}`);
		this.kind = kind;
	},
	give(stdin, data) {
		if (stdin === this.kind && stdin !== 'data')
			return;
		if (stdin === 'pipe')
			this.open('pipe', `/proc/self/fd/${this.saved}`);
		else if (stdin === 'none')
			this.open('none', '/dev/null');
		else {
			const directory = fs.mkdtempSync('/tmp/.stdin-');
			fs.writeFileSync(`${directory}/data`, data, { mode: 0o600 });
			this.open('data', `${directory}/data`);
			fs.rmSync(directory, { recursive: true });
		}
	},
	make() {
		if (this.kind !== 'pipe')
			return fs.createReadStream('', { fd: 0, autoClose: false });
		return new net.Socket({ fd: fs.openSync('/proc/self/fd/0', 'r'), readable: true, writable: false });
	},
	end() {
		if (this.stream)
			this.stream.destroy();
		this.stream = null;
	},
};

// Cells

// What Node.js keeps of the callbacks it is in is not what it was after an interrupt in one of them, and it ends the process
// for that. An error that nobody catches makes it begin anew: this one.
const BROKEN = Symbol('broken');

// Runs a function that SIGINT ends, and all that is to be done right after it; whether it was ended, and BROKEN is due.
function guarded(action) {
	globalThis[outside] = () => {
		delete globalThis[outside];
		Atomics.store(seen, 2, 1);
		action();
		process._tickCallback();
		Atomics.store(seen, 2, 0);
	};
	try {
		guard.runInThisContext({ breakOnSigint: true, displayErrors: false });
	} catch (error) {
		Atomics.store(seen, 2, 0);
		if (error?.code !== 'ERR_SCRIPT_EXECUTION_INTERRUPTED')
			throw error;
		came();
		interrupted();
		if (waiting.length > 0)
			setImmediate(take);
		return true;
	}
	return false;
}

function fail(error, place) {
	const { secret, name } = current;
	const told = errors.told(error, name, place);

	process.stderr.write(told.text);
	send('error', secret, told.error);
	done(false, 1);
}

// An interrupt is a signal, which another thread hears, and before that a line on the channel: whose cell it is. A signal
// whose cell is over must not be the next one's, which waits until it has come.
const LATE = 200; // ms: of several signals at once one may come
const seen = new Int32Array(new SharedArrayBuffer(12)); // session_watch.cjs has what is in it
let due = 0; // signals that are on their way
let doomed = null; // the secret of the cell that was interrupted last
let held = null; // what waits for them
let ending = false; // the cell that ran last was interrupted

// Reads what came by the channel since, and takes the lines about interrupts out of it.
function pull() {
	const block = allocUnsafe(4096);

	try {
		waiting = concat([waiting, block.subarray(0, readSync(3, block))]);
	} catch {
		// nothing came
	}
	for (let line; (line = /^interrupt ([0-9a-f]+) 0\n/.exec(waiting.toString('latin1', 0, 64))); due++) {
		waiting = waiting.subarray(line[0].length);
		doomed = line[1];
	}
}

// A signal has come.
function came() {
	pull();
	due = due > 0 ? due - 1 : 0;
	if (due === 0 && held)
		setImmediate(held);
	if (!current && waiting.length > 0)
		setImmediate(take);
}

function settled(go) {
	const begin = () => {
		if (held !== begin)
			return;
		clearTimeout(late);
		held = null;
		due = 0;
		go();
	};
	const late = setTimeout(begin, LATE);

	held = begin;
}

function interrupted() {
	if (!current)
		return;
	ending = true;
	// The signal may come while this is being told, or another error.
	if (!current.told) {
		const message = 'the cell was interrupted';
		process.stderr.write('Interrupted\n');
		send('error', current.secret, { type: 'Interrupted', message, file: current.name, line: null, column: null, frames: [] });
	}
	done(false, 130);
}

function evaluate(cell, code, left) {
	const wanted = { expression: `${code}\n//# sourceURL=${cell.name}`, replMode: true, objectGroup: 'cell', silent: true };

	debug.post('Runtime.evaluate', wanted, (error, answer) => {
		if (current !== cell)
			return; // it was interrupted
		try {
			finish(cell, code, left, error, answer);
		} catch (thrown) {
			setImmediate(() => current === cell && fail(thrown));
		} finally {
			debug.post('Runtime.releaseObjectGroup', { objectGroup: 'cell' });
		}
	});
}

// What the cell came to. The last word is said later, where no signal can end that in its middle: it would be said twice.
function finish(cell, code, left, error, answer) {
	if (error) {
		const stopped = /terminated/.test(error.message);
		setImmediate(() => current === cell && (stopped ? interrupted() : fail(new Error(error.message))));
		return undefined;
	}
	const { result, exceptionDetails: details } = answer;
	const value = valueOf(details ? details.exception : result);
	if (!details) {
		if (value !== undefined) {
			last = value;
			output(bundleOf(value));
		}
		// A promise that was rejected, and that nobody waits for, is told of before that.
		ending = false;
		setImmediate(() => current === cell && done(true, 0));
		return undefined;
	}
	const early = details.scriptId !== undefined && value instanceof SyntaxError;
	const place = early ? { line: details.lineNumber + 1, column: details.columnNumber + 1 } : null;
	const mended = early && left > 0 ? source.mend(code, value.message, place) : null;
	if (mended !== null)
		return evaluate(cell, mended, left - 1);
	// It may be that an interrupt is on its way that ended what the cell waited for.
	if (value?.signal === 'SIGINT') {
		setImmediate(() => current === cell && interrupted());
		return undefined;
	}
	const told = () => current === cell && fail(value, place);
	if (value === null)
		setTimeout(told, 50); // as what an interrupt ended looks
	else
		setImmediate(told);
	return undefined;
}

function execute(secret, count, stdin, payload) {
	const size = /^\d+$/.test(stdin) ? payload.length - Number(stdin) : payload.length;
	const name = `cell-${count}`;
	let code = payload.subarray(0, size).toString();

	current = { secret, name, spent: 0, began: hrtime.bigint() };
	input.give(size < payload.length || stdin === '0' ? 'data' : stdin, payload.subarray(size));
	errors.keep(name, code, KEPT_MAX);
	if (esbuild) {
		const made = require('./session_types.cjs').strip(esbuild, code, name);
		// The signal is for the whole group: it ends esbuild, and this hears of it later.
		pull();
		if (doomed === secret)
			return interrupted();
		if (made.error)
			return fail(made.error, made.place);
		code = made.code;
		errors.map(name, code, made.map);
	}
	const cell = current;
	if (waiting.length > 0)
		pull();
	if (doomed === secret)
		return interrupted();
	const ended = guarded(() => {
		// From here on a signal ends this. One that came before it was for the other thread.
		if (seen[0] !== Atomics.load(seen, 1))
			pull();
		if (doomed !== secret)
			evaluate(cell, source.prepare(code), 50);
	});
	if (doomed === secret)
		interrupted();
	if (ended)
		throw BROKEN;
}

function uncaught(error) {
	// What an interrupt ended may be told of twice, as what the cell failed by and as what nobody caught.
	if (error === BROKEN || (error?.signal === 'SIGINT' && ending))
		return;
	try {
		if (current)
			fail(error);
		else
			process.stderr.write(errors.told(error, 'cell', null).text);
	} catch {
		exit.call(process, 1); // a cell took apart what this needs: nothing could be answered any more
	}
}

// Requests

function request(line, payload) {
	const [word, secret, , first, stdin] = line.split(' ');

	if (word === 'execute' && due > 0)
		return settled(() => execute(secret, first, stdin, payload));
	if (word === 'execute')
		return execute(secret, first, stdin, payload);
	const assist = require('./session_assist.cjs');
	let answer = assist.nothing(word, Number(first));
	const ended = guarded(() => {
		answer = assist[word](debug, valueOf, payload.toString(), Number(first)) ?? answer;
	});
	send('reply', secret, answer);
	if (ended)
		throw BROKEN;
}

function take() {
	for (;;) {
		const before = due;
		pull();
		// A cell that waits needs no signal.
		if (due > before && doomed === current?.secret && process.listenerCount('SIGINT') === 0)
			interrupted();
		const end = waiting.indexOf(10);
		if (end < 0)
			return;
		const line = waiting.toString('latin1', 0, end);
		const size = Number(line.split(' ')[2]);
		if (waiting.length < end + 1 + size)
			return;
		const payload = waiting.subarray(end + 1, end + 1 + size);
		waiting = waiting.subarray(end + 1 + size);
		request(line, payload);
	}
}

channel.on('data', (data) => {
	try {
		waiting = waiting.length ? concat([waiting, data]) : data;
		take();
	} catch (error) {
		if (error === BROKEN)
			throw error;
		if (!current)
			exit.call(process, 1); // a cell took apart what this needs
		uncaught(error);
	}
});
channel.on('end', () => {
	try {
		exit.call(process, 0);
	} catch {
		reallyExit.call(process, 0); // a cell took apart what that needs
	}
});
channel.on('error', () => Atomics.wait(moment, 0, 0)); // closed, as above

// What cells see

function define(name, value) {
	Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
}

// A property that is made when it is first asked for, and can be set.
function lazy(object, name, make) {
	Object.defineProperty(object, name, {
		configurable: true,
		enumerable: false,
		get: make,
		set(value) {
			Object.defineProperty(object, name, { value, writable: true, configurable: true, enumerable: true });
		},
	});
}

function prepare() {
	const main = path.join(process.cwd(), 'cell.js');
	const require = Module.createRequire(main);
	const module = new Module(main, null);

	module.filename = main;
	module.paths = Module._nodeModulePaths(process.cwd());
	define('require', require);
	define('module', module);
	define('exports', module.exports);
	define('display', display);
	define(source.IMPORT, source.importer());
	// What a cell's own import() needs of Node.js 20 is called experimental there.
	const { emitWarning } = process;
	process.emitWarning = function (warning, ...more) {
		if (!String(warning).includes('USE_MAIN_CONTEXT_DEFAULT_LOADER'))
			emitWarning.call(process, warning, ...more);
	};
	for (const name of Module.builtinModules)
		if (!/^_|[/:]/.test(name) && !(name in globalThis))
			lazy(globalThis, name, () => require(name));
	lazy(globalThis, '_', () => last);
	for (const [fd, name] of [[1, 'stdout'], [2, 'stderr']]) {
		const stream = written(fd);
		Object.defineProperty(process, name, { configurable: true, enumerable: true, get: () => stream });
	}
	Object.defineProperty(process, 'stdin', {
		configurable: true,
		enumerable: true,
		get: () => (input.stream ??= input.make()),
	});
	process.argv.splice(1);
	process.setUncaughtExceptionCaptureCallback(uncaught);
}

// Interrupts are heard by a thread (session_watch.cjs): libuv has to leave SIGINT alone, also when a cell listens to it.
function watch() {
	const thread = new Worker(path.join(__dirname, 'session_watch.cjs'), { workerData: seen.buffer });

	for (const event of ['newListener', 'removeListener'])
		for (const listener of process.listeners(event)) {
			process.removeListener(event, listener);
			process.on(event, (type, ...more) => type === 'SIGINT' || listener.call(process, type, ...more));
		}
	thread.on('message', ({ number, time }) => {
		if (number === 0) {
			send('ready', '-', { driver: `node ${process.versions.node}`, complete: true, inspect: true, interrupt: true });
			return;
		}
		Atomics.store(seen, 0, number);
		Atomics.notify(seen, 0);
		came();
		if (process.listenerCount('SIGINT') > 0)
			process.emit('SIGINT', 'SIGINT', 2);
		else if (current && (doomed === current.secret || time > current.began))
			interrupted();
	});
	thread.unref();
}

debug.connect();
hold(function take(value) {
	taken = value;
});
prepare();
watch();
