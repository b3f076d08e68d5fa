// Bad days of gateways on PostgreSQL: the server stops and comes back, a gateway is killed in mid-load, clocks are wrong.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createKey } from '../../src/accounts/access.ts';
import { HOUR_MS, systemClock } from '../../src/clock.ts';
import { createIds } from '../../src/ids.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import { content, FINISH, START, TERMINAL } from '../gateway/wire.ts';
import { ask, framesOf, isWhole, send } from '../helpers/ask.ts';
import { gateway, provider } from '../helpers/gateway.ts';
import { settableClock, startServer, temporaryDatabase } from '../helpers/postgres.ts';
import { home } from '../helpers/process.ts';
import { gate, scriptedProvider } from '../helpers/scripted-provider.ts';

async function newKey(store: Store, account: string): Promise<string> {
  const { plaintext } = await createKey(
    { store, clock: systemClock, ids: createIds() },
    { account, tier: 'free', label: null, models: null, expiresAt: null, permissions: ['chat'] },
  );
  return plaintext;
}

test('a server that stops: streams go on, requests get 503, and the usage is written by the next gateway', async () => {
  const database = await startServer();
  onTestFinished(() => database.remove());
  const upstream = await scriptedProvider();
  const shell = home();
  shell.configure({ database: database.url, providers: { p: provider(upstream.url, 'chat', ['m']) } });
  const server = await shell.serve();
  const store = await openStore(database.url);
  onTestFinished(() => store.close());
  const to = { url: server.url, key: await newKey(store, 'a') };

  const end = gate();
  upstream.play({ steps: [START.chat, content('chat', 'a'), end.opened, FINISH.chat, TERMINAL.chat] });
  const stream = await send(to, { model: 'm', stream: true });
  database.stop('immediate');
  const refused = await ask(to, { model: 'm' });
  expect(refused.status).toBe(503);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await fetch(`${server.url}/health`)).status).toBe(503);
  end.open();
  expect(isWhole({ frames: framesOf(await stream.text()) })).toBe(true);
  await server.logged('usage rows cannot be written');
  server.child.kill('SIGTERM');
  expect(await server.ended).toMatchObject({ code: 0 });
  const folder = join(shell.directory, 'gateway');
  const spooled = (): string[] => readdirSync(folder).filter((name) => name.includes('.usage-'));
  expect(spooled()).toEqual([expect.stringMatching(/^postgres-[0-9a-f]{12}\.usage-[0-9a-f-]{36}\.jsonl$/)]);

  database.start();
  const next = await shell.serve();
  await next.logged('the usage rows of a spool file were written');
  expect(spooled()).toEqual([]);
  const rows = await store.listRequests({ limit: 10 });
  expect(rows.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(new Set(rows.map(({ requestId }) => requestId)).size).toBe(rows.length);
}, 60_000);

test('a gateway that is killed in mid-load: never more than the limit, and at most what was under way is counted in vain', async () => {
  const database = await temporaryDatabase();
  const shell = home();
  const LIMIT = 40;
  shell.configure({ database: database.url, providers: { sim: {} }, tiers: { free: LIMIT } });
  const [killed, other] = [await shell.serve(), await shell.serve()];
  const store = await openStore(database.url);
  onTestFinished(() => store.close());
  const keys = await Promise.all(['a', 'b', 'c'].map((account) => newKey(store, account)));

  const answered = keys.map(() => 0);
  let underWay = 0;
  let cutOff = 0;
  const requests = keys.flatMap((key, account) =>
    Array.from({ length: LIMIT }, async (_, at) => {
      const isOfKilled = at % 2 === 0;
      if (isOfKilled) underWay += 1;
      const to = { url: isOfKilled ? killed.url : other.url, key };
      const status = await ask(to, {}).then(
        (seen) => seen.status,
        () => undefined,
      );
      if (isOfKilled) underWay -= 1;
      if (status === 200) answered[account] = (answered[account] ?? 0) + 1;
      if (answered.some((count) => count > 5)) {
        if (killed.child.kill('SIGKILL')) cutOff ||= underWay;
      }
      return status;
    }),
  );
  await Promise.all(requests);
  expect(await killed.ended).toMatchObject({ signal: 'SIGKILL' });
  // The other one goes on to the limit.
  await Promise.all(
    keys.flatMap((key, account) =>
      Array.from({ length: LIMIT }, async () => {
        if ((await ask({ url: other.url, key }, {})).status === 200)
          answered[account] = (answered[account] ?? 0) + 1;
      }),
    ),
  );
  let vain = 0;
  for (const [account, count] of answered.entries()) {
    const accountId = (await store.findAccount('abc'.charAt(account)))?.id ?? 0;
    const hours = await store.admissionsByHour(accountId, Date.now() - HOUR_MS);
    const counted = hours.reduce((sum, { requests }) => sum + requests, 0);
    for (const { requests } of hours) expect(requests).toBeLessThanOrEqual(LIMIT);
    // The hour may end just now.
    if (hours.length === 1) expect(counted).toBe(LIMIT);
    expect(count).toBeLessThanOrEqual(counted);
    vain += counted - count;
  }
  expect(vain).toBeLessThanOrEqual(cutOff);
}, 60_000);

test('clocks that are an hour ahead and an hour behind: exactly the limit, and one end of the hour for all clients', async () => {
  const database = await temporaryDatabase();
  // Long before the hour ends.
  await (
    await settableClock(database)
  )(Date.parse('2026-11-22T10:20:00Z'));
  const LIMIT = 30;
  const config = { database: database.url, providers: { sim: {} }, tiers: { free: LIMIT } };
  const gateways = await Promise.all(
    [0, HOUR_MS, -HOUR_MS].map((ms) =>
      gateway({ config, tier: 'free', clock: { ...systemClock, now: () => systemClock.now() + ms } }),
    ),
  );
  const key = await gateways[1]?.newKey({ tier: 'free', account: 'a' });
  const requests = Array.from({ length: 2 * LIMIT }, (_, at) =>
    ask({ url: gateways[at % gateways.length]?.url ?? '', key: key ?? '' }, {}),
  );
  const seen = await Promise.all(requests);
  const admitted = seen.filter(({ status }) => status === 200);
  // On a machine with much other work a statement may take too long: its requests get a 503, and may be counted.
  if (seen.every(({ status }) => status !== 503)) expect(admitted).toHaveLength(LIMIT);
  expect(admitted.length).toBeLessThanOrEqual(LIMIT);
  for (const { status, text, headers } of seen.filter(({ status }) => status !== 200 && status !== 503)) {
    expect(status).toBe(429);
    expect(text).toContain('the next hour begins at 2026-11-22T11:00:00.000Z');
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(2390);
    expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(2400);
  }
  const counted = await database.query<{ hour: string; requests: number }>(
    'SELECT hour, requests::int FROM hours',
  );
  expect(counted.map(({ hour }) => Number(hour))).toEqual([Date.parse('2026-11-22T10:00:00Z')]);
  expect(counted[0]?.requests).toBeLessThanOrEqual(LIMIT);
  expect(counted[0]?.requests).toBeGreaterThanOrEqual(admitted.length);
}, 60_000);
