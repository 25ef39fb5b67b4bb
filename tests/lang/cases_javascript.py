"""Programs whose output, errors and exit status are the same in a fork of a zygote and in a new Node.js.

Each is (name, source, arguments, standard input[, file name[, other files]]). They tell nothing that differs from one
run to the next: no process ids, no sizes, no times.
"""

import re


def same(text):
    """Without names by chance."""
    # Whether a worker's error is heard by a message or by the worker's end is chance as well.
    if b"node:internal/worker" in text:
        text = re.sub(rb"\n    at [^\n]*\(node:internal/[^\n]*", b"", text)
    text = re.sub(rb"^\(node:\d+\) ", b"(node) ", text, flags=re.M)  # of a warning
    text = re.sub(rb"0x[0-9a-f]+", b"0x", text)  # of what Node.js prints when it is aborted
    return re.sub(rb"(/tmp/x-)\w{6}", rb"\1", text)


CASES = [
    ('hello', "console.log('hello', 1, { a: [1, 2] }, null, undefined, 1n, Symbol('s'));", [], ''),
    ('nothing', '', [], ''),
    ('arguments', 'console.log(process.argv.length, process.argv.slice(1), process.argv0, process.execArgv.length);',
     ['one', '--two', '-r', 'three four', '', 'ünï'], ''),
    ('exec_arguments', 'console.log(process.execArgv, process._preload_modules, process.execPath, process.title);', [], ''),
    ('module_cache', 'console.log(Object.keys(require.cache), Object.values(require("module")._pathCache), module.children.length, require.main === module);', [], ''),
    ('environment', """
const keys = Object.keys(process.env).sort();
console.log(keys, process.env.HOME, 'PATH' in process.env, process.env.LD_PRELOAD, process.env.NOPE);
process.env.NEW = 'x'; console.log(process.env.NEW, require('child_process').execSync('echo $NEW') + '');
delete process.env.HOME; console.log(process.env.HOME, require('os').homedir().length > 0);""", [], ''),
    ('cwd', "console.log(process.cwd(), __dirname, __filename); process.chdir('/'); console.log(process.cwd());", [], ''),
    ('main', """
console.log(require.main === module, module.id, module.filename, module.parent, module.children.length, module.loaded,
    process.mainModule === module, module.paths);""", [], ''),
    ('this', 'console.log(this === module.exports, typeof globalThis.gc, arguments.length, typeof require.resolve);', [], ''),
    ('caches', """
const Module = require('module');
console.log(Object.keys(require.cache).map((f) => f.split('/').pop()), Object.keys(Module._pathCache).length,
    Object.getOwnPropertyDescriptor(Module, 'runMain').writable, Module.runMain.name);""", [], ''),
    ('globals', "console.log(Object.getOwnPropertyNames(globalThis).sort().join());", [], ''),
    ('process_object', """
for (const key of Object.getOwnPropertyNames(process).sort()) {
    const d = Object.getOwnPropertyDescriptor(process, key);
    console.log(key, d.enumerable, d.configurable, d.writable, typeof d.get, typeof d.value);
}
console.log(Object.keys(process.versions).length, process.exitCode, process._exiting, process.eventNames(),
    process.listenerCount('exit'), process.listenerCount('warning'));""", [], ''),
    ('error', "function f() { throw new Error('broken'); }\nf();", [], ''),
    ('error_nested', "const e = new TypeError('outer', { cause: new Error('inner') }); throw e;", [], ''),
    ('error_of_no_kind', "throw { code: 7 };", [], ''),
    ('error_null', 'throw null;', [], ''),
    ('error_late', "setTimeout(() => { throw new RangeError('late'); }, 1);", [], ''),
    ('error_tick', "process.nextTick(() => undefined.x);", [], ''),
    ('error_immediate', "setImmediate(() => { null.f(); });", [], ''),
    ('error_event', "new (require('events'))().emit('error', new Error('nobody listens'));", [], ''),
    ('stack', """
console.log(new Error('here').stack); console.trace('there');
setTimeout(() => console.log(new Error('timer').stack), 0); Promise.resolve().then(() => console.log(new Error('job').stack));
process.on('exit', () => console.log(new Error('end').stack));""", [], ''),
    ('call_sites', """
Error.prepareStackTrace = (e, s) => s.map((c) => `${c.getFunctionName()} ${c.getFileName()}:${c.getLineNumber()}`);
console.log(new Error().stack);""", [], ''),
    ('rejection', "Promise.reject(new Error('refused'));", [], ''),
    ('rejection_of_no_error', "Promise.reject(42);", [], ''),
    ('rejection_async', "async function main() { await null; throw new Error('in async'); }\nmain();", [], ''),
    ('rejection_handled', "process.on('unhandledRejection', (r) => console.log('got', r)); Promise.reject(1);", [], ''),
    ('rejection_late', """
process.on('rejectionHandled', () => console.log('late')); process.on('unhandledRejection', () => console.log('first'));
const p = Promise.reject(1); setTimeout(() => p.catch(() => {}), 5);""", [], ''),
    ('uncaught_handled', "process.on('uncaughtException', (e, o) => console.log(e.message, o)); setTimeout(() => console.log('on')); throw new Error('x');", [], ''),
    ('uncaught_handler_fails', "process.on('uncaughtException', () => { throw new Error('again'); }); throw new Error('x');", [], ''),
    ('syntax', 'let a = ;\n', [], ''),
    ('syntax_late', "console.log('not reached');\nfunction f( {\n", [], ''),
    ('syntax_required', "require('./bad.js');", [], '', 'main.js', {'bad.js': 'var = 1;\n'}),
    ('syntax_json', "require('./bad.json');", [], '', 'main.js', {'bad.json': '{"a": }'}),
    ('syntax_module', 'import a from "node:os";\nlet = 1;\n', [], '', 'main.mjs'),
    ('missing_module', "require('./nothing');", [], ''),
    ('missing_package', "require('left-pad');", [], ''),
    ('missing_import', "import './nothing.mjs';", [], '', 'main.mjs'),
    ('missing_export', "import { nothing } from 'node:os';", [], '', 'main.mjs'),
    ('exit_code', 'process.exitCode = 3;', [], ''),
    ('exit', "process.on('exit', (c) => console.log('exit', c, process.exitCode)); process.exit(5); console.log('no');", [], ''),
    ('exit_in_exit', "process.on('exit', () => process.exit(9)); process.exit(5);", [], ''),
    ('exit_changed', "process.on('exit', (c) => { console.log(c); process.exitCode = 7; });", [], ''),
    ('exit_big', 'process.exit(300);', [], ''),
    ('exit_string', "process.exitCode = '4';", [], ''),
    ('exit_wrong', "process.exit('x');", [], ''),
    ('exit_really', "process.on('exit', () => console.log('no')); process.reallyExit(6);", [], ''),
    ('exit_throws', "process.on('exit', () => { throw new Error('in exit'); });", [], ''),
    ('exit_throws_later', "process.on('exit', () => { throw new Error('in exit'); }); process.exit(3);", [], ''),
    ('exit_after_output', "for (let i = 0; i < 20000; i++) console.log('line', i);\nprocess.exitCode = 2;", [], ''),
    ('exit_from_timer', "setTimeout(() => process.exit(8), 1); setInterval(() => {}, 1000);", [], ''),
    ('exit_from_promise', "Promise.resolve().then(() => process.exit(8));", [], ''),
    ('exit_from_worker', """
const { Worker } = require('worker_threads');
new Worker("process.exit(4)", { eval: true }).on('exit', (c) => { console.log('worker', c); });""", [], ''),
    ('abort', 'process.abort();', [], ''),
    ('before_exit', """
let n = 0; process.on('beforeExit', (c) => { console.log('before', c, n); if (n++ < 2) setTimeout(() => {}, 1); });
process.on('exit', (c) => console.log('exit', c));""", [], ''),
    ('kill_self', "process.kill(process.pid, 'SIGKILL'); setInterval(() => {}, 1000);", [], ''),
    ('term_self', "process.kill(process.pid, 'SIGTERM'); setInterval(() => {}, 1000);", [], ''),
    ('term_handled', "process.on('SIGTERM', (s, n) => { console.log(s, n); process.exit(0); }); process.kill(process.pid, 'SIGTERM'); setInterval(() => {}, 1000);", [], ''),
    ('signals', """
let n = 0; for (const s of ['SIGUSR1', 'SIGUSR2', 'SIGINT', 'SIGHUP', 'SIGCHLD', 'SIGWINCH'])
    process.once(s, () => { n++; if (n === 6) console.log('all'); });
for (const s of ['SIGUSR1', 'SIGUSR2', 'SIGINT', 'SIGHUP', 'SIGCHLD', 'SIGWINCH']) process.kill(process.pid, s);
const t = setInterval(() => { if (n === 6) clearInterval(t); }, 1);""", [], ''),
    ('order', """
setImmediate(() => console.log('immediate'));
process.nextTick(() => console.log('tick')); Promise.resolve().then(() => console.log('job'));
queueMicrotask(() => console.log('micro')); (async () => { console.log('a'); await 0; console.log('b'); })();
setImmediate(() => setTimeout(() => { console.log('t1'); process.nextTick(() => console.log('t1 tick')); setTimeout(() => console.log('t2'), 1); }, 1));
console.log('sync');""", [], ''),
    ('order_module', """
process.nextTick(() => console.log('tick')); Promise.resolve().then(() => console.log('job'));
setImmediate(() => console.log('immediate')); console.log('sync'); await null; console.log('awaited');""", [], '', 'main.mjs'),
    ('timers', """
const { setTimeout: sleep } = require('timers/promises');
(async () => { await sleep(5); console.log('slept'); const t = setInterval(() => { console.log('every'); clearInterval(t); }, 2);
const u = setTimeout(() => console.log('never'), 1e6); u.unref(); console.log(u.hasRef()); })();""", [], ''),
    ('module', "import os from 'node:os'; import { x } from './x.mjs'; console.log(typeof os.EOL, x, import.meta.url, import.meta.filename, import.meta.dirname, typeof require, this);",
     [], '', 'main.mjs', {'x.mjs': 'export const x = await Promise.resolve(3);'}),
    ('module_by_syntax', "import os from 'node:os';\nconsole.log(typeof os.EOL, import.meta.url.split('/').pop(), typeof module);", [], ''),
    ('module_by_await', "const x = await Promise.resolve(5);\nconsole.log(x);", [], ''),
    ('module_by_package', "import os from 'node:os'; console.log(typeof os.EOL, typeof require);", [], '', 'main.js', {'package.json': '{"type": "module"}'}),
    ('script_by_package', "console.log(typeof require, require('./package.json').name);", [], '', 'main.js', {'package.json': '{"name": "p", "type": "commonjs"}'}),
    ('script_cjs', "console.log(typeof require, require.main === module, module.id);", ['a'], '', 'tool.cjs'),
    ('script_other_name', "console.log(process.argv.slice(1), require.main.filename, new Error('x').stack);", ['b'], '', 'other.js'),
    ('script_no_extension', "console.log(require.main.filename);", [], '', 'program'),
    ('script_below', "console.log(__dirname, process.cwd(), require('../lib/a.js'));", [], '', 'bin/run.js', {'lib/a.js': 'module.exports = __filename;'}),
    ('module_other_name', "console.log(import.meta.url, process.argv.slice(1)); throw new Error('m');", ['c'], '', 'tool.mjs'),
    ('module_unsettled', "await new Promise(() => {});", [], '', 'main.mjs'),
    ('module_unsettled_js', "console.log(1); await new Promise(() => {});", [], ''),
    ('module_throws', "await null; throw new TypeError('top');", [], '', 'main.mjs'),
    ('module_exit', "process.on('exit', (c) => console.log('exit', c)); process.exitCode = 6; await 0;", [], '', 'main.mjs'),
    ('import_dynamic', "import('./x.mjs').then((m) => console.log(m.default, Object.keys(m))); import('node:fs').then((m) => console.log(typeof m.readFileSync)); import('./none.mjs').catch((e) => console.log(e.code));",
     [], '', 'main.js', {'x.mjs': 'export default 8; export const y = 1;'}),
    ('import_json', "import data from './d.json' with { type: 'json' }; console.log(data);", [], '', 'main.mjs', {'d.json': '{"k": [1]}'}),
    ('import_cjs', "import c, { n } from './c.cjs'; console.log(c, n);", [], '', 'main.mjs', {'c.cjs': 'exports.n = 4;'}),
    ('create_require', "import { createRequire } from 'node:module'; const r = createRequire(import.meta.url); console.log(r('./c.cjs'), r.main);", [], '', 'main.mjs', {'c.cjs': 'module.exports = 5;'}),
    ('package', "console.log(require('pkg'), require('pkg/sub'));", [], '', 'main.js',
     {'node_modules/pkg/package.json': '{"main": "m.js", "exports": {".": "./m.js", "./sub": "./s.js"}}', 'node_modules/pkg/m.js': 'module.exports = "m";', 'node_modules/pkg/s.js': 'module.exports = "s";'}),
    ('cycle', "console.log(require('./a.js'));", [], '', 'main.js', {'a.js': 'exports.x = 1; exports.b = require("./b.js"); exports.y = 2;', 'b.js': 'module.exports = { ...require("./a.js") };'}),
    ('worker', """
const { Worker, isMainThread, parentPort, workerData, threadId } = require('worker_threads');
if (isMainThread) { const w = new Worker(__filename, { workerData: 6, argv: ['x'] });
    w.on('message', (m) => console.log(m)); w.on('exit', (c) => console.log('exit', c)); }
else parentPort.postMessage([workerData * 7, process.argv.slice(1), process.execArgv, Object.keys(require.cache).length, threadId]);""", [], ''),
    ('workers_many', """
const { Worker } = require('worker_threads'); let left = 6, sum = 0;
for (let i = 0; i < 6; i++) new Worker(`let s = 0; for (let k = 0; k < 1e5; k++) s += k; require('worker_threads').parentPort.postMessage(s)`, { eval: true })
    .on('message', (m) => { sum += m; }).on('exit', () => { if (--left === 0) console.log(sum); });""", [], ''),
    ('worker_error', "new (require('worker_threads').Worker)('throw new Error(\"w\")', { eval: true }).on('error', (e) => console.log(e.message)).on('exit', (c) => console.log(c));", [], ''),
    ('worker_uncaught', "new (require('worker_threads').Worker)('null.x', { eval: true });", [], ''),
    ('worker_terminate', "const w = new (require('worker_threads').Worker)('for (;;);', { eval: true }); w.on('online', () => w.terminate().then((c) => console.log('gone', c)));", [], ''),
    ('worker_console', "new (require('worker_threads').Worker)('console.log(1); console.error(2)', { eval: true });", [], ''),
    ('worker_left', "new (require('worker_threads').Worker)('setInterval(() => {}, 10)', { eval: true }).on('online', () => process.exit(3));", [], ''),
    ('atomics', """
const { Worker } = require('worker_threads'); const a = new Int32Array(new SharedArrayBuffer(8));
new Worker('const { workerData: a } = require("worker_threads"); Atomics.store(a, 1, 5); Atomics.store(a, 0, 1); Atomics.notify(a, 0)', { eval: true, workerData: a });
console.log(['ok', 'not-equal'].includes(Atomics.wait(a, 0, 0, 20000)), Atomics.load(a, 1));""", [], ''),
    ('atomics_async', "const a = new Int32Array(new SharedArrayBuffer(4)); console.log(Atomics.wait(a, 0, 0, 5)); const t = setTimeout(() => {}, 1e4); Atomics.waitAsync(a, 0, 0, 20).value.then((v) => { console.log(v); clearTimeout(t); });", [], ''),
    ('channel', """
const { port1, port2 } = new MessageChannel(); port2.onmessage = (e) => { console.log(e.data); port1.close(); };
port1.postMessage({ m: new Map([[1, 2]]) }); const b = new BroadcastChannel('c'); b.close(); console.log(structuredClone([new Date(0)]));""", [], ''),
    ('spawn', """
const { spawn, spawnSync, execFileSync } = require('child_process');
const p = spawn('sh', ['-c', 'cat; echo err >&2; exit 3'], { stdio: ['pipe', 'pipe', 'pipe'] }); let o = '';
p.stdout.on('data', (d) => { o += d; }); p.stderr.on('data', (d) => { o += d; }); p.on('close', (c, s) => console.log(JSON.stringify(o), c, s)); p.stdin.end('in\\n');
console.log(spawnSync('sh', ['-c', 'kill -9 $$']).signal, execFileSync('/bin/echo', ['hi']) + '');""", [], ''),
    ('spawn_missing', "require('child_process').spawn('/no/such').on('error', (e) => console.log(e.code));", [], ''),
    ('spawn_inherit', "console.log('before'); require('child_process').spawnSync('sh', ['-c', 'echo inside; echo e >&2'], { stdio: 'inherit' }); console.log('after');", [], ''),
    ('spawn_stdin', "const r = require('child_process').spawnSync('cat', { stdio: ['inherit', 'pipe', 'inherit'] }); console.log(r.stdout + '');", [], 'given'),
    ('spawn_descriptors', "console.log(require('child_process').execSync('ls /proc/self/fd') + '');", [], ''),
    ('spawn_many', """
const { execFile } = require('child_process'); let left = 20;
for (let i = 0; i < 20; i++) execFile('/bin/true', () => { if (--left === 0) console.log('all'); });""", [], ''),
    ('fork', """
const { fork } = require('child_process');
if (process.argv[2]) { process.on('message', (m) => { process.send([m * 2, process.execArgv]); process.disconnect(); }); }
else { const c = fork(__filename, ['child']); c.on('message', (m) => console.log(m)); c.on('exit', (x) => console.log('exit', x)); c.send(21); }""", [], ''),
    ('spawn_node', "console.log(require('child_process').spawnSync(process.execPath, ['-p', '[process.execArgv, process.env.LD_PRELOAD, 1+1]']).stdout + '');", [], ''),
    ('cluster', """
const cluster = require('cluster'), http = require('http');
if (cluster.isPrimary) { const w = cluster.fork(); w.on('exit', (c) => console.log('worker', c));
    cluster.on('listening', (x, a) => http.get({ port: a.port, host: '127.0.0.1', agent: false }, (r) => { r.on('data', (d) => console.log('' + d)); r.on('end', () => w.kill()); })); }
else { http.createServer((q, r) => r.end('from worker')).listen(0, '127.0.0.1'); }""", [], ''),
    ('http', """
const http = require('http'); const s = http.createServer((q, r) => { let b = ''; q.on('data', (d) => { b += d; }); q.on('end', () => { r.setHeader('x', 'y'); r.end(q.method + q.url + b); }); })
    .listen(0, '127.0.0.1', () => { const q = http.request({ port: s.address().port, host: '127.0.0.1', path: '/p', method: 'POST' }, (r) => { let b = ''; r.on('data', (d) => { b += d; }); r.on('end', () => { console.log(r.statusCode, r.headers.x, b); s.close(); }); }); q.end('body'); });""", [], ''),
    ('fetch', """
const s = require('http').createServer((q, r) => r.end(JSON.stringify({ u: q.url }))).listen(0, '127.0.0.1', async () => {
    console.log(await (await fetch(`http://127.0.0.1:${s.address().port}/f`)).json()); s.close(); s.closeAllConnections(); });""", [], ''),
    ('net', """
const net = require('net'); const s = net.createServer((c) => c.pipe(c)).listen(0, '127.0.0.1', () => { const c = net.connect(s.address().port, '127.0.0.1');
    let n = 0; c.on('data', (d) => { n += d.length; if (n === 1 << 20) { console.log(n); c.end(); s.close(); } }); c.write(Buffer.alloc(1 << 20)); });""", [], ''),
    ('udp', "const d = require('dgram').createSocket('udp4'); d.on('message', (m) => { console.log(m + ''); d.close(); }); d.bind(0, '127.0.0.1', () => d.send('dgram', d.address().port, '127.0.0.1'));", [], ''),
    ('unix', """
const net = require('net'), p = require('path').join(require('os').tmpdir(), `s${process.pid}.${process.hrtime()[1]}`);
const s = net.createServer((c) => c.end('unix')).listen(p, () => net.connect(p).on('data', (d) => console.log(d + '')).on('close', () => s.close()));""", [], ''),
    ('dns', "require('dns').lookup('127.0.0.1', (e, a) => console.log(e, a)); require('dns').promises.lookup('localhost', { family: 4 }).then(console.log, (e) => console.log(e.code));", [], ''),
    ('fs_sync', """
const fs = require('fs'), path = require('path'); const d = fs.mkdtempSync(path.join(require('os').tmpdir(), 'x-')); const f = path.join(d, 'f');
fs.writeFileSync(f, 'abc'); fs.appendFileSync(f, 'd'); console.log(fs.readFileSync(f, 'utf8'), fs.statSync(f).size, fs.readdirSync(d)); fs.rmSync(d, { recursive: true }); console.log(fs.existsSync(f));
try { fs.readFileSync('/no/file'); } catch (e) { console.log(e.message); }""", [], ''),
    ('fs_promises', """
const fs = require('fs/promises'), path = require('path'); (async () => { const d = await fs.mkdtemp(path.join(require('os').tmpdir(), 'x-'));
await Promise.all([...Array(50)].map((_, i) => fs.writeFile(path.join(d, `${i}`), `${i}`))); let s = 0;
for (const f of await fs.readdir(d)) s += +(await fs.readFile(path.join(d, f))); console.log(s); await fs.rm(d, { recursive: true }); })();""", [], ''),
    ('fs_streams', """
const fs = require('fs'), path = require('path'), { pipeline } = require('stream/promises'), zlib = require('zlib'); const f = path.join(fs.mkdtempSync(path.join(require('os').tmpdir(), 'x-')), 'f');
(async () => { await pipeline(require('stream').Readable.from(['a'.repeat(1e6)]), zlib.createGzip(), fs.createWriteStream(f)); let n = 0;
await pipeline(fs.createReadStream(f), zlib.createGunzip(), async function (s) { for await (const c of s) n += c.length; }); console.log(n); })();""", [], ''),
    ('fs_watch', "const fs = require('fs'), path = require('path'); const d = fs.mkdtempSync(path.join(require('os').tmpdir(), 'x-')); const w = fs.watch(d, (e, f) => { console.log(f); w.close(); }); setTimeout(() => fs.writeFileSync(path.join(d, 'n'), ''), 5);", [], ''),
    ('descriptors', "console.log(require('fs').openSync('/dev/null') > 2, require('fs').fstatSync(0).isFIFO(), require('tty').isatty(1));", [], ''),
    ('zlib', "const z = require('zlib'); z.gzip('x'.repeat(1e5), (e, b) => z.gunzip(b, (e, r) => console.log(r.length))); console.log(z.inflateSync(z.deflateSync('sync')) + '', z.brotliDecompressSync(z.brotliCompressSync('b')) + '');", [], ''),
    ('crypto', """
const c = require('crypto'); console.log(c.pbkdf2Sync('a', 'b', 1000, 16, 'sha256').toString('hex'), c.createHash('sha256').update('x').digest('hex'));
c.scrypt('a', 'b', 16, (e, k) => { console.log('scrypt', k.toString('hex')); c.generateKeyPair('ec', { namedCurve: 'P-256' }, (e, p, k) => { const s = c.sign('sha256', Buffer.from('m'), k); console.log(c.verify('sha256', Buffer.from('m'), p, s)); }); });
const k = c.createHmac('sha1', 'k').update('d').digest('base64'); console.log(k, c.randomBytes(8).length, c.randomUUID().length, c.getHashes().length > 10);""", [], ''),
    ('crypto_web', "crypto.subtle.digest('SHA-256', new TextEncoder().encode('x')).then((d) => console.log(Buffer.from(d).toString('hex'))); console.log(crypto.getRandomValues(new Uint8Array(4)).length);", [], ''),
    ('wasm', """
const b = Buffer.from('0061736d0100000001070160027f7f017f030201000707010361646400000a09010700200020016a0b', 'hex');
console.log(WebAssembly.validate(b), new WebAssembly.Instance(new WebAssembly.Module(b)).exports.add(1, 2));
// One after the other: they are made by threads.
WebAssembly.instantiate(b).then(({ instance }) => console.log(instance.exports.add(2, 40))).then(() => WebAssembly.compile(b))
    .then((m) => console.log(WebAssembly.Module.exports(m))).then(() => WebAssembly.compile(Buffer.from('00', 'hex')))
    .catch((e) => console.log(e.message));""", [], ''),
    ('intl', """
console.log(new Intl.NumberFormat('de-DE', { style: 'currency', currency: 'EUR' }).format(1234.5), new Intl.DateTimeFormat('en-GB', { timeZone: 'Asia/Tokyo', dateStyle: 'full' }).format(new Date(0)),
    ['ä', 'a', 'z'].sort(new Intl.Collator('sv').compare), Intl.DateTimeFormat().resolvedOptions().locale, Intl.DateTimeFormat().resolvedOptions().timeZone, (1e6).toLocaleString(), 'ǅ'.toLowerCase(), new Intl.PluralRules('ar').select(3));""", [], ''),
    ('dates', "const d = new Date(86400000 * 180); console.log(d + '', d.getTimezoneOffset(), d.toLocaleString(), process.env.TZ); process.env.TZ = 'America/New_York'; console.log(new Date(0) + '');", [], ''),
    ('async_local', """
const { AsyncLocalStorage, executionAsyncId, createHook } = require('async_hooks'); const s = new AsyncLocalStorage(); s.run(7, async () => { await null; setTimeout(() => console.log(s.getStore()), 1); });
console.log(executionAsyncId()); let n = 0; createHook({ init() { n++; } }).enable(); setTimeout(() => console.log(n > 0), 50); console.log(s.getStore());""", [], ''),
    ('async_ids', "const h = require('async_hooks'); console.log(h.executionAsyncId(), h.triggerAsyncId(), typeof h.executionAsyncResource()); setTimeout(() => console.log(h.triggerAsyncId() === 1), 1);", [], ''),
    ('events', "const E = require('events'); const e = new E(); e.once('a', console.log); console.log(e.emit('a', 1), e.emit('a', 2)); E.once(e, 'c').then(console.log); e.emit('c', 3); console.log(new Event('x').type);", [], ''),
    ('abort_controller', "const a = new AbortController(); a.signal.addEventListener('abort', () => console.log('aborted', a.signal.reason.name)); a.abort(); require('timers/promises').setTimeout(10, 0, { signal: AbortSignal.timeout(1) }).catch((e) => console.log(e.name));", [], ''),
    ('streams', "const { Readable, Transform, compose } = require('stream'); Readable.from([1, 2, 3]).map((x) => x * 2).toArray().then(console.log); new ReadableStream({ start(c) { c.enqueue('w'); c.close(); } }).getReader().read().then(console.log);", [], ''),
    ('stdin_events', "let s = ''; process.stdin.setEncoding('utf8'); process.stdin.on('data', (d) => { s += d; }); process.stdin.on('end', () => console.log(s.length, s.slice(0, 5)));", [], 'hello\n' * 50000),
    ('stdin_sync', "console.log(require('fs').readFileSync(0, 'utf8').split('\\n').length);", [], 'a\nb\nc\n'),
    ('stdin_path', "console.log(require('fs').readFileSync('/dev/stdin', 'utf8'));", [], 'by path'),
    ('stdin_lines', "const r = require('readline').createInterface({ input: process.stdin }); let n = 0; r.on('line', (l) => { n += +l; }).on('close', () => console.log(n));", [], '1\n2\n3\n4'),
    ('stdin_iterate', "let n = 0; for await (const c of process.stdin) n += c.length; console.log(n);", [], 'x' * 300000, 'main.mjs'),
    ('stdin_question', "const r = require('readline/promises').createInterface({ input: process.stdin, output: process.stdout }); r.question('name? ').then((a) => { console.log('hi', a); r.close(); });", [], 'bob\n'),
    ('stdin_empty', "process.stdin.on('data', (d) => console.log('d', d)).on('end', () => console.log('end'));", [], ''),
    ('stdin_unread', "console.log('done');", [], 'x' * 1000),
    ('stdin_pipe', "process.stdin.pipe(process.stdout);", [], 'through\n' * 1000),
    ('output_big', "process.stdout.write('x'.repeat(15 << 20), () => console.log('written'));", [], ''),
    ('output_both', "console.log('out'); console.error('err'); process.stdout.write('no newline'); process.stderr.write('e2'); console.warn('%d%%', 5); console.table([{ a: 1 }]); console.group('g'); console.info('in'); console.groupEnd(); console.dir({ a: { b: { c: {} } } }, { depth: 0 }); console.assert(false, 'asserted'); console.count(); console.count();", [], ''),
    ('output_descriptor', "const fs = require('fs'); fs.writeSync(1, 'a'.repeat(1 << 20)); fs.writeSync(2, 'b'); fs.writeFileSync('/dev/stdout', 'c'); fs.writeSync(1, 'd'.repeat(1 << 20));", [], ''),
    ('output_binary', "process.stdout.write(Buffer.from([0, 255, 254, 10, 13])); process.stdout.write('é€😀', 'utf8');", [], ''),
    ('output_stream', "console.log(process.stdout.writable, process.stdout.isTTY, process.stdout._type, process.stdout.fd, process.stdout.writableHighWaterMark, process.stdout.columns, process.stderr._type, process.stdin.isTTY);", [], ''),
    ('output_end', "process.stdout.end('last'); try { process.stdout.write('more'); } catch (e) { console.error(e.code); } process.stdout.on('error', (e) => console.error(e.code));", [], ''),
    ('raw_debug', "process._rawDebug('raw');", [], ''),
    ('warning_handled', "process.on('warning', (w) => console.log(w.name, w.code)); process.removeAllListeners('warning'); process.on('warning', (w) => console.log(w.name)); process.emitWarning('careful', 'Kind', 'C1');", [], ''),
    ('deep', "let n = 0; function f() { n++; f(); } try { f(); } catch (e) { console.log(e instanceof RangeError, e.message, n > 5000); }", [], ''),
    ('deep_uncaught', "Error.stackTraceLimit = 3; function f() { f(); }\nf();", [], ''),
    ('collect', "let a = []; for (let i = 0; i < 60; i++) { a = []; for (let k = 0; k < 1e5; k++) a.push({ k, s: 'x' + k }); } console.log(a.length, a[99].s);", [], ''),
    ('big_memory', "const a = []; for (let i = 0; i < 24; i++) a.push(new Array(1e6).fill(i)); const b = Buffer.alloc(64 << 20, 1); console.log(a.length, b[b.length - 1]); const w = new WeakRef({}); console.log(typeof w.deref());", [], ''),
    ('hot', "let s = 0; for (let i = 0; i < 2e8; i++) s = (s + i * i) | 0; console.log(s); function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); } console.log(fib(30));", [], ''),
    ('hot_objects', "class P { constructor(x) { this.x = x; } get d() { return this.x * 2; } } let t = 0; for (let i = 0; i < 5e6; i++) t += new P(i).d % 7; console.log(t); const m = new Map(); for (let i = 0; i < 3e5; i++) m.set('k' + i % 1000, i); console.log(m.size, [...m.values()].reduce((a, b) => a + b));", [], ''),
    ('regexp', "console.log('2024-01-02'.replace(/(?<y>\\d+)-(?<m>\\d+)/u, '$<m>/$<y>'), [...'a1b22'.matchAll(/\\d+/g)].map((m) => m[0]), RegExp.$1, RegExp.input);", [], ''),
    ('eval', "console.log(eval('1+1'), new Function('a', 'return a*2')(4)); const vm = require('vm'); console.log(vm.runInNewContext('x + 1', { x: 2 }), vm.runInThisContext('typeof require')); try { eval('1 +'); } catch (e) { console.log(e.stack); }", [], ''),
    ('inspect', "const util = require('util'); console.log(util.inspect({ a: 1n, f() {}, [Symbol.iterator]: 1, d: new Date(0), p: Promise.resolve(4), x: new Proxy({}, {}) }, { depth: 3, colors: true }));", [], ''),
    ('inspect_error', "console.log(new Error('shown')); console.error(new AggregateError([new Error('a')], 'all'));", [], ''),
    ('inspector', "const i = require('inspector'); console.log(i.url()); const s = new i.Session(); s.connect(); s.post('Runtime.evaluate', { expression: '6*7' }, (e, r) => console.log(r.result.value)); s.disconnect();", [], ''),
    ('assert', "require('assert').deepStrictEqual({ a: 1 }, { a: 2 });", [], ''),
    ('text', "console.log(new TextDecoder('utf-16le').decode(Buffer.from('h\\u00e9', 'utf16le')), Buffer.from('aGk=', 'base64') + '', btoa('x'), encodeURIComponent('ü'), 'ﬃ'.normalize('NFKC'), new URL('http://ü.de/a?b=1#c').href, require('querystring').parse('a=1&a=2'));", [], ''),
    ('finalization', "let n = 0; const r = new FinalizationRegistry(() => { n++; }); r.register({}, 1); setTimeout(() => console.log(n >= 0), 5);", [], ''),
    ('uptime', "console.log(process.uptime() < 5, performance.now() < 5000, performance.now() > 0, Math.abs(performance.timeOrigin + performance.now() - Date.now()) < 1000, process.hrtime().length, typeof process.hrtime.bigint());", [], ''),
    ('node_timing', "const t = performance.nodeTiming; console.log(t.name, t.startTime, t.nodeStart >= 0, t.v8Start >= 0, t.environment >= 0, t.bootstrapComplete > 0, t.bootstrapComplete < 5000, t.loopStart, t.loopExit, performance.mark('m').startTime < 5000); setTimeout(() => console.log(t.loopStart > 0), 1);", [], ''),
    ('usage', "const m = process.memoryUsage(); console.log(m.rss > 1e6, m.heapUsed > 1e5, m.heapUsed < 64e6, process.memoryUsage.rss() > 1e6, process.cpuUsage().user >= 0, typeof process.resourceUsage().maxRSS, require('v8').getHeapStatistics().heap_size_limit);", [], ''),
    ('active', "console.log(process.getActiveResourcesInfo(), process._getActiveHandles().length, process._getActiveRequests().length);", [], ''),
    ('os', "const os = require('os'); console.log(os.platform(), os.arch(), os.cpus().length > 0, os.EOL === '\\n', process.umask(), process.getuid(), os.userInfo().uid, process.geteuid(), process.getgroups().length >= 0, process.config.variables.napi_build_version, process.release.name, process.features.inspector);", [], ''),
    ('report', "const r = process.report.getReport(); console.log(typeof r.javascriptStack.message, r.libuv.length >= 0);", [], ''),
    ('v8_serialize', "const v8 = require('v8'); console.log(v8.deserialize(v8.serialize({ a: [1, new Set([2])] })), typeof v8.getHeapSnapshot);", [], ''),
    ('heap_snapshot', "require('v8').getHeapSnapshot().on('data', () => {}).on('end', () => console.log('taken'));", [], ''),
    ('source_maps', "//# sourceMappingURL=x.map\nprocess.setSourceMapsEnabled(true); console.log(new Error('m').stack.split('\\n').length > 2);", [], ''),
    ('hashbang', "#!/usr/bin/env node\nconsole.log('bang', new Error('l').stack.split('\\n')[1].trim());", [], ''),
    ('byte_order_mark', "\ufeffconsole.log('bom');", [], ''),
    ('strict', "'use strict'; try { undeclared = 1; } catch (e) { console.log(e.message); }", [], ''),
    ('diagnostics', "const d = require('diagnostics_channel'); d.subscribe('c', (m) => console.log(m)); d.channel('c').publish(1); const { PerformanceObserver } = require('perf_hooks'); const o = new PerformanceObserver((l) => { console.log(l.getEntries()[0].name); o.disconnect(); }); o.observe({ entryTypes: ['mark'] }); performance.mark('mk');", [], ''),
    ('trace_events', "const t = require('trace_events'); console.log(t.getEnabledCategories());", [], ''),
    ('domain', "const d = require('domain').create(); d.on('error', (e) => console.log('domain', e.message)); d.run(() => setTimeout(() => { throw new Error('d'); }, 1));", [], ''),
    ('repl_none', "console.log(typeof repl, require('module').builtinModules.length, require('module').isBuiltin('fs'));", [], ''),
    ('own_run_main', "const M = require('module'); console.log(M.runMain.name, M.runMain.length, Object.keys(M).includes('runMain')); const l = M._load; M._load = (...a) => { console.log('load', a[0]); return l(...a); }; require('os');", [], ''),
]
