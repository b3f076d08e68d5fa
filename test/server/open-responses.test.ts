// What the compliance tests of Open Responses ask (https://www.openresponses.org, release 2026-04-24), over HTTP and over a WebSocket, in
// front of a provider of each protocol: the simulated provider, as another gateway serves it.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { provider, startGateway, type TestGateway } from '../helpers/gateway.ts';
import { checkedEvents, responseSchema } from '../helpers/responses-schemas.ts';
import { scriptedProvider } from '../helpers/scripted-provider.ts';
import { idOf, socketClient, textOf, type Event } from '../helpers/socket-client.ts';

let inner: TestGateway;
let gateway: TestGateway;

beforeAll(async () => {
  inner = await startGateway({ tier: 'unlimited' });
  const models = [{ id: 'echo', upstream: 'sim/echo' }];
  const at = (protocol: 'chat' | 'messages' | 'responses') =>
    provider(protocol === 'messages' ? inner.url : `${inner.url}/v1`, protocol, models, {
      api_key: inner.key,
    });
  gateway = await startGateway({
    tier: 'unlimited',
    config: {
      providers: { chat: at('chat'), messages: at('messages'), responses: at('responses') },
    },
  });
});
afterAll(async () => {
  await gateway.stop();
  await inner.stop();
});

interface Item extends Record<string, unknown> {
  type: string;
  content?: { text?: string }[];
}
interface Answer extends Record<string, unknown> {
  status: string;
  output: Item[];
}

async function post(body: object, path = '/responses'): Promise<{ status: number; text: string }> {
  const response = await fetch(`${gateway.url}/v1${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${gateway.key}` },
    body: JSON.stringify(body),
  });
  return { status: response.status, text: await response.text() };
}

/** A whole answer, checked against the schema. */
async function whole(body: object): Promise<Answer> {
  const { status, text } = await post(body);
  expect(status, text).toBe(200);
  return responseSchema.parse(JSON.parse(text)) as unknown as Answer;
}

/** The events of an answer over a WebSocket, checked as those of a stream are. */
function checked(events: readonly Event[]): Event[] {
  const frames = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  return checkedEvents(`${frames.join('')}data: [DONE]\n\n`);
}

const said = ({ output }: Answer): string =>
  output.flatMap(({ content = [] }) => content.map(({ text = '' }) => text)).join('');

const user = (content: unknown) => ({ type: 'message', role: 'user', content });
const WEATHER = {
  type: 'function',
  name: 'get_weather',
  description: 'The weather at a place',
  parameters: { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] },
};
const ASKS_WEATHER = [user('Call get_weather for San Francisco.')];
const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';

describe.each(['chat', 'messages', 'responses'])('in front of a provider of %s', (name) => {
  const model = `${name}/echo`;
  const create = { model, store: false };

  it('basic-response', async () => {
    const answer = await whole({ model, input: [user('Say hello in three words.')] });
    expect(answer.status).toBe('completed');
    expect(said(answer)).toContain('hello');
  });

  it('assistant-phase', async () => {
    const earlier = ['commentary', 'final_answer'].map((phase) => {
      return { type: 'message', role: 'assistant', phase, content: `${phase}: four` };
    });
    const answer = await whole({ model, input: [user('A number?'), ...earlier, user('Only the number.')] });
    expect(answer.status).toBe('completed');
    expect(answer.output).not.toEqual([]);
  });

  it('streaming-response', async () => {
    const { status, text } = await post({ model, stream: true, input: [user('Count from 1 to 5.')] });
    expect(status).toBe(200);
    const events = checkedEvents(text);
    expect(events.at(-1)).toMatchObject({ type: 'response.completed', response: { status: 'completed' } });
  });

  it('system-prompt', async () => {
    const system = { type: 'message', role: 'system', content: 'You are a pirate.' };
    const answer = await whole({ model, input: [system, user('Say hello.')] });
    expect(answer.status).toBe('completed');
    expect(answer.output).not.toEqual([]);
  });

  it('tool-calling', async () => {
    const answer = await whole({ model, input: ASKS_WEATHER, tools: [WEATHER] });
    expect(answer.output).toMatchObject([{ type: 'function_call', name: 'get_weather' }]);
    const { text } = await post({ model, input: ASKS_WEATHER, tools: [WEATHER], stream: true });
    const types = checkedEvents(text).map(({ type }) => type);
    for (const part of ['output_item.added', 'function_call_arguments.delta', 'output_item.done'])
      expect(types).toContain(`response.${part}`);
  });

  it('image-input', async () => {
    const parts = [
      { type: 'input_text', text: 'What do you see?' },
      { type: 'input_image', image_url: PIXEL },
    ];
    const answer = await whole({ model, input: [user(parts)] });
    expect(answer.status).toBe('completed');
    expect(said(answer)).toMatch(/png/i);
  });

  it('multi-turn', async () => {
    const reply = { type: 'message', role: 'assistant', content: 'Hello Alice.' };
    const answer = await whole({ model, input: [user('I am Alice.'), reply, user('What is my name?')] });
    expect(answer.status).toBe('completed');
    expect(answer.output).not.toEqual([]);
  });

  it('compact-response', async () => {
    const reply = { type: 'message', role: 'assistant', content: 'Understood.' };
    const body = { model, prompt_cache_key: 'launch', input: [user('We launch on Tuesday.'), reply] };
    const { status, text } = await post(body, '/responses/compact');
    expect(status, text).toBe(200);
    const compacted = JSON.parse(text) as Answer;
    expect(compacted).toMatchObject({
      id: expect.any(String) as string,
      object: 'response.compaction',
      created_at: expect.any(Number) as number,
      usage: { input_tokens: expect.any(Number) as number, total_tokens: expect.any(Number) as number },
    });
    const item = compacted.output.find(({ type }) => type === 'compaction');
    expect(item).toMatchObject({
      id: expect.any(String) as string,
      encrypted_content: expect.any(String) as string,
    });
  });

  it('compact-missing-model', async () => {
    expect((await post({ input: [user('Compact this.')] }, '/responses/compact')).status).toBe(400);
  });

  it('websocket-response', async () => {
    const client = await socketClient(gateway);
    const events = checked(await client.create({ model, input: [user('Count from 1 to 3.')] }));
    expect(events.at(-1)).toMatchObject({ type: 'response.completed', response: { status: 'completed' } });
  });

  it('websocket-sequential-responses', async () => {
    const client = await socketClient(gateway);
    for (const word of ['first', 'second']) {
      const events = checked(await client.create({ ...create, input: `Reply with: ${word}` }));
      expect(textOf(events)).toContain(word);
    }
  });

  it('websocket-continuation', async () => {
    const client = await socketClient(gateway);
    const first = checked(await client.create({ ...create, input: 'The word is cobalt.' }));
    const next = { ...create, previous_response_id: idOf(first), input: 'What is the word?' };
    expect(checked(await client.create(next)).at(-1)?.type).toBe('response.completed');
  });

  it('websocket-reconnect-store-false-recovery', async () => {
    const client = await socketClient(gateway);
    const first = await client.create({ ...create, input: 'The word is copper.' });
    client.ws.close();
    const again = await socketClient(gateway);
    const lost = { ...create, previous_response_id: idOf(first), input: 'Go on.' };
    expect(await again.create(lost)).toMatchObject([{ error: { code: 'previous_response_not_found' } }]);
    expect(textOf(checked(await again.create({ ...create, input: 'recovered' })))).toContain('recovered');
  });

  it('websocket-previous-response-not-found', async () => {
    const client = await socketClient(gateway);
    const next = { ...create, previous_response_id: 'resp_missing', input: 'This fails.' };
    expect(await client.create(next)).toMatchObject([
      { type: 'error', status: 400, error: { code: 'previous_response_not_found' } },
    ]);
  });

  it('websocket-failed-continuation-evicts-cache', async () => {
    const client = await socketClient(gateway);
    const first = await client.create({ ...create, input: 'The word is ember.' });
    const next = { ...create, previous_response_id: idOf(first) };
    const output = { type: 'function_call_output', call_id: 'call_missing', output: 'Of no call.' };
    expect(await client.create({ ...next, input: [output] })).toMatchObject([{ type: 'error' }]);
    expect(await client.create({ ...next, input: 'Go on.' })).toMatchObject([
      { error: { code: 'previous_response_not_found' } },
    ]);
  });

  it('websocket-compact-new-chain', async () => {
    const reply = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'OK.' }] };
    const body = { model, input: [user([{ type: 'input_text', text: 'The word is slate.' }]), reply] };
    const { output } = JSON.parse((await post(body, '/responses/compact')).text) as Answer;
    const client = await socketClient(gateway);
    const events = await client.create({
      ...create,
      input: [...output, user('Reply: compacted')],
      tools: [],
    });
    expect(textOf(checked(events))).toContain('compacted');
  });
});

it('response-output-phase-schema: the phases of a provider’s messages stay', async () => {
  const upstream = await scriptedProvider();
  const answer = await whole({ model: 'responses/echo', input: [user('A number?')] });
  const output = ['commentary', 'final_answer'].map((phase) => {
    return { ...answer.output[0], id: `msg_${phase}`, phase };
  });
  upstream.playAlways({ body: { ...answer, output } });
  const phased = await startGateway({
    config: { providers: { p: provider(`${upstream.url}/v1`, 'responses', ['m']) } },
  });
  try {
    const response = await fetch(`${phased.url}/v1/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${phased.key}` },
      body: JSON.stringify({ model: 'm', input: 'A number?' }),
    });
    expect(await response.json()).toMatchObject({ status: 'completed', output });
  } finally {
    await phased.stop();
  }
});
