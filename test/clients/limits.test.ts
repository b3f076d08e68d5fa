// At the end of a limit and at a brake, agents and the official SDKs with their own retries ask once, and their person reads the sentence.
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { place, send, type Place } from './claude-code/place.ts';

const QUESTION = [{ role: 'user' as const, content: 'say hello' }];

/** A history that the brake `repeated_call` stops; the same for all protocols but for the form. */
const LOOP = 3;
const times = <T>(of: (id: string) => T[]): T[] =>
  Array.from({ length: LOOP }, (_, at) => of(`call_${at}`)).flat();

const chatLoop: OpenAI.ChatCompletionMessageParam[] = [
  ...QUESTION,
  ...times<OpenAI.ChatCompletionMessageParam>((id) => [
    {
      role: 'assistant',
      tool_calls: [{ id, type: 'function', function: { name: 'Bash', arguments: '{"command":"npm test"}' } }],
    },
    { role: 'tool', tool_call_id: id, content: 'failed' },
  ]),
];
const messagesLoop: Anthropic.MessageParam[] = [
  ...QUESTION,
  ...times<Anthropic.MessageParam>((id) => [
    { role: 'assistant', content: [{ type: 'tool_use', id, name: 'Bash', input: { command: 'npm test' } }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'failed' }] },
  ]),
];
const responsesLoop: OpenAI.Responses.ResponseInput = [
  ...QUESTION,
  ...times<OpenAI.Responses.ResponseInputItem>((id) => [
    { type: 'function_call', call_id: id, name: 'Bash', arguments: '{"command":"npm test"}' },
    { type: 'function_call_output', call_id: id, output: 'failed' },
  ]),
];

/** Each official client with the retries that it has unless told otherwise, and its requests counted. */
const CLIENTS = {
  'openai, chat': (url, apiKey, fetch, loops) =>
    new OpenAI({ baseURL: `${url}/v1`, apiKey, fetch }).chat.completions.create({
      model: 'm',
      messages: loops ? chatLoop : QUESTION,
    }),
  'openai, responses': (url, apiKey, fetch, loops) =>
    new OpenAI({ baseURL: `${url}/v1`, apiKey, fetch }).responses.create({
      model: 'm',
      input: loops ? responsesLoop : QUESTION,
    }),
  '@anthropic-ai/sdk': (url, apiKey, fetch, loops) =>
    new Anthropic({ baseURL: url, apiKey, fetch }).messages.create({
      model: 'm',
      max_tokens: 5,
      messages: loops ? messagesLoop : QUESTION,
    }),
} satisfies Record<string, (url: string, key: string, via: typeof fetch, loops: boolean) => Promise<unknown>>;

type Client = keyof typeof CLIENTS;
const NAMES = Object.keys(CLIENTS) as Client[];

async function ended(at: Place, client: Client, loops: boolean) {
  let requests = 0;
  const counted: typeof fetch = (...asked) => {
    requests += 1;
    return fetch(...asked);
  };
  const error: unknown = await CLIENTS[client](at.server.url, at.plain, counted, loops).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return { requests, message: error instanceof Error ? error.message : '' };
}

const BRAKED = { brakes: { repeated_call: LOOP } };

describe.each(NAMES)('%s', (client) => {
  it('asks once at the end of a limit of money, and its error is the sentence', async () => {
    const at = await place({ cost: '0.01/day' });
    await send(at);
    const { requests, message } = await ended(at, client, false);
    expect(requests).toBe(1);
    expect(message).toMatch(
      /has spent 0.01 of 0.01 USD of this day .*; the next day begins at 2026-11-27.*; for more/,
    );
    expect(at.upstream.requests).toHaveLength(1);
  });

  it('asks once at a brake, and its error is the sentence', async () => {
    const at = await place({ cost: '1/day' }, BRAKED);
    const { requests, message } = await ended(at, client, true);
    expect(requests).toBe(1);
    expect(message).toMatch(
      /the brake repeated_call stopped this conversation: the tool .*Bash.* was called 3 times .*gateway conversations continue conv_/,
    );
    expect(at.upstream.requests).toHaveLength(0);
  });
});

it('Claude Code with the mark ends at a brake by a billing error, which it shows as it is', async () => {
  const at = await place({ cost: '1/day' }, BRAKED);
  const seen = await send(at, { body: { messages: messagesLoop } });
  expect([seen.status, seen.error?.type]).toEqual([429, 'billing_error']);
  expect(seen.error?.message).toContain('the brake repeated_call stopped this conversation');
  expect(seen.headers.get('x-should-retry')).toBe('false');
  expect(seen.headers.get('anthropic-ratelimit-unified-status')).toBe('rejected');
  expect(seen.headers.has('retry-after')).toBe(false);
  const plain = await send(at, { body: { messages: messagesLoop } }, at.plain);
  expect(plain.error?.type).toBe('rate_limit_error');
});

it.each(['chat', 'messages', 'responses'] as const)(
  'opencode, which asks again after each 429, gets a 400 at the end of a limit of %s, and a 429 where the wait is short',
  async (protocol) => {
    const at = await place(1);
    await send(at);
    const asked = { protocol, headers: { 'user-agent': 'opencode/1.18.33 ai-sdk/provider-utils/4.0.0' } };
    const seen = await send(at, asked, at.plain);
    expect([seen.status, seen.headers.get('x-should-retry')]).toEqual([400, 'false']);
    expect(seen.error?.message).toContain('has used 1 of 1 request of this hour');
    at.clock.advance(Date.parse('2026-11-26T14:59:30Z') - at.clock.now());
    expect((await send(at, asked, at.plain)).status).toBe(429);
  },
);

it('Codex gets the sentence in the header that it shows, in letters that a header may hold', async () => {
  const at = await place(1);
  const key = await at.server.newKey({ account: 'Zoë', tier: 'team' });
  await send(at, { protocol: 'responses' }, key);
  const seen = await send(at, { protocol: 'responses' }, key);
  expect(seen.error?.type).toBe('usage_limit_reached');
  expect(seen.headers.get('x-codex-promo-message')).toMatch(
    /^account "Zo\?" has used 1 of 1 request of this hour/,
  );
});
