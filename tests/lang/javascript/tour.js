// What the standard library can do in a box; each part checks itself.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as after } from 'node:timers/promises';
import url from 'node:url';
import util from 'node:util';
import vm from 'node:vm';
import { Worker } from 'node:worker_threads';
import zlib from 'node:zlib';

async function files() {
	const place = fs.mkdtempSync(path.join(os.tmpdir(), 'tour-'));
	const file = path.join(place, 'a', 'b.txt');

	fs.mkdirSync(path.dirname(file), { recursive: true });
	await fs.promises.writeFile(file, 'é\nb\n');
	assert.equal(fs.statSync(file).size, 5);
	fs.symlinkSync(file, file + '.link');
	assert.equal(fs.readFileSync(file + '.link', 'utf8'), 'é\nb\n');
	assert.deepEqual(fs.readdirSync(path.dirname(file)).sort(), ['b.txt', 'b.txt.link']);
	const lines = [];
	for await (const line of readline.createInterface({ input: fs.createReadStream(file) }))
		lines.push(line);
	assert.deepEqual(lines, ['é', 'b']);
	fs.rmSync(place, { recursive: true });
	assert.equal(fs.existsSync(place), false);
}

function text() {
	const { groups } = /(?<key>\w+)\s*=\s*(?<value>[^;]+);/u.exec('  name = Ember ; rest');

	assert.deepEqual({ ...groups }, { key: 'name', value: 'Ember ' });
	assert.equal('a1 b22'.replace(/\d+/g, (n) => n * 2), 'a2 b44');
	assert.equal('é'.normalize('NFD').length, 2);
	assert.equal(util.format('%s %d %j', 'a', 1, { b: 2 }), 'a 1 {"b":2}');
	assert.equal(Buffer.from('ember').toString('base64'), 'ZW1iZXI=');
	assert.equal(new TextDecoder().decode(new TextEncoder().encode('日本')), '日本');
	assert.equal((1234567.891).toLocaleString('en-US'), '1,234,567.891');
}

function data() {
	const value = { a: [1, 2.5, null, true, 'é'] };

	assert.deepEqual(JSON.parse(JSON.stringify(value)), value);
	assert.deepEqual(structuredClone(new Map([[1, value]])), new Map([[1, value]]));
	assert.equal(crypto.createHash('sha256').update('').digest('hex').slice(0, 8), 'e3b0c442');
	assert.equal(zlib.gunzipSync(zlib.gzipSync('x'.repeat(1000))).length, 1000);
	assert.equal(2n ** 100n, 1267650600228229401496703205376n);
	assert.equal(new url.URL('../c?x=1', 'http://host/a/b/').href, 'http://host/a/c?x=1');
	assert.equal(vm.runInNewContext('x + 1', { x: 41 }), 42);
	assert.equal(new WebAssembly.Module(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0)) instanceof WebAssembly.Module, true);
}

function dates() {
	const day = new Date(Date.UTC(2024, 1, 28, 23, 59, 59));

	day.setUTCSeconds(60);
	assert.equal(day.toISOString(), '2024-02-29T00:00:00.000Z');
	assert.equal(new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' }).format(day), '29 February 2024');
	assert.ok(process.hrtime.bigint() > 0n);
}

async function events() {
	const emitter = new EventEmitter();

	setImmediate(() => emitter.emit('go', 7));
	assert.deepEqual(await once(emitter, 'go'), [7]);
	assert.equal(await after(1, 'later'), 'later');
	const loud = new Transform({ transform: (chunk, _, done) => done(null, chunk.toString().toUpperCase()) });
	const got = [];
	await pipeline(Readable.from(['a', 'b']), loud, async (source) => {
		for await (const chunk of source)
			got.push(chunk.toString());
	});
	assert.equal(got.join(''), 'AB');
}

async function threads() {
	const shared = new Int32Array(new SharedArrayBuffer(4));
	const code = `const { workerData } = require('node:worker_threads');
		for (let i = 0; i < 1000; i++) Atomics.add(workerData, 0, 1);`;
	const workers = [1, 2, 3].map(() => new Worker(code, { eval: true, workerData: shared }));

	await Promise.all(workers.map((worker) => once(worker, 'exit')));
	assert.equal(shared[0], 3000);
}

async function processes() {
	assert.equal(spawnSync('/bin/sh', ['-c', 'cat; exit 3'], { input: 'in' }).status, 3);
	assert.equal(execFileSync(process.execPath, ['-p', '6 * 7'], { encoding: 'utf8' }), '42\n');
	const child = spawn('sleep', ['60']);
	child.kill('SIGTERM');
	assert.deepEqual(await once(child, 'exit'), [null, 'SIGTERM']);
}

async function sockets() {
	const server = net.createServer((socket) => socket.pipe(socket)).listen(0, '127.0.0.1');

	await once(server, 'listening');
	const client = net.connect(server.address().port, 'localhost');
	client.end('echo');
	const got = [];
	for await (const chunk of client)
		got.push(chunk);
	assert.equal(Buffer.concat(got).toString(), 'echo');
	server.close();

	const site = http.createServer((request, response) => response.end(request.url)).listen(0, '127.0.0.1');
	await once(site, 'listening');
	const answer = await fetch(`http://127.0.0.1:${site.address().port}/ember`);
	assert.equal(await answer.text(), '/ember');
	site.closeAllConnections();
	site.close();
}

await files();
text();
data();
dates();
await events();
await threads();
await processes();
await sockets();
console.log('tour ok');
