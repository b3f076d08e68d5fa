// A window that has room for the input but not for as much output as was asked for: messages demands a limit, so that clients
// ask for more than they need, and the gateway itself where a chat client asked for none.
import { describe, expect, it } from 'vitest';
import type { ProtocolName } from '../../../src/canonical/request.ts';
import { ask, isWhole, type Question, type Seen } from '../../helpers/ask.ts';
import { gateway, provider } from '../../helpers/gateway.ts';
import { scriptedProvider, type Asked, type Script } from '../../helpers/scripted-provider.ts';
import { errorBody, streamOf, wholeOf } from '../wire.ts';

const ANTHROPIC =
  'input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again';
const VLLM =
  "'max_tokens' or 'max_completion_tokens' is too large: 64000. This model's maximum context length is 64001 tokens and your request has 24235 input tokens (64000 > 64001 - 24235).";

const refused = (protocol: ProtocolName, message: string): Script => ({
  status: 400,
  body: errorBody(protocol, 'invalid_request_error', message),
});
const answered = (protocol: ProtocolName, stream: boolean): Script =>
  stream
    ? { headers: { 'content-type': 'text/event-stream' }, steps: [streamOf(protocol, 'hello')] }
    : { body: wholeOf(protocol, 'hello') };

interface Run {
  seen: Seen;
  requests: Asked[];
  log: string;
}

async function run(at: ProtocolName, scripts: readonly Script[], question: Question): Promise<Run> {
  const scripted = await scriptedProvider();
  scripted.play(...scripts);
  const to = await gateway({ config: { providers: { p: provider(`${scripted.url}/v1`, at, ['m']) } } });
  const seen = await ask(to, { model: 'p/m', ...question });
  return { seen, requests: scripted.requests, log: to.log() };
}

describe.each([false, true])('a translated request (streamed: %s)', (stream) => {
  it.each<[ProtocolName, ProtocolName, string, object, string, number]>([
    ['chat', 'messages', ANTHROPIC, {}, 'max_tokens', 11_760],
    ['chat', 'messages', ANTHROPIC, { max_tokens: 21_333 }, 'max_tokens', 11_760],
    ['messages', 'chat', VLLM, { max_tokens: 64_000 }, 'max_completion_tokens', 39_766],
  ])('of %s is sent to %s once more with what fits', async (client, at, message, body, field, room) => {
    const question = { protocol: client, stream, body };
    const { seen, requests, log } = await run(at, [refused(at, message), answered(at, stream)], question);
    expect(seen).toMatchObject({ status: 200, content: 'hello' });
    expect(isWhole(seen)).toBe(stream);
    expect(seen.headers.get('x-gateway-attempts')).toBe('1');
    const [first, second] = requests.map(({ json }) => json);
    expect(requests).toHaveLength(2);
    expect(second?.[field] ?? second?.max_tokens).toBe(room);
    expect({ ...second, [field]: 0, max_tokens: 0 }).toEqual({ ...first, [field]: 0, max_tokens: 0 });
    expect(log).toContain(`sent again with ${room} tokens of output`);
  });
});

it('keeps the budget of thinking below the smaller limit', async () => {
  const message = ANTHROPIC.replace('188240', '198000');
  const body = { reasoning_effort: 'high', max_completion_tokens: 21_333 };
  const { seen, requests } = await run(
    'messages',
    [refused('messages', message), answered('messages', false)],
    {
      body,
    },
  );
  expect(seen.status).toBe(200);
  const { thinking, max_tokens: limit } = requests[1]?.json ?? {};
  expect(limit).toBe(2000);
  expect((thinking as { budget_tokens: number }).budget_tokens).toBeLessThan(2000);
});

/** One token each, by the gateway's own estimate, and a few for what is around them. */
const words = (count: number): object[] => [
  { role: 'user', content: 'word '.repeat(Math.round(count * 0.8)) },
];
const bound = (limit: number, output: number): string =>
  `This model's maximum context length is ${limit} tokens. However, you requested ${output} output tokens and your prompt contains at least ${limit - output + 1} input tokens, for a total of at least ${limit + 1} tokens. Please reduce the length of the input prompt or the number of requested output tokens.`;

describe('a provider that did not count the input to its end', () => {
  it.each([
    ['told a bound', bound(32_768, 30_000)],
    [
      'told characters',
      "This model's maximum context length is 32768 tokens. However, you requested 30000 output tokens and your prompt contains 110000 characters (more than 98304 characters, which is the upper bound for 2768 input tokens).",
    ],
    [
      'looked at the output alone',
      'max_tokens=64000 cannot be greater than max_model_len=max_total_tokens=32768.',
    ],
  ])('and %s: the gateway counts', async (_what, message) => {
    const { seen, requests } = await run('chat', [refused('chat', message), answered('chat', false)], {
      protocol: 'messages',
      body: { max_tokens: 64_000, messages: words(10_000) },
    });
    expect(seen.status).toBe(200);
    const room = requests[1]?.json.max_completion_tokens ?? requests[1]?.json.max_tokens;
    // A quarter more than the estimate is kept for the input.
    expect(room).toBeGreaterThan(32_768 - 13_500);
    expect(room).toBeLessThan(32_768 - 12_000);
  });

  it('a client that lowers its limit itself gets the estimate, not the bound', async () => {
    const question: Question = {
      protocol: 'messages',
      body: { max_tokens: 30_000, messages: words(10_000) },
    };
    const { seen } = await run('messages', [refused('messages', bound(32_768, 30_000))], question);
    const [, sent] = /context limit: (\d+) \+ 30000 > 32768/.exec(seen.error?.message ?? '') ?? [];
    expect(Number(sent)).toBeGreaterThan(9000);
    expect(Number(sent)).toBeLessThan(11_000);
  });

  it.each<ProtocolName>(['chat', 'messages'])(
    'an input over the window is told so at once (%s)',
    async (at) => {
      const question: Question = {
        protocol: 'messages',
        body: { max_tokens: 30_000, messages: words(40_000) },
      };
      const { seen, requests } = await run(at, [refused(at, bound(32_768, 30_000))], question);
      expect(requests).toHaveLength(1);
      const [, sent] =
        /^prompt is too long: (\d+) tokens > 32768 maximum$/.exec(seen.error?.message ?? '') ?? [];
      expect(Number(sent)).toBeGreaterThan(36_000);
    },
  );
});

it('never asks for more than the client did', async () => {
  const message = VLLM.replaceAll('64000', '60000');
  const { requests } = await run('chat', [refused('chat', message), answered('chat', false)], {
    protocol: 'messages',
    body: { max_tokens: 5000 },
  });
  expect(requests[1]?.json.max_completion_tokens ?? requests[1]?.json.max_tokens).toBe(5000);
});

it('a refusal inside a stream, before any content, is one too', async () => {
  const frame = `event: error\ndata: ${JSON.stringify(errorBody('messages', 'invalid_request_error', ANTHROPIC))}\n\n`;
  const begun: Script = { headers: { 'content-type': 'text/event-stream' }, steps: [frame] };
  const { seen, requests } = await run('messages', [begun, answered('messages', true)], { stream: true });
  expect(seen).toMatchObject({ status: 200, content: 'hello' });
  expect(requests[1]?.json.max_tokens).toBe(11_760);
});

it.each<[string, ProtocolName, string, string]>([
  [
    'there is hardly any room',
    'chat',
    ANTHROPIC.replace('188240', '199900'),
    "This model's maximum context length is 200000 tokens. However, you requested 221233 tokens (199900 in the messages, 21333 in the completion).",
  ],
  [
    'there is hardly any room',
    'messages',
    VLLM.replaceAll('24235', '63500'),
    'prompt is too long: 127500 tokens > 64001 maximum',
  ],
  [
    'the input alone is too much',
    'chat',
    ANTHROPIC.replace('188240', '200001'),
    "This model's maximum context length is 200000 tokens. However, your messages resulted in 200001 tokens.",
  ],
])('if %s, a client of %s gets the error at once', async (_why, client, message, words) => {
  const at = client === 'chat' ? 'messages' : 'chat';
  const body = { max_tokens: 64_000 };
  const { seen, requests } = await run(at, [refused(at, message), answered(at, false)], {
    protocol: client,
    body,
  });
  expect(requests).toHaveLength(1);
  expect(seen).toMatchObject({ status: 400, error: { type: 'invalid_request_error', message: words } });
});

it('a second refusal is the last', async () => {
  const scripts = [
    refused('messages', ANTHROPIC),
    refused('messages', ANTHROPIC),
    answered('messages', false),
  ];
  const { seen, requests } = await run('messages', scripts, {});
  expect(requests).toHaveLength(2);
  expect(seen).toMatchObject({ status: 400, error: { code: 'context_length_exceeded' } });
  expect(seen.headers.get('x-gateway-attempts')).toBe('1');
});

it.each<[ProtocolName, string, string]>([
  ['messages', ANTHROPIC, ANTHROPIC],
  [
    'messages',
    VLLM,
    'input length and `max_tokens` exceed context limit: 24235 + 64000 > 64001, decrease input length or `max_tokens` and try again',
  ],
  [
    'chat',
    VLLM,
    "This model's maximum context length is 64001 tokens. However, you requested 88235 tokens (24235 in the messages, 64000 in the completion).",
  ],
])(
  'a client of %s at its own protocol lowers its limit itself, by the words that it knows',
  async (at, said, words) => {
    const { seen, requests } = await run(at, [refused(at, said), answered(at, false)], { protocol: at });
    expect(requests).toHaveLength(1);
    expect(seen).toMatchObject({ status: 400, error: { message: words } });
  },
);
