// Notices of limits at the whole gateway: at 80 % and at 100 %, once a window, in the log, in the live stream and at the receiver.
import { expect, it, onTestFinished } from 'vitest';
import { gateway, provider, type TestGateway } from '../helpers/gateway.ts';
import { manualClock } from '../helpers/clock.ts';
import { receiver } from '../helpers/receiver.ts';
import { API, newToken } from '../admin/support.ts';
import { type Script, scriptedProvider } from '../helpers/scripted-provider.ts';

/** A dollar a token. */
const PRICE = { input: 1e6, output: 1e6 };

function used(tokens: number): Script {
  const choices = [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }];
  const usage = { prompt_tokens: tokens, completion_tokens: 0 };
  return { body: { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices, usage } };
}

async function place(team: unknown, more: Record<string, unknown> = {}) {
  const upstream = await scriptedProvider();
  const hook = await receiver();
  const clock = manualClock();
  const providers = { p: provider(`${upstream.url}/v1`, 'chat', [{ id: 'm', price: PRICE }]) };
  const config = { providers, tiers: { team }, alerts: { url: hook.url, secret: '${HUSH}' }, ...more };
  const start = (own = {}) =>
    gateway({ tier: 'team', config: { ...config, ...own }, clock, variables: { HUSH: 'hush-hush' } });
  const server = await start();
  const ask = async ({ url, key }: TestGateway, tokens: number, status = 200) => {
    if (status === 200) upstream.play(used(tokens));
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 1 }),
    });
    await answer.text();
    expect(answer.status).toBe(status);
  };
  /** What has arrived when a round is over. */
  const events = async (count: number) => {
    while (hook.received.length < count) {
      clock.advance(500);
      await new Promise(setImmediate);
    }
    return hook.received.map(({ body }) => body as { threshold: number; percent: number });
  };
  return { server, start, ask, events, clock, hook };
}

it('there is one at 80 % and one at 100 % of a limit of cost, in the exact form', async () => {
  const { server, ask, events, hook, clock } = await place({ cost: '100/day' });
  await ask(server, 70);
  clock.advance(1000);
  await ask(server, 15);
  const [first] = await events(1);
  expect(first).toEqual({
    event: 'limit',
    account: 'test',
    kind: 'cost',
    per: 'day',
    limit: 100,
    spent: 85,
    percent: 85,
    threshold: 80,
    resets_at: '2026-03-02T00:00:00.000Z',
    at: expect.stringMatching(/^2026-03-01T10:/) as string,
  });
  await ask(server, 10);
  clock.advance(1000);
  await ask(server, 50);
  const all = await events(2);
  expect(all[1]).toMatchObject({ spent: 145, percent: 145, threshold: 100 });
  expect(hook.received[0]?.authorization).toBe('Bearer hush-hush');
  const log = server.log();
  expect(log).toMatch(/"kind":"cost".*"threshold":80.*"a limit is nearly used up"/);
  expect(log).toMatch(/"a limit is used up"/);
  expect(log).not.toContain('hush-hush');
});

it('an answer that jumps over both thresholds sends 100 alone, also for the short form, and a new window begins anew', async () => {
  const { server, ask, events, clock } = await place({ cost: '100/day', tokens: '10k/hour' });
  await ask(server, 250);
  expect(await events(1)).toMatchObject([{ kind: 'cost', threshold: 100, percent: 250 }]);
  await ask(server, 1, 429);
  clock.sleep(24 * 3_600_000);
  await ask(server, 90);
  expect((await events(2))[1]).toMatchObject({ kind: 'cost', threshold: 80, percent: 90 });
});

it('requests an hour have theirs when they are admitted', async () => {
  const { server, ask, events } = await place(5);
  for (let index = 0; index < 4; index += 1) await ask(server, 1);
  expect(await events(1)).toMatchObject([
    { kind: 'requests', per: 'hour', limit: 5, spent: 4, percent: 80, threshold: 80 },
  ]);
  await ask(server, 1);
  expect((await events(2))[1]).toMatchObject({ spent: 5, threshold: 100 });
  await ask(server, 1, 429);
});

it('two gateways of one database send each notice once, and a grant counts', async () => {
  const { server, start, ask, events, clock, hook } = await place({ cost: '100/day' });
  const other = await start({ database: server.store.location });
  await ask(server, 60);
  await ask(other, 22);
  await ask(server, 1);
  expect(await events(1)).toMatchObject([{ threshold: 80 }]);
  const [account] = await server.store.listAccounts();
  const grant = { id: 'g', kind: 'cost' as const, amount: 900e9, until: clock.now() + 3_600_000 };
  await server.store.addGrants([
    { ...grant, accountId: account?.id ?? 0, createdAt: clock.now(), revokedAt: null },
  ]);
  await ask(other, 500);
  await ask(server, 1);
  clock.advance(1000);
  await ask(server, 417);
  expect((await events(2))[1]).toMatchObject({ limit: 100, threshold: 100, percent: 100.1 });
  await Promise.all([server.stop(), other.stop()]);
  expect(hook.received).toHaveLength(2);
});

it('is an event of the live stream', async () => {
  const { server, ask, clock, events } = await place({ cost: '100/day' }, { admin: true });
  const { plaintext: token } = await newToken(server, 'read');
  const headers = { authorization: `Bearer ${token}` };
  const stream = await fetch(`${server.url}${API}/events`, { headers });
  const reader = stream.body?.getReader();
  onTestFinished(() => reader?.cancel());
  await ask(server, 90);
  await events(1);
  clock.advance(1000);
  let text = '';
  while (!text.includes('event: notice')) text += Buffer.from((await reader?.read())?.value ?? []).toString();
  expect(text).toContain('event: notice\ndata: {"event":"limit","account":"test","kind":"cost","per":"day"');
});

it('what waits when the gateway ends is sent, and requests never wait for a receiver', async () => {
  const { server, ask, hook } = await place({ cost: '100/day' });
  await ask(server, 90);
  await server.stop();
  expect(hook.received).toMatchObject([{ body: { threshold: 80 } }]);
});
