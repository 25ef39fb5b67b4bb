// Makes Node.js a zygote: loaded by -r after it has started, it waits for a program (src/engine/ember/node.h), and is over
// before Node.js goes on to run that. Nothing of it may be left for a program to see.
'use strict';
const fs = require('node:fs');
const Module = require('node:module');
const v8 = require('node:v8');
const vm = require('node:vm');
const { isMainThread } = require('node:worker_threads');
const native = {};
const paths = require('./paths.cjs');
// TypeScript has none; its programs are modules already.
const modules = fs.existsSync(`${__dirname}/modules.cjs`) ? require('./modules.cjs') : undefined;
let collect;

// As if neither this file nor what is for the zygote alone had been on the command line.
function forget() {
	const flag = process.execArgv.indexOf('--no-memory-reducer');

	if (flag >= 0)
		process.execArgv.splice(flag, 1);
	paths.forget(__filename);
}

// Node.js knows what it will run since it started. It asks for the function once: no frame of ours is on the stack.
function redirect(entry) {
	const { runMain } = Module;

	Object.defineProperty(Module, 'runMain', {
		configurable: true,
		enumerable: true,
		get() {
			Object.defineProperty(Module, 'runMain', { value: runMain, configurable: true, enumerable: true, writable: true });
			return runMain.bind(Module, entry);
		},
	});
}

// Of the environment, what Node.js has read already and can be told to read again.
function reread(before) {
	if (process.env.TZ !== before.TZ) {
		if (process.env.TZ === undefined)
			delete process.env.TZ;
		else
			process.env.TZ = process.env.TZ;
	}
	if (process.env.HOME !== before.HOME || process.env.NODE_PATH !== before.NODE_PATH)
		paths.init();
}

function become([entry, ...args], before) {
	const expected = process.argv[1];
	process.argv.splice(1, Infinity, entry, ...args);
	// Where it is, is remembered since before.
	process.chdir('.');
	reread(before);
	if (modules?.teach?.(entry))
		return;
	if (entry !== expected)
		redirect(entry);
}

// Modules that programs often use: loaded once, they are there for all.
const common = ['async_hooks', 'buffer', 'child_process', 'crypto', 'events', 'fs', 'fs/promises', 'http', 'net',
	'os', 'path', 'perf_hooks', 'querystring', 'readline', 'stream', 'stream/promises', 'string_decoder',
	'timers/promises', 'tty', 'url', 'util', 'v8', 'vm', 'zlib'];

// Runs the loop until all is done that was begun: no program is there yet whose order that could change.
function settle(isDone) {
	const end = Date.now() + 2000;

	while (!isDone() && Date.now() < end) {
		native.turn();
		process._tickCallback();
	}
}

// What nearly every program goes through: a script is run, and something is written to a pipe.
function exercise(isFirst) {
	const net = require('node:net');
	const { Console } = require('node:console');
	const [reader, writer] = native.pipe();
	const input = new net.Socket({ fd: reader, readable: true, writable: false, manualStart: true });
	const output = new net.Socket({ fd: writer, readable: false, writable: true });
	const log = new Console(output, output);
	let left = 4;
	const done = () => left--;

	log.log(1);
	log.log('%s', 'two', 3, [4, 'five', { six: 6 }], new Map([[7, 8]]), new Error('no error').message);
	input.on('data', () => {});
	input.once('close', done);
	output.once('close', done);
	setTimeout(done, 0);
	setImmediate(done);
	Module.runMain(`${__dirname}/warm.cjs`);
	if (isFirst) {
		left++;
		import('./warm.mjs').then(done, done);
	}
	output.end(() => input.destroy());
	settle(() => left === 0);
	delete process.mainModule;
	paths.forget(`${__dirname}/warm.cjs`);
}

// The way to a stream of the process, up to where it would be made.
function attempt(getter, fd) {
	const net = require('node:net');
	const { Socket } = net;
	const status = fs.fstatSync(fd);

	if (!status.isFIFO() && !status.isSocket())
		return;
	net.Socket = function () {
		throw null;
	};
	try {
		getter.call(process);
	} catch {
		// It was to fail.
	}
	net.Socket = Socket;
}

// Streams of the process are made when they are asked for first, which must be the program's asking.
function withoutStreams(action) {
	const names = ['stdin', 'stdout', 'stderr'];
	const kept = names.map((name) => Object.getOwnPropertyDescriptor(process, name));

	names.forEach((name, fd) => {
		attempt(kept[fd].get, fd);
		Object.defineProperty(process, name, { value: {}, configurable: true, enumerable: true });
	});
	try {
		action();
	} finally {
		names.forEach((name, i) => Object.defineProperty(process, name, kept[i]));
	}
}

// Math.random() of this context takes its seed when it is called first. One generator serves all other contexts, and
// has its seed already: it is moved on by chance. In the zygote there is none yet: all forks would have the same.
function seed(number) {
	if (number === undefined)
		return;
	v8.setFlagsFromString(`--random-seed=${1 + number % 0x7ffffffe}`);
	Math.random();
	v8.setFlagsFromString('--random-seed=0');
	for (let i = number % 1021; i > 0; i--)
		new Set().add({});
}

// What a small collection has done by threads, unless it is told not to; Node.js 18 does so in any case.
const threaded = ['parallel-scavenge', 'concurrent-sweeping', 'concurrent-array-buffer-sweeping'];
const major = Number(process.versions.node.split('.')[0]);

// In each fork, before there is a program: whatever is written to is a page of its own from then on. In the zygote as
// well, so that it is compiled.
// In a hurry only what makes a fork another than the next.
function rehearse(number, hurry) {
	seed(number);
	if (hurry)
		return;
	become(process.argv.slice(1), process.env);
	withoutStreams(() => exercise(false));
	// Not with threads of V8's: beside those, pages are dearer to copy for as long as the fork lives.
	if (major < 20)
		return;
	for (const way of threaded)
		v8.setFlagsFromString(`--no-${way}`);
	collect({ type: 'minor' });
	for (const way of threaded)
		v8.setFlagsFromString(`--${way}`);
}

// V8 gives its collector to contexts that are made after it was asked for.
function collector() {
	v8.setFlagsFromString('--expose-gc');
	const gc = vm.runInNewContext('gc');
	v8.setFlagsFromString('--no-expose-gc');
	return gc;
}

// By its number (src/engine/ember/node.h), a time that Node.js tells. Node.js 18 reads performance.timeOrigin once for ever.
function times() {
	const { prototype } = Performance;
	const origin = Object.getOwnPropertyDescriptor(prototype, 'timeOrigin');
	const tell = [
		() => {
			const value = origin.get.call(performance);
			Object.defineProperty(prototype, 'timeOrigin', origin);
			return value;
		},
		() => performance.now(),
		() => performance.nodeTiming.nodeStart,
	];

	return (which) => tell[which]();
}

function zygote() {
	// It is loaded already, and known by its name.
	process.dlopen({ exports: native }, 'libember.so');
	if (!native.wait || ![18, 20, 22].includes(major))
		throw new Error(`Node.js ${process.version} cannot be forked`);
	withoutStreams(() => {
		for (const name of common)
			require(`node:${name}`);
		for (let i = 0; i < 10; i++)
			exercise(i === 0);
	});
	for (process.exitCode of [0x5eed5eed, 0x0dd0dd00])
		native.exitCode(process.exitCode);
	process.exitCode = undefined;
	process.reallyExit = native.reallyExit;
	forget();
	collect = collector();
	// Garbage would be copied in each fork; compiled code is none, and what the collector forgets is learnt once more.
	v8.setFlagsFromString('--no-flush-bytecode');
	collect();
	collect();
	v8.setFlagsFromString('--flush-bytecode');
	for (let i = 0; i < 3; i++)
		rehearse(undefined, false);
	const { TZ, HOME, NODE_PATH } = process.env;
	become(native.wait(rehearse, times()), { TZ, HOME, NODE_PATH });
}

if (isMainThread)
	zygote();
else
	forget();
