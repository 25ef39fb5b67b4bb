// The thread that hears interrupts. Node.js has one handler of SIGINT for all vm calls that it can end, and tells the call
// that began last. This thread is in such a call all the time: so the handler is always there, no interrupt is lost while
// a cell's own call begins or ends, and what comes while the cell waits is told to the main thread. A main thread that
// does not hear it is busy after a wait: V8's inspector ends that.
'use strict';
const inspector = require('node:inspector');
const vm = require('node:vm');
const { parentPort, workerData } = require('node:worker_threads');

const PATIENCE = 500; // ms; less, and a main thread that only had to wait for a processor would count as busy
const TRIES = 5;
const heard = new Int32Array(workerData); // the number of the interrupt that the main thread heard of last
const inner = new vm.Script('next()');
let number = 1; // of the interrupt that comes next
const forever = new vm.Script('Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)');

function endBusy() {
	const session = new inspector.Session();

	session.connectToMainThread();
	session.post('Runtime.terminateExecution');
	session.disconnect();
}

function listen() {
	for (; ; number++) {
		try {
			forever.runInThisContext({ breakOnSigint: true, displayErrors: false });
		} catch {
			parentPort.postMessage({ number, time: process.hrtime.bigint() });
			for (let tries = 0; Atomics.load(heard, 0) < number && tries < TRIES; tries++)
				if (Atomics.wait(heard, 0, number - 1, PATIENCE) === 'timed-out')
					endBusy();
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
			parentPort.postMessage({ number: number++, time: process.hrtime.bigint() });
			globalThis.next = depth > 0 ? () => within(depth - 1) : listen;
		}
}

parentPort.postMessage({ number: 0 });
within(3);
