// A client that is generated from api/openapi.yaml, used as its author would: with types that tsc --strict checks. `paths` is
// what openapi-typescript makes of the description, openapi-fetch sends the requests.
//
//   node generated_client.js      with SERVICE and TOKEN in the environment
//
// Prints one line of JSON: what each step gave.

import createClient from 'openapi-fetch';
import type { components, paths } from './api';

declare const process: { env: Record<string, string | undefined>; stdout: { write(text: string): void } };

const token = process.env.TOKEN ?? '';
const options = { baseUrl: process.env.SERVICE ?? '', headers: { Authorization: `Bearer ${token}` } };
// One for each kind of answer: a path that answers with JSON or with events has the type of both otherwise.
const api = createClient<paths, 'application/json'>(options);
const files = createClient<paths, 'application/octet-stream' | 'application/json'>(options);
const live = createClient<paths, 'text/event-stream'>(options);

// What there is if there is no error; a type that is not what the description says is an error of the compiler.
function good<T>(answer: { data?: T; error?: components['schemas']['Error']; response: Response }): T {
  if (answer.data === undefined) throw new Error(`${answer.response.status} ${answer.error?.error.message}`);
  return answer.data;
}

const request: components['schemas']['ExecuteRequest'] = { language: 'python', code: 'print(open("in.txt").read())', files: { 'in.txt': 'given' } };
const language: string | undefined = request.language;
const run: components['schemas']['Result'] = good(await api.POST('/v1/execute', { body: request }));
const refused = await api.POST('/v1/execute', { body: { language: 'nonesuch', code: '' } });
const code: components['schemas']['Error']['error']['code'] | undefined = refused.error?.error.code;

// A session, and files of it in directories, whose paths the client encodes whole.
const session = good(await api.POST('/v1/sessions', { body: { language: 'python', files: { 'sub/first.txt': 'first' } } }));
const at = (path: string) => ({ path: { id: session.id, path } });
const written = good(await api.PUT('/v1/sessions/{id}/files/{path}',
  { params: at('output/sub dir/h.txt'), body: 'hé', bodySerializer: (text) => text, headers: { 'Content-Type': 'application/octet-stream' } }));
const cell = good(await api.POST('/v1/sessions/{id}/execute',
  { params: { path: { id: session.id } }, body: { code: 'print(open("/sandbox/output/sub dir/h.txt").read(), open("sub/first.txt").read())' } }));
const read: string = good(await files.GET('/v1/sessions/{id}/files/{path}', { params: at('output/sub dir/h.txt'), parseAs: 'text' }));
const listed = good(await api.GET('/v1/sessions/{id}/files', { params: { path: { id: session.id }, query: { path: 'output/sub dir' } } }));
const away = await files.GET('/v1/sessions/{id}/files/{path}', { params: at('output/../../etc/passwd'), parseAs: 'text' });

// Events as they come.
const stream = await live.POST('/v1/execute',
  { body: { language: 'bash', code: 'echo one; echo two >&2' }, headers: { Accept: 'text/event-stream' }, parseAs: 'stream' });
const events: string[] = [];
let text = '';
const reader = (stream.data as unknown as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>).getReader();
for (let part = await reader.read(); !part.done; part = await reader.read()) text += part.value;
for (const line of text.split('\n')) if (line.startsWith('event: ')) events.push(line.slice(7));

// History: rows, and one of them whole, with the file that a run left in a directory.
const left = good(await api.POST('/v1/execute', { body: { language: 'bash', code: 'mkdir /sandbox/output/d; echo kept > /sandbox/output/d/f' } }));
const file: string = good(await files.GET('/v1/executions/{id}/files/{path}', { params: { path: { id: left.id, path: 'd/f' } }, parseAs: 'text' }));
const rows = good(await api.GET('/v1/executions', { params: { query: { limit: 10 } } })).executions;
const row: components['schemas']['ExecutionRow'] | undefined = rows.find((one) => one.id === run.id);
const whole = good(await api.GET('/v1/executions/{id}', { params: { path: { id: run.id } } }));
const ended = await api.DELETE('/v1/sessions/{id}', { params: { path: { id: session.id } } });

process.stdout.write(`${JSON.stringify({
  language, stdout: run.stdout, code, cell: cell.stdout, size: written.size, read, listed: listed.entries.map((entry) => entry.name),
  away: away.response.status, events, file, row: row?.status, door: whole.door, ended: ended.response.status,
})}\n`);
