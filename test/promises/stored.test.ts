// P37, P38: what is stored, here or at a provider whose key all accounts share, belongs to the account that it was made for, and what a
// request refers to is bounded as what it brings.
import { describe, expect, it } from 'vitest';
import { gateway, provider, type TestGateway } from '../helpers/gateway.ts';
import { scriptedProvider, type ScriptedProvider } from '../helpers/scripted-provider.ts';

const QUESTION = { role: 'user', content: 'What did I say?' };
const PATHS = { responses: '/responses', messages: '/messages', chat: '/chat/completions' } as const;

interface Asked {
  status: number;
  headers: Headers;
  json: { id: string; error?: { message: string; param?: string; code?: string } };
}

async function send(method: string, url: string, key: string, body?: object): Promise<Asked> {
  const answer = await fetch(url, {
    method,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, 'x-api-key': key },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: answer.status, headers: answer.headers, json: (await answer.json()) as Asked['json'] };
}

function response(id: string, more: object = {}): object {
  const content = [{ type: 'output_text', text: 'The password is hunter2.', annotations: [] }];
  const message = { type: 'message', id: `msg_${id}`, role: 'assistant', status: 'completed', content };
  const image = {
    type: 'image_generation_call',
    id: `ig_${id}`,
    status: 'completed',
    result: 'iVBORw0KGgo=',
  };
  const thoughts = { type: 'reasoning', id: `rs_${id}`, summary: [] };
  const ran = { type: 'code_interpreter_call', id: `ci_${id}`, code: '1', container_id: `cntr_${id}` };
  const output = [thoughts, image, ran, message];
  return {
    id: `resp_${id}`,
    object: 'response',
    status: 'completed',
    model: 'm',
    output,
    usage: null,
    ...more,
  };
}

const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  content: [{ type: 'text', text: 'Yes.' }],
};
const ANSWERS = {
  responses: response('two'),
  messages: { ...MESSAGE, stop_reason: 'end_turn', usage: { input_tokens: 1, output_tokens: 1 } },
  chat: {
    choices: [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }],
  },
};

interface Setup {
  upstream: ScriptedProvider;
  running: TestGateway;
  alice: string;
  bob: string;
  ask: (key: string, body: object, path?: string) => Promise<Asked>;
}

/** A responses provider, `r`, and another protocol's, `c`. */
async function setUp(more: Record<string, unknown> = {}, entry: object = {}): Promise<Setup> {
  const upstream = await scriptedProvider();
  const providers = {
    r: provider(`${upstream.url}/v1`, 'responses', ['m'], entry),
    c: provider(`${upstream.url}/v1`, 'chat', ['m'], entry),
    a: provider(`${upstream.url}/v1`, 'messages', ['m'], entry),
  };
  const running = await gateway({ config: { providers, ...more } });
  const bob = await running.newKey({ account: 'bob' });
  return {
    upstream,
    running,
    alice: running.key,
    bob,
    ask: (key, body, path = PATHS.responses) =>
      send('POST', `${running.url}/v1${path}`, key, { model: 'r/m', ...body }),
  };
}

const referring = {
  previous_response_id: { previous_response_id: 'resp_one', input: 'x' },
  'an item reference': { input: [QUESTION, { type: 'item_reference', id: 'msg_one' }] },
  'an item reference without its type': { input: [QUESTION, { id: 'msg_one' }] },
  'a call of a tool by its id alone': { input: [QUESTION, { type: 'image_generation_call', id: 'ig_one' }] },
  'a call of a tool without its result': {
    input: [QUESTION, { type: 'image_generation_call', id: 'ig_one', status: 'completed', result: null }],
  },
} as const;

describe('P37: an answer that a provider keeps for one account', () => {
  it.each(Object.entries(referring))('is reached by that account alone: %s', async (_, body) => {
    const { upstream, alice, bob, ask } = await setUp();
    upstream.play({ body: response('one') });
    upstream.playAlways({ body: response('two') });
    expect((await ask(alice, { input: 'My password is hunter2.' })).status).toBe(200);

    for (const path of ['/responses', '/responses/compact']) {
      const refused = await ask(bob, body, path);
      expect(refused.status).toBe(400);
      expect(refused.json.error?.message).toContain('not found');
    }
    expect(upstream.requests).toHaveLength(1);

    expect((await ask(alice, body)).status).toBe(200);
    const [, relayed] = upstream.requests;
    expect(relayed?.json).toMatchObject(body);
  });

  it('is not reached through the count of its tokens', async () => {
    const { upstream, alice, bob, ask } = await setUp();
    upstream.playAlways({ body: response('one') });
    await ask(alice, { input: 'Long.' });
    const refused = await ask(bob, { previous_response_id: 'resp_one' }, '/responses/input_tokens');
    expect(refused.status).toBe(400);
    expect(upstream.requests).toHaveLength(1);
  });

  it('gives its thinking, its tools and its files to no other account, and the request says what it lost', async () => {
    const { upstream, alice, bob, ask } = await setUp();
    upstream.playAlways({ body: response('one') });
    await ask(alice, { input: 'Look.' });
    const search = { type: 'web_search_call', id: 'ws_one', status: 'completed', action: { type: 'search' } };
    const ran = { type: 'code_interpreter_call', id: 'ci_one', code: '1', container_id: 'cntr_one' };
    const spoken = { type: 'message', id: 'msg_one', role: 'assistant', content: [] };
    const input = [QUESTION, { type: 'reasoning', id: 'rs_one', summary: [] }, search, ran, spoken];

    const foreign = await ask(bob, { input });
    expect(foreign.headers.get('x-gateway-dropped')).toBe('input[]');
    const { id: _, ...searched } = search;
    const { id: __, ...said } = spoken;
    expect(upstream.requests[1]?.json.input).toEqual([QUESTION, searched, said]);

    // Another's container is not reached with an id of one's own either.
    upstream.playAlways({ body: response('two') });
    await ask(bob, { input: 'Mine.' });
    await ask(bob, { input: [QUESTION, { ...ran, id: 'ci_two' }] });
    expect(upstream.requests[3]?.json.input).toEqual([QUESTION]);

    const own = [QUESTION, { type: 'reasoning', id: 'rs_one', summary: [] }, ran];
    expect((await ask(alice, { input: own })).headers.get('x-gateway-dropped')).toBeNull();
    expect(upstream.requests[4]?.json.input).toEqual(own);
  });

  it('is written out for a provider that does not keep it', async () => {
    const { upstream, alice, ask } = await setUp();
    upstream.play({ body: response('one', { store: false }) });
    upstream.playAlways({ body: response('two') });
    await ask(alice, { input: 'First.' });
    await ask(alice, { previous_response_id: 'resp_one', input: 'Second.' });
    const second = upstream.requests[1]?.json;
    expect(second).not.toHaveProperty('previous_response_id');
    expect(second?.input).toMatchObject([{ content: 'First.' }, {}, {}, { content: 'Second.' }]);
  });

  it('does not exist with `store: off`: the provider is told so, and references are refused', async () => {
    const { upstream, alice, ask } = await setUp({ responses: { store: 'off' } });
    upstream.playAlways({ body: response('one') });
    await ask(alice, { input: 'x', store: true });
    await ask(alice, { input: 'x' });
    expect(upstream.requests.map(({ json }) => json.store)).toEqual([false, false]);
    for (const body of Object.values(referring)) expect((await ask(alice, body)).status).toBe(400);
    expect(upstream.requests).toHaveLength(2);
  });
});

const kept: [protocol: keyof typeof PATHS, param: string, body: object][] = [
  ['responses', 'conversation', { conversation: 'conv_1', input: 'x' }],
  ['responses', 'conversation', { conversation: { id: 'conv_1' }, input: 'x' }],
  ['responses', 'prompt', { prompt: { id: 'pmpt_1' } }],
  [
    'responses',
    'input[0].content[0].file_id',
    { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'file_1' }] }] },
  ],
  [
    'responses',
    'input[0].output.file_id',
    { input: [{ type: 'computer_call_output', call_id: 'c', output: { file_id: 'file_1' } }] },
  ],
  [
    'responses',
    'tools[0].container',
    { input: 'x', tools: [{ type: 'code_interpreter', container: 'cntr_1' }] },
  ],
  [
    'responses',
    'tools[0].container.file_ids',
    { input: 'x', tools: [{ type: 'code_interpreter', container: { type: 'auto', file_ids: ['f'] } }] },
  ],
  [
    'responses',
    'tools[0].vector_store_ids',
    { input: 'x', tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] },
  ],
  ['messages', 'container', { container: 'container_1' }],
  ['messages', 'container.id', { container: { id: 'container_1' } }],
  [
    'messages',
    'container.skills[0].skill_id',
    { container: { skills: [{ type: 'custom', skill_id: 's' }] } },
  ],
  ['messages', 'thread.previous_message_id', { thread: { type: 'continue', previous_message_id: 'msg_1' } }],
  [
    'messages',
    'messages[0].content[].source.file_id',
    { messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'file', file_id: 'f' } }] }] },
  ],
  [
    'messages',
    'messages[0].content[].file_id',
    { messages: [{ role: 'user', content: [{ type: 'container_upload', file_id: 'f' }] }] },
  ],
  [
    'chat',
    'messages[0].content[0].file.file_id',
    { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'f' } }] }] },
  ],
  ['chat', 'messages[0].audio.id', { messages: [{ role: 'assistant', audio: { id: 'audio_1' } }, QUESTION] }],
  ['chat', 'cached_content', { cached_content: 'cachedContents/1' }],
  [
    'chat',
    'tools[0].retrieval.knowledge_id',
    { tools: [{ type: 'retrieval', retrieval: { knowledge_id: 'k' } }] },
  ],
];

function bodyFor(protocol: keyof typeof PATHS, body: object): object {
  if (protocol === 'responses') return { model: 'r/m', ...body };
  if (protocol === 'chat') return { model: 'c/m', messages: [QUESTION], ...body };
  return { model: 'a/m', max_tokens: 9, messages: [QUESTION], ...body };
}

describe('P37: what a provider keeps for everyone with its key', () => {
  it.each(kept)('is not named by an account: %s, %s', async (protocol, param, body) => {
    const { upstream, bob, ask } = await setUp();
    const refused = await ask(bob, bodyFor(protocol, body), PATHS[protocol]);
    expect(refused.status).toBe(400);
    expect(refused.json.error?.message).toContain(`${param}: it names what`);
    expect(upstream.requests).toHaveLength(0);
  });

  it.each(kept)('is named where its entry says `shared_ids: true`: %s, %s', async (protocol, _, body) => {
    const { upstream, bob, ask } = await setUp({}, { shared_ids: true });
    upstream.playAlways({ body: ANSWERS[protocol] });
    expect((await ask(bob, bodyFor(protocol, body), PATHS[protocol])).status).toBe(200);
    expect(upstream.requests[0]?.json).toMatchObject(body);
  });

  it.each(Object.entries(referring))('so are answers that are unknown here: %s', async (_, body) => {
    const { upstream, bob, ask } = await setUp({}, { shared_ids: true });
    upstream.playAlways({ body: response('two') });
    expect((await ask(bob, body)).status).toBe(200);
    expect(upstream.requests[0]?.json).toMatchObject(body);
  });

  it('is not what a tool of the client has for an argument', async () => {
    const { upstream, bob, ask } = await setUp();
    upstream.playAlways({ body: ANSWERS.messages });
    const schema = { type: 'object', properties: { file_id: { type: 'string', default: 'f' } } };
    const call = { type: 'tool_use', id: 't', name: 'read', input: { file_id: 'f' } };
    const body = {
      tools: [{ name: 'read', input_schema: { ...schema, file_id: 'f' } }],
      messages: [
        QUESTION,
        { role: 'assistant', content: [call] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'x' }] },
      ],
    };
    expect((await ask(bob, bodyFor('messages', body), PATHS.messages)).status).toBe(200);
  });
});

describe('P37: an answer that its account deletes', () => {
  const remove = ({ running }: Setup, key: string): Promise<Asked> =>
    send('DELETE', `${running.url}/v1/responses/resp_one`, key);

  async function answered(): Promise<Setup> {
    const made = await setUp();
    made.upstream.play({ body: response('one') });
    expect((await made.ask(made.alice, { input: 'x' })).status).toBe(200);
    return made;
  }

  it.each([200, 404])('is deleted at the provider too, which answers %i', async (status) => {
    const made = await answered();
    made.upstream.play({ status, body: { deleted: true } });
    expect(await remove(made, made.bob)).toMatchObject({ status: 404 });
    expect(made.upstream.requests).toHaveLength(1);
    expect(await remove(made, made.alice)).toMatchObject({ status: 200, json: { deleted: true } });
    const [, asked] = made.upstream.requests;
    expect(asked).toMatchObject({ method: 'DELETE', path: '/v1/responses/resp_one' });
    expect(asked?.headers.authorization).toContain('sk-provider-secret');
    const again = await made.ask(made.alice, { previous_response_id: 'resp_one', input: 'x' });
    expect(again.status).toBe(400);
  });

  it('stays where the provider does not delete it, and the answer says so', async () => {
    const made = await answered();
    made.upstream.play({ status: 500, body: { error: { message: 'no disk' } } });
    const failed = await remove(made, made.alice);
    expect(failed.status).toBe(502);
    expect(failed.json.error?.message).toContain('r did not delete the answer');
    made.upstream.play({ body: { deleted: true } });
    expect((await remove(made, made.alice)).status).toBe(200);
  });
});

describe('P38: what a request refers to', () => {
  const LARGE = 'x'.repeat(100_000);

  async function storedItem(limits: object): Promise<Setup & { id: string }> {
    const made = await setUp({ limits });
    const message = { role: 'assistant', content: LARGE };
    made.upstream.playAlways({ body: { choices: [{ index: 0, message, finish_reason: 'stop' }] } });
    const { json } = await made.ask(made.alice, { model: 'c/m', input: 'Write.' });
    const [item] = (json as unknown as { output: { id: string }[] }).output;
    return { ...made, id: item?.id ?? '' };
  }

  const repeated = (id: string, count: number): object[] =>
    Array.from({ length: count }, () => ({ type: 'item_reference', id }));

  it.each(['c/m', 'r/m'])(
    'counts like what it brings, however often it names one item: %s',
    async (model) => {
      const { upstream, alice, ask, id } = await storedItem({ max_body: '1MiB' });
      const refused = await ask(alice, { model, input: repeated(id, 1500) });
      expect(refused).toMatchObject({ status: 400, json: { error: { code: 'context_length_exceeded' } } });
      expect(refused.json.error?.message).toContain('limits.max_body');
      expect(upstream.requests).toHaveLength(1);
    },
  );

  it('is bounded in values, too', async () => {
    const { alice, ask, id } = await storedItem({ max_values: 3000 });
    const refused = await ask(alice, { model: 'c/m', input: repeated(id, 500) });
    expect(refused.status).toBe(400);
    expect(refused.json.error?.message).toContain('limits.max_values');
  });

  it('may be more than is kept beside its provider: it is known there alone, and deleted there', async () => {
    const made = await setUp();
    const content = [{ type: 'output_text', text: 'x'.repeat(33_000_000), annotations: [] }];
    const output = [{ type: 'message', id: 'msg_one', role: 'assistant', status: 'completed', content }];
    made.upstream.play({ body: response('one', { output }) });
    await made.ask(made.alice, { input: 'Write.' });
    const body = { previous_response_id: 'resp_one', input: [{ type: 'item_reference', id: 'msg_one' }] };
    expect((await made.ask(made.bob, body)).status).toBe(400);
    made.upstream.play({ body: response('two') });
    expect((await made.ask(made.alice, body)).status).toBe(200);
    expect(made.upstream.requests[1]?.json).toMatchObject(body);
    expect((await made.ask(made.alice, { ...body, model: 'c/m' })).status).toBe(400);
    made.upstream.play({ body: { deleted: true } });
    const url = `${made.running.url}/v1/responses/resp_one`;
    expect((await send('DELETE', url, made.alice)).status).toBe(200);
    expect(made.upstream.requests[2]?.method).toBe('DELETE');
  });

  it('may name one item several times below the bounds', async () => {
    const { upstream, alice, ask, id } = await storedItem({ max_body: '1MiB' });
    expect((await ask(alice, { model: 'c/m', input: repeated(id, 5) })).status).toBe(200);
    expect(upstream.requests[1]?.bytes.length).toBeGreaterThan(500_000);
  });
});
