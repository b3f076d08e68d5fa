// Limits of money and brakes over a WebSocket: each message holds, is settled and is stopped as a request over HTTP is.
import { describe, expect, it } from 'vitest';
import type { Limit } from '../../../src/tier.ts';
import { gateway, provider, type TestGateway } from '../../helpers/gateway.ts';
import { gate, scriptedProvider } from '../../helpers/scripted-provider.ts';
import { socketClient, textOf } from '../../helpers/socket-client.ts';

/** A dollar a token of input, two of output. */
const PRICE = { input: 1e6, output: 2e6 };
const DAY: Limit = { kind: 'cost', per: 'day', most: 1 };
const CONVERSATION = { 'x-gateway-conversation': 'one' };

const chunk = (members: object): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', ...members })}\n\n`;
const BEGIN = chunk({
  choices: [{ index: 0, delta: { role: 'assistant', content: 'Yes' }, finish_reason: null }],
});
/** As much output as is asked for at most: the next answer is expected to take as much. */
const END =
  chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }) +
  chunk({ choices: [], usage: { prompt_tokens: 7, completion_tokens: 5 } }) +
  'data: [DONE]\n\n';

async function place(cost: string, brakes?: object) {
  const upstream = await scriptedProvider();
  const providers = { maker: provider(`${upstream.url}/v1`, 'chat', [{ id: 'm', price: PRICE }]) };
  const config = { providers, tiers: { team: { cost } }, ...(brakes && { brakes }) };
  return { upstream, server: await gateway({ tier: 'team', config }) };
}

/** In dollars. */
async function standing({ store }: TestGateway) {
  const [account] = await store.listAccounts();
  const [row] = await store.standings(account?.id ?? 0, [DAY], Date.now());
  return { spent: (row?.spent ?? NaN) / 1e9, held: (row?.held ?? NaN) / 1e9 };
}

async function overHttp({ url, key }: TestGateway, body: object): Promise<{ status: number; json: object }> {
  const answer = await fetch(`${url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...CONVERSATION },
    body: JSON.stringify(body),
  });
  return { status: answer.status, json: (await answer.json()) as object };
}

const ASKED = { model: 'maker/m', max_output_tokens: 5, store: false };

it('a message holds its estimate while it is answered, and is settled before its last event, as over HTTP', async () => {
  const { upstream, server } = await place('20/day');
  const client = await socketClient(server);
  const held: number[] = [];
  for (const way of ['socket', 'http']) {
    const open = gate();
    upstream.play({ headers: { 'content-type': 'text/event-stream' }, steps: [BEGIN, open.opened, END] });
    const answered =
      way === 'socket'
        ? client.create({ ...ASKED, input: 'Hello' }).then(textOf)
        : overHttp(server, { ...ASKED, input: 'Hello' }).then(({ json }) => JSON.stringify(json));
    await expect.poll(async () => (await standing(server)).held).toBeGreaterThan(0);
    held.push((await standing(server)).held);
    open.open();
    expect(await answered).toContain('Yes');
    expect(await standing(server)).toEqual({ spent: 17 * held.length, held: 0 });
  }
  expect(held[0]).toBe(held[1]);
  const [refused] = await client.create({ ...ASKED, input: 'Hello' });
  expect(refused).toMatchObject({
    type: 'error',
    status: 429,
    error: { type: 'usage_limit_reached', message: expect.stringContaining('34 of 20 USD') as string },
  });
  expect(upstream.requests).toHaveLength(2);
});

describe('a brake refuses a message with conversation_stopped, which Codex shows and does not repeat', () => {
  const call = (at: number): object[] => [
    { type: 'function_call', call_id: `c${at}`, name: 'Bash', arguments: '{"command":"ls"}' },
    { type: 'function_call_output', call_id: `c${at}`, output: 'ok' },
  ];
  const input = (calls: number): object[] => [
    { role: 'user', content: 'go' },
    ...Array.from({ length: calls }, (_, at) => call(at)).flat(),
  ];

  it.each([
    ['repeated_call', { repeated_call: 3 }, [1, 2], 3],
    ['requests_a_prompt', { requests_a_prompt: 2 }, [1, 2], 3],
    ['conversation', { conversation: 20 }, [1, 2], 3],
  ])('%s', async (brake, brakes, before, last) => {
    const { upstream, server } = await place('1000/day', brakes);
    upstream.playAlways({ headers: { 'content-type': 'text/event-stream' }, steps: [BEGIN + END] });
    const client = await socketClient(server, { headers: CONVERSATION });
    for (const calls of before)
      expect(textOf(await client.create({ ...ASKED, input: input(calls) }))).toBe('Yes');
    const [refused] = await client.create({ ...ASKED, input: input(last) });
    expect(refused).toMatchObject({
      type: 'error',
      status: 400,
      error: {
        ...{ type: 'invalid_request_error', code: 'conversation_stopped' },
        message: expect.stringMatching(
          new RegExp(`the brake ${brake} stopped this conversation.*gateway conversations continue conv_`),
        ) as string,
      },
      headers: { 'x-should-retry': 'false' },
    });
    expect(await overHttp(server, { ...ASKED, input: input(last) })).toMatchObject({
      status: 400,
      json: { error: { code: 'conversation_stopped' } },
    });
    expect(await server.store.listStops({ limit: 9 })).toMatchObject([{ brake }]);
    expect(upstream.requests).toHaveLength(2);
    expect(await standing(server)).toEqual({ spent: 34, held: 0 });
    // The connection stays: a person lets the conversation go on.
    const [stop] = await server.store.listStops({ limit: 9 });
    await server.store.letGoOn(
      { id: stop?.conversation ?? '', accountId: stop?.accountId ?? 0 },
      undefined,
      Date.now(),
    );
    expect(textOf(await client.create({ ...ASKED, input: input(last) }))).toBe('Yes');
  });
});
