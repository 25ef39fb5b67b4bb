// What a model is sent of a tool's result, by frameworks for agents as npm has them, unmodified.
//
//   node mcp_agents.mjs CALLS FRAMEWORK…      with in the environment:
//     MODULES  the directory of npm's packages      SERVICE and TOKEN  of the server of MCP
//
// CALLS is JSON: [{name, arguments}…]; each FRAMEWORK is one of those below. The model is a server on this machine, which
// asks for one call and then says that it is done. Prints one line of JSON: {framework: [of each call, the last request
// that the model was sent]}.

import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [calls, ...names] = process.argv.slice(2);
const { MODULES, SERVICE, TOKEN } = process.env;
const require = createRequire(`${MODULES}/here.js`);
const load = (name) => import(pathToFileURL(require.resolve(name)));
const headers = { Authorization: `Bearer ${TOKEN}` };
const DONE = 'that is all';
let wanted, last, number = 0;

// The three interfaces of models: what asks for a call, and what ends. Whether one was made shows in the request. An answer of
// an earlier one's id would replace it.
const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2, prompt_tokens: 1, completion_tokens: 1,
  input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } };
const replies = {
  '/v1/responses': (body) => ({
    id: `resp_${++number}`, object: 'response', created_at: 1, status: 'completed', model: body.model, usage, tools: [], error: null,
    incomplete_details: null, instructions: null, metadata: {}, parallel_tool_calls: true, temperature: 1, tool_choice: 'auto', top_p: 1,
    output: body.input.some((item) => item.type === 'function_call_output')
      ? [{ type: 'message', id: `msg_${number}`, role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: DONE, annotations: [] }] }]
      : [{ type: 'function_call', id: 'fc_1', call_id: 'call_1', status: 'completed', name: wanted.name, arguments: JSON.stringify(wanted.arguments) }],
  }),
  '/v1/chat/completions': (body) => {
    const done = body.messages.some((message) => message.role === 'tool');
    const call = { id: 'call_1', type: 'function', function: { name: wanted.name, arguments: JSON.stringify(wanted.arguments) } };
    return { id: `chat_${++number}`, object: 'chat.completion', created: 1, model: body.model, usage,
      choices: [{ index: 0, finish_reason: done ? 'stop' : 'tool_calls',
        message: done ? { role: 'assistant', content: DONE } : { role: 'assistant', content: null, tool_calls: [call] } }] };
  },
  '/v1/messages': (body) => {
    const done = body.messages.length > 1;
    return { id: `msg_${++number}`, type: 'message', role: 'assistant', model: body.model, usage, stop_reason: done ? 'end_turn' : 'tool_use', stop_sequence: null,
      content: [done ? { type: 'text', text: DONE } : { type: 'tool_use', id: 'call_1', name: wanted.name, input: wanted.arguments }] };
  },
};
const server = createServer(async (request, response) => {
  let text = '';
  for await (const part of request.setEncoding('utf8')) text += part;
  last = JSON.parse(text);
  response.setHeader('Content-Type', 'application/json');
  response.end(JSON.stringify(replies[request.url](last)));
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const base = `http://127.0.0.1:${server.address().port}`;

// The AI SDK of Vercel.
async function ai(model) {
  const { createMCPClient } = await load('@ai-sdk/mcp');
  const { generateText, stepCountIs } = await load('ai');
  const client = await createMCPClient({ transport: { type: 'http', url: SERVICE, headers } });
  const tools = await client.tools();
  return { ask: async () => (await generateText({ model, tools, prompt: 'go', stopWhen: stepCountIs(3) })).text, close: () => client.close() };
}

async function langchain(model, options = {}) {
  const { MultiServerMCPClient } = await load('@langchain/mcp-adapters');
  const { createReactAgent } = await load('@langchain/langgraph/prebuilt');
  const client = new MultiServerMCPClient({ mcpServers: { emberbox: { transport: 'http', url: SERVICE, headers } }, ...options });
  const agent = createReactAgent({ llm: model, tools: await client.getTools() });
  return { ask: async () => (await agent.invoke({ messages: [{ role: 'user', content: 'go' }] })).messages.at(-1).text, close: () => client.close() };
}

async function agents(options = {}) {
  const { Agent, run, MCPServerStreamableHttp, setTracingDisabled, setDefaultOpenAIClient, setOpenAIAPI } = await load('@openai/agents');
  const { default: OpenAI } = await load('openai');
  setTracingDisabled(true);
  setOpenAIAPI(options.api ?? 'responses');
  setDefaultOpenAIClient(new OpenAI({ apiKey: 'k', baseURL: `${base}/v1` }));
  const emberbox = new MCPServerStreamableHttp({ url: SERVICE, name: 'emberbox', requestInit: { headers }, ...options.server });
  await emberbox.connect();
  const agent = new Agent({ name: 'a', model: 'gpt-4o', mcpServers: [emberbox] });
  return { ask: async () => (await run(agent, 'go')).finalOutput, close: () => emberbox.close() };
}

const chat = async (fields) => new (await load('@langchain/openai')).ChatOpenAI(
  { model: 'gpt-4o', apiKey: 'k', maxRetries: 0, configuration: { baseURL: `${base}/v1` }, ...fields });
const frameworks = {
  'ai-openai': async () => ai((await load('@ai-sdk/openai')).createOpenAI({ apiKey: 'k', baseURL: `${base}/v1` })('gpt-4o')),
  'ai-anthropic': async () => ai((await load('@ai-sdk/anthropic')).createAnthropic({ apiKey: 'k', baseURL: `${base}/v1` })('claude-sonnet-4-5')),
  'langchain-anthropic': async () => langchain(new (await load('@langchain/anthropic')).ChatAnthropic(
    { model: 'claude-sonnet-4-5', apiKey: 'k', anthropicApiUrl: base, maxRetries: 0 })),
  'langchain-openai': async () => langchain(await chat({})),
  'langchain-responses': async () => langchain(await chat({ useResponsesApi: true })),
  'langchain-artifact': async () => langchain(await chat({ useResponsesApi: true }), { outputHandling: { image: 'artifact' } }),
  agents: () => agents(),
  'agents-structured': () => agents({ server: { useStructuredContent: true } }),
  'agents-chat': () => agents({ api: 'chat_completions' }),
};

const sent = {};
for (const name of names) {
  const { ask, close } = await frameworks[name]();
  sent[name] = [];
  for (wanted of JSON.parse(calls)) {
    const said = await ask();
    if (said !== DONE) throw new Error(`${name}: the agent says: ${said}`);
    sent[name].push(last);
  }
  await close();
}
process.stdout.write(`${JSON.stringify(sent)}\n`, () => process.exit(0));
