// Every tool of the server, driven by an SDK of MCP as npm has it, unmodified.
//
//   node mcp_client.mjs sdk|client stdio|http      with in the environment:
//     MODULES  the directory of npm's packages      MODE   legacy, auto or a version (client only)
//     COMMAND  emberbox, for stdio                  SERVICE and TOKEN, for http
//
// Prints one line of JSON: what each step gave. A result that is not as its schema says is an error of the SDK.

import { createRequire } from 'node:module';

const [kind, transportKind] = process.argv.slice(2);
const { MODULES, COMMAND, SERVICE, TOKEN, MODE, EMBERBOX_HOME } = process.env;
const require = createRequire(`${MODULES}/here.js`);
const seen = { progress: [], asked: 0 };

function parts() {
  if (kind === 'client') {
    const main = require('@modelcontextprotocol/client');
    const { StdioClientTransport } = require('@modelcontextprotocol/client/stdio');
    return { ...main, StdioClientTransport, elicit: 'elicitation/create' };
  }
  const base = '@modelcontextprotocol/sdk';
  return {
    ...require(`${base}/client/index.js`), ...require(`${base}/client/stdio.js`), ...require(`${base}/client/streamableHttp.js`),
    elicit: require(`${base}/types.js`).ElicitRequestSchema,
  };
}

const { Client, StdioClientTransport, StreamableHTTPClientTransport, elicit } = parts();
const mode = !MODE || MODE === 'legacy' || MODE === 'auto' ? MODE : { pin: MODE };
const client = new Client({ name: 'test', version: '1' },
  { capabilities: { elicitation: {} }, ...(mode && kind === 'client' ? { versionNegotiation: { mode } } : {}) });
client.setRequestHandler(elicit, async () => {
  seen.asked++;
  return { action: 'accept', content: { ok: true } };
});
const transport = transportKind === 'stdio'
  ? new StdioClientTransport({ command: COMMAND, args: ['mcp'], env: { EMBERBOX_HOME, PATH: process.env.PATH }, stderr: 'inherit' })
  : new StreamableHTTPClientTransport(new URL(SERVICE), { requestInit: { headers: { Authorization: `Bearer ${TOKEN}` } } });
await client.connect(transport);

const call = (name, args = {}, options) =>
  kind === 'client' ? client.callTool({ name, arguments: args }, options) : client.callTool({ name, arguments: args }, undefined, options);
const text = (result) => result.content[0].text;

seen.tools = (await client.listTools()).tools.map((tool) => tool.name).sort();
seen.instructions = client.getInstructions()?.slice(0, 8);
const run = await call('run_code', { language: 'python', code: "print('hello')" });
seen.run = run.structuredContent.stdout;
const live = await call('run_code', { language: 'bash', code: 'echo a; sleep 0.2; echo b; sleep 0.2; echo c' },
  { onprogress: (progress) => seen.progress.push(progress.message) });
seen.live = live.structuredContent.stdout;
seen.failed = (await call('run_code', { language: 'bash', code: 'exit 3' })).isError;
seen.bad = text(await call('run_code', { language: 'bash' }));
seen.output = (await call('get_output', { id: run.structuredContent.id })).structuredContent.text;
seen.careful = (await call('run_code', { language: 'bash', code: 'echo agreed', profile: 'careful' })).structuredContent.stdout;
const file = await call('run_code', { language: 'bash', code: 'echo content > /sandbox/output/file' });
seen.file = (await call('read_file', { execution: file.structuredContent.id, path: 'file' })).structuredContent.text;
seen.files = (await call('list_files', { execution: file.structuredContent.id })).structuredContent.files.length;
const started = await call('container_start', { container: 'shell' });
seen.exec = (await call('container_exec', { id: started.structuredContent.id, command: 'echo in' })).structuredContent.stdout;
seen.running = (await call('container_list')).structuredContent.running.length;
seen.stopped = (await call('container_stop', { id: started.structuredContent.id })).structuredContent.status;
const checked = await call('check_code', { language: 'python', code: 'import os' });
seen.check_code = checked.structuredContent.imports[0].module === 'os' ? 'ok' : text(checked);
seen.report = text(await call('get_report', { id: run.structuredContent.id })).slice(0, 5);
seen.detected = (await call('detect_intent', { message: 'run this:\n```python\nprint(1)\n```' })).structuredContent.execute;
const begun = await call('run_in_session', { language: 'python', code: 'x = 41' });
seen.run_in_session = begun.isError ? text(begun) : 'ok';
const session = begun.structuredContent.session.id;
seen.session = (await call('run_in_session', { session, code: 'print(x + 1)' })).structuredContent.stdout;
seen.written = (await call('write_file', { session, path: '/sandbox/output/note.txt', content: 'note' })).structuredContent.size;
seen.read = (await call('read_file', { session, path: '/sandbox/output/note.txt' })).structuredContent.text;
seen.listed = (await call('list_files', { session })).structuredContent.files.map((one) => one.path);
seen.shown = (await client.listResources()).resources.filter((one) => one.uri.startsWith(`emberbox://session/${session}/`));
seen.ended = text(await call('run_in_session', { session, code: 'pass', end: true })).split('\n')[0];
seen.resources = (await client.listResources()).resources.filter((one) => one.uri.startsWith('emberbox://runtime/')).length;
seen.guide = (await client.readResource({ uri: 'emberbox://runtime/python' })).contents[0].text.slice(0, 8);

// A call that is given up is ended, and the connection goes on.
const abort = new AbortController();
const began = Date.now();
setTimeout(() => abort.abort('enough'), 300);
try {
  await call('run_code', { language: 'bash', code: 'sleep 100', timeout: 200 }, { signal: abort.signal });
  seen.aborted = 'it was answered';
} catch (error) {
  seen.aborted = Date.now() - began < 5000 ? 'yes' : 'late';
}
seen.after = (await call('run_code', { language: 'bash', code: 'echo after' })).structuredContent.stdout;
seen.version = client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion ?? null;
await client.close();
process.stdout.write(`${JSON.stringify(seen)}\n`);
