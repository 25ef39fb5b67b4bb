// A walk through what Node.js has; each part checks itself.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import * as fs from "node:fs/promises";
import { createServer as createWebServer } from "node:http";
import { connect, createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { setTimeout as later } from "node:timers/promises";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import { gunzipSync, gzipSync } from "node:zlib";

async function files(): Promise<void> {
	const directory = await fs.mkdtemp(path.join(tmpdir(), "tour-"));
	const file = path.join(directory, "note.txt");
	await fs.writeFile(file, "one\n");
	await fs.appendFile(file, "two\n");
	assert.equal(await fs.readFile(file, "utf8"), "one\ntwo\n");
	assert.equal((await fs.stat(file)).size, 8);
	assert.deepEqual(await fs.readdir(directory), ["note.txt"]);
	await fs.rm(directory, { recursive: true });
	await assert.rejects(fs.stat(file), { code: "ENOENT" });
}

function patterns(): void {
	const match = /(?<year>\d{4})-(?<month>\d\d)/u.exec("on 2024-02-29");
	assert.equal(match?.groups?.["year"], "2024");
	assert.equal("ada@example.org".replace(/(\w+)@(\w+)\.org/, "$2:$1"), "example:ada");
	assert.deepEqual([..."a1b22".matchAll(/\d+/g)].map((m) => m[0]), ["1", "22"]);
}

function objects(): void {
	interface Item {
		name: string;
		tags: string[];
	}
	const item = JSON.parse('{"name":"ember","tags":["a","ü"]}') as Item;
	assert.deepEqual(item, { name: "ember", tags: ["a", "ü"] });
	assert.equal(JSON.stringify({ b: null, a: 1.5 }), '{"b":null,"a":1.5}');
	assert.deepEqual(structuredClone(new Map([[1, new Set([2])]])).get(1), new Set([2]));
}

function dates(): void {
	const day = new Date(Date.UTC(2024, 1, 28, 23));
	day.setUTCHours(day.getUTCHours() + 2);
	assert.equal(day.toISOString(), "2024-02-29T01:00:00.000Z");
	assert.equal(new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeZone: "UTC" }).format(day), "29 February 2024");
}

function bytes(): void {
	assert.equal(createHash("sha256").update("ember").digest("hex").length, 64);
	assert.equal(gunzipSync(gzipSync("ember ".repeat(100))).toString(), "ember ".repeat(100));
	assert.equal(Buffer.from("✓").toString("base64"), "4pyT");
	assert.equal(new URL("../b?q=1", "http://x.test/a/c").href, "http://x.test/b?q=1");
}

async function processes(): Promise<void> {
	const { stdout } = await promisify(execFile)("/bin/sh", ["-c", "echo $((6 * 7))"]);
	assert.equal(stdout, "42\n");
}

async function threads(): Promise<void> {
	const shared = new Int32Array(new SharedArrayBuffer(4));
	const source = `
		const { parentPort, workerData } = require("node:worker_threads");
		for (let i = 0; i < 1000; i++) Atomics.add(workerData, 0, 1);
		parentPort.postMessage("done");`;
	const workers = [1, 2].map(() => new Worker(source, { eval: true, workerData: shared }));
	for (const [word] of await Promise.all(workers.map((worker) => once(worker, "message")))) assert.equal(word, "done");
	assert.equal(Atomics.load(shared, 0), 2000);
}

async function sockets(): Promise<void> {
	const server = createServer((peer) => peer.on("data", (data) => peer.end(data.toString().toUpperCase())));
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
	socket.write("echo");
	let heard = "";
	for await (const data of socket) heard += String(data);
	assert.equal(heard, "ECHO");
	server.close();

	const web = createWebServer((request, response) => response.end(JSON.stringify({ url: request.url })));
	web.listen(0, "127.0.0.1");
	await once(web, "listening");
	const answer = await fetch(`http://127.0.0.1:${(web.address() as AddressInfo).port}/page`, {
		headers: { connection: "close" },
	});
	assert.deepEqual(await answer.json(), { url: "/page" });
	web.close();
}

async function streams(): Promise<void> {
	const lines: string[] = [];
	for await (const line of createInterface({ input: Readable.from(["a\nb", "c\n"]) })) lines.push(line);
	assert.deepEqual(lines, ["a", "bc"]);
	const first = await Promise.race([later(1, "timer"), new Promise<never>(() => {})]);
	assert.equal(first, "timer");
}

await files();
patterns();
objects();
dates();
bytes();
await processes();
await threads();
await sockets();
await streams();
console.log("tour ok");
