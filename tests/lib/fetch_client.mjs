// A client of the HTTP API in another language, with nothing but Node's fetch.
//
//   node fetch_client.mjs run|stream|abort|upload|range   with SERVICE (http://…) and TOKEN in the environment
//
// Each prints what it saw as one line of JSON; stream prints a line per event as it comes. REQUEST is the body as JSON.

const service = process.env.SERVICE;
const headers = { authorization: `Bearer ${process.env.TOKEN}`, 'content-type': 'application/json' };
const say = (value) => process.stdout.write(JSON.stringify(value) + '\n');

const post = (path, body, more = {}) =>
  fetch(service + path, { ...more, method: 'POST', headers: { ...headers, ...more.headers }, body });

// Server-sent events as the standard has them, from a stream of bytes.
async function* events(response) {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const part of response.body) {
    rest += decoder.decode(part, { stream: true });
    for (let end; (end = rest.indexOf('\n\n')) >= 0; rest = rest.slice(end + 2)) {
      const lines = rest.slice(0, end).split('\n').filter((line) => !line.startsWith(':'));
      if (lines.length === 0) continue;
      const name = lines.find((line) => line.startsWith('event: ')).slice(7);
      const data = lines.filter((line) => line.startsWith('data: ')).map((line) => line.slice(6)).join('\n');
      yield { name, data: JSON.parse(data) };
    }
  }
}

const commands = {
  async run() {
    const response = await post('/v1/execute', process.env.REQUEST);
    say({ status: response.status, id: response.headers.get('x-execution-id'), body: await response.json() });
  },

  async stream() {
    const response = await post('/v1/execute', process.env.REQUEST, { headers: { accept: 'text/event-stream' } });
    say({ status: response.status, type: response.headers.get('content-type') });
    for await (const event of events(response)) say(event);
  },

  // Gives up when the first output has come and a line was read from stdin.
  async abort() {
    const controller = new AbortController();
    const response = await post('/v1/execute', process.env.REQUEST,
      { headers: { accept: 'text/event-stream' }, signal: controller.signal });
    try {
      for await (const event of events(response)) {
        say(event);
        if (event.name !== 'stdout') continue;
        await new Promise((resolve) => process.stdin.once('data', resolve));
        process.stdin.pause();
        controller.abort();
      }
      say({ name: 'end' });
    } catch (error) {
      say({ name: error.name });
    }
  },

  // A body whose length nobody knows: sent in chunks.
  async upload() {
    const pieces = process.env.REQUEST.match(/.{1,100}/gs).map((piece) => new TextEncoder().encode(piece));
    const body = new ReadableStream({
      pull(controller) {
        if (pieces.length > 0) controller.enqueue(pieces.shift());
        else controller.close();
      },
    });
    const response = await post('/v1/execute', body, { duplex: 'half' });
    say({ status: response.status, body: await response.json() });
  },

  async range() {
    const seen = [];
    for (const range of ['bytes=0-3', 'bytes=-5', 'bytes=999999-']) {
      const path = `/v1/executions/${process.env.REQUEST}/stdout`;
      const response = await fetch(service + path, { headers: { ...headers, range } });
      seen.push([response.status, response.headers.get('content-range'), await response.text()]);
    }
    say(seen);
  },
};

await commands[process.argv[2]]();
