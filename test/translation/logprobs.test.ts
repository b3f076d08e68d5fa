// Log probabilities and metadata between chat and responses, which both have them: asked for and answered, whole and streamed. And what
// a translated Response says of a truncation that nobody does.
import { beforeAll, afterAll, describe, expect, it } from 'vitest';
import { provider, startGateway, type TestGateway } from '../helpers/gateway.ts';
import { startScriptedProvider, type ScriptedProvider } from '../helpers/scripted-provider.ts';

let upstream: ScriptedProvider;
let gateway: TestGateway;

beforeAll(async () => {
  upstream = await startScriptedProvider();
  const providers = {
    c: provider(`${upstream.url}/v1`, 'chat', ['m']),
    r: provider(`${upstream.url}/v1`, 'responses', ['m']),
  };
  gateway = await startGateway({ config: { providers } });
});
afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

const token = (text: string, logprob: number) => ({
  token: text,
  logprob,
  bytes: [...Buffer.from(text)],
  top_logprobs: [{ token: text, logprob, bytes: [...Buffer.from(text)] }],
});
/** As streams of responses write it. */
const short = (text: string, logprob: number) => ({
  token: text,
  logprob,
  top_logprobs: [{ token: text, logprob }],
});
const HI = token('Hi', -0.1);
const ADA = token(' Ada', -0.5);

const sse = (...events: object[]): string =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');

const chunk = (content: string, logprobs: object | null, finish: string | null = null): object => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta: { content }, logprobs, finish_reason: finish }],
});

const CHAT = {
  whole: {
    body: {
      id: 'chatcmpl-1',
      created: 1,
      model: 'm',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hi Ada' },
          logprobs: { content: [HI, ADA], refusal: null },
          finish_reason: 'stop',
        },
      ],
      usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
    },
  },
  streamed: {
    headers: { 'content-type': 'text/event-stream' },
    body:
      sse(chunk('Hi', { content: [HI] }), chunk(' Ada', { content: [ADA] }), chunk('', null, 'stop')) +
      'data: [DONE]\n\n',
  },
};

const message = (text: string, logprobs: object[], status: string): object => ({
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  status,
  content: text === '' ? [] : [{ type: 'output_text', text, annotations: [], logprobs }],
});
const response = (output: object[], status = 'completed'): object => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  model: 'm',
  status,
  output,
  usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
});
const delta = (text: string, tokens: object[]): object => ({
  type: 'response.output_text.delta',
  item_id: 'msg_1',
  output_index: 0,
  content_index: 0,
  delta: text,
  logprobs: tokens,
});
const WHOLE_MESSAGE = message('Hi Ada', [HI, ADA], 'completed');
const RESPONSES = {
  whole: { body: response([WHOLE_MESSAGE]) },
  streamed: {
    headers: { 'content-type': 'text/event-stream' },
    body: sse(
      { type: 'response.created', response: response([], 'in_progress') },
      { type: 'response.output_item.added', output_index: 0, item: message('', [], 'in_progress') },
      delta('Hi', [short('Hi', -0.1)]),
      delta(' Ada', [short(' Ada', -0.5)]),
      { type: 'response.output_item.done', output_index: 0, item: WHOLE_MESSAGE },
      { type: 'response.completed', response: response([WHOLE_MESSAGE]) },
    ),
  },
};

async function ask(path: string, body: object): Promise<Response> {
  return fetch(`${gateway.url}/v1${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${gateway.key}` },
    body: JSON.stringify(body),
  });
}

async function events(answer: Response): Promise<Record<string, unknown>[]> {
  const frames = (await answer.text()).split('\n\n').map((frame) => /^data: (.*)$/m.exec(frame)?.[1] ?? '');
  return frames
    .filter((data) => data.startsWith('{'))
    .map((data) => JSON.parse(data) as Record<string, unknown>);
}

const asked = () => upstream.requests.at(-1)?.json;
const ofChat = {
  model: 'r/m',
  messages: [{ role: 'user', content: 'Hi.' }],
  logprobs: true,
  top_logprobs: 1,
};
const ofResponses = {
  model: 'c/m',
  input: 'Hi.',
  include: ['message.output_text.logprobs'],
  top_logprobs: 1,
};

describe('log probabilities', () => {
  it('are asked of a chat provider, and answered to a responses client', async () => {
    upstream.play(CHAT.whole);
    const answer = await ask('/responses', ofResponses);
    expect(answer.headers.get('x-gateway-dropped')).toBeNull();
    expect(asked()).toMatchObject({ logprobs: true, top_logprobs: 1 });
    expect(await answer.json()).toMatchObject({
      output: [{ content: [{ text: 'Hi Ada', logprobs: [HI, ADA] }] }],
    });
  });

  it('stand with the pieces of a stream for a responses client, and in its items', async () => {
    upstream.play(CHAT.streamed);
    const seen = await events(await ask('/responses', { ...ofResponses, stream: true }));
    const deltas = seen.filter(({ type }) => type === 'response.output_text.delta');
    expect(deltas).toMatchObject([
      { delta: 'Hi', logprobs: [HI] },
      { delta: ' Ada', logprobs: [ADA] },
    ]);
    const done = seen.find(({ type }) => type === 'response.output_text.done');
    expect(done).toMatchObject({ text: 'Hi Ada', logprobs: [HI, ADA] });
    expect(seen.at(-1)).toMatchObject({
      response: { output: [{ content: [{ logprobs: [HI, ADA] }] }] },
    });
  });

  it('are asked of a responses provider, and answered to a chat client', async () => {
    upstream.play(RESPONSES.whole);
    const answer = await ask('/chat/completions', ofChat);
    expect(answer.status).toBe(200);
    expect(asked()).toMatchObject({
      include: ['message.output_text.logprobs', 'reasoning.encrypted_content'],
      top_logprobs: 1,
    });
    expect(await answer.json()).toMatchObject({
      choices: [{ message: { content: 'Hi Ada' }, logprobs: { content: [HI, ADA], refusal: null } }],
    });
  });

  it('stand with the pieces of a stream for a chat client, each once', async () => {
    upstream.play(RESPONSES.streamed);
    const seen = await events(await ask('/chat/completions', { ...ofChat, stream: true }));
    const choices = seen.flatMap(({ choices: list }) => list as { delta: object; logprobs: unknown }[]);
    expect(choices.filter(({ logprobs }) => logprobs !== null)).toMatchObject([
      { delta: { content: 'Hi' }, logprobs: { content: [HI] } },
      { delta: { content: ' Ada' }, logprobs: { content: [ADA] } },
    ]);
  });

  it('are not lost where a stream is folded into a whole answer of its own protocol', async () => {
    upstream.play(CHAT.streamed);
    const answer = await ask('/chat/completions', { ...ofChat, model: 'c/m' });
    expect(await answer.json()).toMatchObject({ choices: [{ logprobs: { content: [HI, ADA] } }] });
  });
});

describe('metadata', () => {
  const metadata = { job: '17' };

  it('goes to a chat provider, and is repeated to the client', async () => {
    upstream.play(CHAT.whole);
    const answer = await ask('/responses', { model: 'c/m', input: 'Hi.', metadata });
    expect(asked()).toMatchObject({ metadata });
    expect(await answer.json()).toMatchObject({ metadata });
  });

  it('goes to a responses provider', async () => {
    upstream.play(RESPONSES.whole);
    await ask('/chat/completions', { model: 'r/m', messages: ofChat.messages, metadata });
    expect(asked()).toMatchObject({ metadata });
  });
});

describe('a translated Response', () => {
  it.each([false, true])('says that nothing is truncated (stream: %s)', async (stream) => {
    upstream.play(stream ? CHAT.streamed : CHAT.whole);
    const answer = await ask('/responses', { model: 'c/m', input: 'Hi.', truncation: 'auto', stream });
    expect(answer.headers.get('x-gateway-dropped')).toBe('truncation');
    const said = stream
      ? (await events(answer)).flatMap(({ response: one }) => (one === undefined ? [] : [one]))
      : [await answer.json()];
    expect(said.length).toBeGreaterThan(0);
    for (const one of said) expect(one).toMatchObject({ truncation: 'disabled' });
  });
});
