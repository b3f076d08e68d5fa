// Brakes at the whole gateway: what stops a conversation, what a refused client is told in each protocol, and what lets it go on.
import { describe, expect, it } from 'vitest';
import { gateway, provider, type TestGateway } from '../helpers/gateway.ts';
import { scriptedProvider } from '../helpers/scripted-provider.ts';
import { wholeOf } from './wire.ts';

/** A dollar a token of input, two of output. */
const PRICE = { input: 1e6, output: 2e6 };
const PATHS = { chat: 'chat/completions', messages: 'messages', responses: 'responses' } as const;
type Name = keyof typeof PATHS;
const NAMES = Object.keys(PATHS) as Name[];

async function place(brakes: unknown, more: Record<string, unknown> = {}) {
  const upstream = await scriptedProvider();
  const providers = { maker: provider(`${upstream.url}/v1`, 'chat', [{ id: 'm', price: PRICE }]) };
  const server = await gateway({ tier: 'unlimited', config: { providers, brakes, ...more } });
  return { upstream, server };
}

interface Turn {
  name?: string;
  given?: unknown;
  result?: unknown;
  text?: string;
}

/** A history in the words of each protocol: a user's text, calls with their results, texts between them. */
const HISTORY: Readonly<Record<Name, (text: string, turns: readonly Turn[]) => object>> = {
  chat: (text, turns) => ({
    messages: [
      { role: 'user', content: text },
      ...turns.flatMap(({ name = 'Bash', given = {}, result = 'ok', text: more }, at) =>
        more !== undefined
          ? [{ role: 'user', content: more }]
          : [
              {
                role: 'assistant',
                content: null,
                tool_calls: [
                  { id: `c${at}`, type: 'function', function: { name, arguments: JSON.stringify(given) } },
                ],
              },
              { role: 'tool', tool_call_id: `c${at}`, content: result },
            ],
      ),
    ],
  }),
  messages: (text, turns) => ({
    max_tokens: 5,
    messages: [
      { role: 'user', content: text },
      ...turns.flatMap(({ name = 'Bash', given = {}, result = 'ok', text: more }, at) =>
        more !== undefined
          ? [{ role: 'user', content: more }]
          : [
              { role: 'assistant', content: [{ type: 'tool_use', id: `c${at}`, name, input: given }] },
              { role: 'user', content: [{ type: 'tool_result', tool_use_id: `c${at}`, content: result }] },
            ],
      ),
    ],
  }),
  responses: (text, turns) => ({
    input: [
      { role: 'user', content: text },
      ...turns.flatMap(({ name = 'Bash', given = {}, result = 'ok', text: more }, at) =>
        more !== undefined
          ? [{ role: 'user', content: more }]
          : [
              { type: 'function_call', call_id: `c${at}`, name, arguments: JSON.stringify(given) },
              { type: 'function_call_output', call_id: `c${at}`, output: result },
            ],
      ),
    ],
  }),
};

const again = (times: number, turn: Turn = { given: { command: 'npm test' } }): Turn[] =>
  Array.from({ length: times }, () => turn);

interface Asking {
  name?: Name;
  conversation?: string | undefined;
  headers?: Record<string, string>;
  key?: string;
}

async function ask(
  { url, key }: TestGateway,
  body: object,
  { name = 'chat', conversation = 'one', headers = {} }: Asking = {},
) {
  const reply = await fetch(`${url}/v1/${PATHS[name]}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'x-api-key': key,
      'content-type': 'application/json',
      ...(conversation !== '' && { 'x-gateway-conversation': conversation }),
      ...headers,
    },
    body: JSON.stringify({ model: 'maker/m', ...body }),
  });
  const text = await reply.text();
  return { status: reply.status, headers: reply.headers, text };
}

const stops = async ({ store }: TestGateway) =>
  (await store.listStops({ limit: 10 })).map(({ conversation, brake }) => ({ conversation, brake }));

const idIn = (text: string): string => /gateway conversations continue (conv_\w+)/.exec(text)?.[1] ?? '';

async function goOn({ store }: TestGateway, id: string, most?: number): Promise<void> {
  const [account] = await store.listAccounts();
  await store.letGoOn({ id, accountId: account?.id ?? 0 }, most, Date.now());
}

describe('a repeated call', () => {
  it.each(NAMES)(
    'is refused in the form on which clients of %s end, before anything is counted or sent',
    async (name) => {
      const { upstream, server } = await place({ repeated_call: 5 }, { metrics: true });
      const { status, headers, text } = await ask(server, HISTORY[name]('fix it', again(5)), { name });
      const id = idIn(text);
      const message =
        'the brake repeated_call stopped this conversation: the tool "Bash" was called 5 times in a row with the same ' +
        `arguments and the same result; to let it go on, on the gateway's machine: gateway conversations continue ${id}`;
      const forms: Record<Name, [status: number, body: object]> = {
        chat: [
          429,
          { error: { message, type: 'rate_limit_error', param: null, code: 'rate_limit_exceeded' } },
        ],
        messages: [
          429,
          {
            type: 'error',
            error: { type: 'rate_limit_error', message },
            request_id: headers.get('request-id'),
          },
        ],
        responses: [
          400,
          { error: { message, type: 'invalid_request_error', param: null, code: 'conversation_stopped' } },
        ],
      };
      expect([status, JSON.parse(text)]).toEqual(forms[name]);
      expect(headers.get('x-should-retry')).toBe('false');
      expect([...headers.keys()].filter((key) => /retry-after|ratelimit|limits/.test(key))).toEqual([]);
      expect(await stops(server)).toEqual([{ conversation: id, brake: 'repeated_call' }]);
      expect(upstream.received).toHaveLength(0);
      const [account] = await server.store.listAccounts();
      expect(await server.store.admissionsByHour(account?.id, 0)).toEqual([]);
      const metrics = await (await fetch(`${server.url}/metrics`)).text();
      expect(metrics).toMatch(/gateway_requests_refused_total\{[^}]*error="conversation_stopped"[^}]*\} 1/);
    },
  );
});
