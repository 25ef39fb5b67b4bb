// The thread that hears interrupts. Node.js has one handler of SIGINT for all vm calls that it can end, and tells the call
// that began last. This thread is in such a call all the time: so the handler is always there, no interrupt is lost while
// a cell's own call begins or ends, and what comes while the cell waits is told to the main thread. A main thread that
// does not hear it is busy after a wait: V8's inspector ends that.
'use strict';
const inspector = require('node:inspector');
const vm = require('node:vm');
const { parentPort, workerData } = require('node:worker_threads');

const PATIENCE = 500; // ms; less, and a main thread that only had to wait for a processor would count as busy
const BEGUN = 20; // ms; for one that began a cell just after the signal
const TRIES = 5;
// The numbers of the interrupts that the main thread, and this one, heard of last; whether that is in a cell's own call.
const heard = new Int32Array(workerData);
const inner = new vm.Script('next()');
let number = 1; // of the interrupt that comes next
let told = false; // that it listens
const forever = new vm.Script('Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)');

function endBusy() {
	const session = new inspector.Session();

	session.connectToMainThread();
	session.post('Runtime.terminateExecution');
	session.disconnect();
}

function tell() {
	Atomics.store(heard, 1, number);
	parentPort.postMessage({ number, time: process.hrtime.bigint() });
}

// Within all of them: from here on no interrupt ends the process.
function listen() {
	if (!told)
		parentPort.postMessage({ number: 0 });
	told = true;
	for (; ; number++) {
		try {
			forever.runInThisContext({ breakOnSigint: true, displayErrors: false });
		} catch {
			tell();
			for (let tries = 0; Atomics.load(heard, 0) < number && tries < TRIES; tries++) {
				const begun = tries === 0 && Atomics.load(heard, 2) === 1;
				if (Atomics.wait(heard, 0, number - 1, begun ? BEGUN : PATIENCE) !== 'timed-out')
					continue;
				if (!begun)
					endBusy();
				else if (Atomics.load(heard, 2) === 1)
					process.kill(process.pid, 'SIGINT'); // which its own call hears
			}
		}
	}
}

// With no such call under way SIGINT would end the process; so calls stand within calls, for those that come in between.
function within(depth) {
	globalThis.next = depth > 0 ? () => within(depth - 1) : listen;
	for (;;)
		try {
			inner.runInThisContext({ breakOnSigint: true, displayErrors: false });
		} catch {
			tell();
			number++;
			globalThis.next = depth > 0 ? () => within(depth - 1) : listen;
		}
}

within(3);
