// The sums of a thousand mixed requests equal a ledger that the test keeps by itself.
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import type { Limit } from '../../src/tier.ts';
import { gateway, provider } from '../helpers/gateway.ts';

const REQUESTS = 1000;
const AT_ONCE = 25;
/** USD a million tokens. */
const DEAR = { input: 3, output: 15, cache_read: 0.3, cache_write: 3.75 };
const CHEAP = { input: 0.25, output: 2 };

const KINDS = [
  'whole',
  'cached',
  'written',
  'reasoning',
  'streamed',
  'fallback',
  'cut',
  'left',
  'unknown',
  'refused',
] as const;
type Kind = (typeof KINDS)[number];

/** What the provider says of request `n`. */
function usageOf(n: number) {
  return { input: 20 + (n % 37), read: (n * 7) % 50, written: (n * 3) % 40, output: 1 + (n % 23) };
}

const chunk = (content: string, finish: string | null, usage?: object): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: { content }, finish_reason: finish }], ...(usage && { usage }) })}\n\n`;

function answer(kind: Kind, n: number, model: string, response: ServerResponse): void {
  const { input, read, written, output } = usageOf(n);
  const send = (status: number, body: object): void => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  };
  const cached = kind === 'cached' ? { prompt_tokens_details: { cached_tokens: read } } : {};
  const thought = kind === 'reasoning' ? { completion_tokens_details: { reasoning_tokens: output - 1 } } : {};
  const prompt = kind === 'cached' ? input + read : input;
  const usage = {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: prompt + output,
    ...cached,
    ...thought,
  };
  if (kind === 'refused') send(400, { error: { message: 'no' } });
  else if (kind === 'fallback' && model === 'dear') send(500, { error: { message: 'broken' } });
  else if (kind === 'written') {
    const counts = {
      input_tokens: input,
      cache_creation_input_tokens: written,
      cache_read_input_tokens: read,
      output_tokens: output,
    };
    send(200, {
      id: 'm',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [{ type: 'text', text: 'Hi' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: counts,
    });
  } else if (kind === 'streamed' || kind === 'cut' || kind === 'left') {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(chunk('Hi', null));
    if (kind === 'streamed') response.end(chunk('', 'stop', usage) + 'data: [DONE]\n\n');
    if (kind === 'cut') setImmediate(() => response.destroy());
  } else {
    const choices = [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }];
    send(200, {
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices,
      ...(kind !== 'unknown' && { usage }),
    });
  }
}

async function makers(): Promise<string> {
  const server = createServer((request, response) => {
    void json(request).then((body) => {
      const { model, messages } = body as {
        model: string;
        messages: { content: string | { text: string }[] }[];
      };
      const content = messages[0]?.content ?? '';
      const [kind, n] = (typeof content === 'string' ? content : (content[0]?.text ?? '')).split(' ');
      answer(kind as Kind, Number(n), model, response);
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Billionths of a dollar, and tokens; undefined: the gateway has to estimate. */
function expected(kind: Kind, n: number): { cost: number; tokens: number; fresh: number } | undefined {
  const { input, read, written, output } = usageOf(n);
  const plain = { tokens: input + output, fresh: input + output };
  const nanos = (dollars: number): number => Math.round(dollars * 1000);
  switch (kind) {
    case 'whole':
    case 'reasoning':
    case 'streamed':
      return { ...plain, cost: nanos(input * DEAR.input + output * DEAR.output) };
    case 'fallback':
      return { ...plain, cost: nanos(input * CHEAP.input + output * CHEAP.output) };
    case 'cached': {
      const cost = nanos(input * DEAR.input + read * DEAR.cache_read + output * DEAR.output);
      return { tokens: input + read + output, fresh: input + output, cost };
    }
    case 'written': {
      const sum =
        input * DEAR.input + read * DEAR.cache_read + written * DEAR.cache_write + output * DEAR.output;
      return { tokens: input + read + written + output, fresh: input + written + output, cost: nanos(sum) };
    }
    case 'refused':
      return { cost: 0, tokens: 0, fresh: 0 };
    case 'cut':
    case 'left':
    case 'unknown':
      return undefined;
  }
}

it('P46: the sums of a thousand mixed requests equal a ledger kept beside them', async () => {
  const base = `${await makers()}/v1`;
  const server = await gateway({
    tier: 'team',
    config: {
      providers: {
        a: provider(base, 'chat', [{ id: 'dear', price: DEAR }]),
        b: provider(base, 'chat', [{ id: 'cheap', price: CHEAP }]),
        c: provider(base, 'messages', [{ id: 'own', price: DEAR }]),
      },
      routes: { both: ['a/dear', 'b/cheap'] },
      tiers: { team: { cost: '1000/month', tokens: '1B/month' } },
    },
  });
  const ask = async (kind: Kind, n: number): Promise<void> => {
    const stream = kind === 'streamed' || kind === 'cut' || kind === 'left';
    const model = kind === 'written' ? 'c/own' : kind === 'fallback' ? 'both' : 'a/dear';
    const path = kind === 'written' ? 'messages' : 'chat/completions';
    const leaving = new AbortController();
    const body = { model, stream, max_tokens: 50, messages: [{ role: 'user', content: `${kind} ${n}` }] };
    const headers = {
      authorization: `Bearer ${server.key}`,
      'x-api-key': server.key,
      'content-type': 'application/json',
    };
    const reply = await fetch(`${server.url}/v1/${path}`, {
      method: 'POST',
      headers,
      signal: leaving.signal,
      body: JSON.stringify(body),
    });
    if (kind === 'left') {
      await reply.body?.getReader().read();
      leaving.abort();
    } else await reply.text().catch(() => undefined);
  };
  let next = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (next < REQUESTS) {
        const n = next++;
        await ask(KINDS[n % KINDS.length] ?? 'whole', n);
      }
    }),
  );
  const limits: Limit[] = [
    { kind: 'cost', per: 'month', most: 1 },
    { kind: 'tokens', per: 'month', most: 1 },
    { kind: 'tokens', per: 'week', most: 1, fresh: true },
    { kind: 'requests', per: 'month', most: 1 },
  ];
  const [account] = await server.store.listAccounts();
  const read = () => server.store.standings(account?.id ?? 0, limits, Date.now());
  await expect.poll(async () => (await read()).map(({ held }) => held)).toEqual([0, 0, 0, 0]);
  const known = Array.from({ length: REQUESTS }, (_, n) => expected(KINDS[n % KINDS.length] ?? 'whole', n));
  const sum = (member: 'cost' | 'tokens' | 'fresh'): number =>
    known.reduce((all, each) => all + (each?.[member] ?? 0), 0);
  const standings = await read();
  expect(standings.slice(0, 3).map(({ spent, estimated }) => spent - estimated)).toEqual([
    ...[sum('cost'), sum('tokens'), sum('fresh')],
  ]);
  expect(standings[3]?.spent).toBe(REQUESTS);
  // 300 requests of which nobody told the usage, of at least the tokens of their words.
  expect(standings[1]?.estimated).toBeGreaterThan(300 * 3);
  expect(standings[0]?.unpriced).toBe(0);
}, 60_000);
