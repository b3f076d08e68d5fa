// Large reports of usage: a process of its own makes them, and what they hold is the same.
import { existsSync, writeFileSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { createReports, isLarge, makeReport, type ReportQuery } from '../../src/admin/reports.ts';
import { CancellationSource, NEVER_CANCELLED } from '../../src/cancellation.ts';
import { HOUR_MS } from '../../src/clock.ts';
import { COLUMNS, COUNTS, FIRST_BYTES } from '../../src/store/usage-sums.ts';
import type { Session } from '../../src/admin/sessions.ts';
import type { Asker } from '../../src/admin/turns.ts';
import { loadDriver } from '../../src/store/sqlite/driver.ts';
import { send } from '../helpers/ask.ts';
import { manualClock } from '../helpers/clock.ts';
import { gateway, type TestGateway } from '../helpers/gateway.ts';
import { temporaryDatabase } from '../helpers/postgres.ts';
import { gate, scriptedProvider } from '../helpers/scripted-provider.ts';
import { faultOf, HOUR, newKey, opened, openedSoon, temporaryFile, usageRow } from '../store/support.ts';
import { call, newToken } from './support.ts';

// The same copy of SQLite as the store's: two copies in one process don't see each other's locks.
const Database = await loadDriver();

const ACCOUNTS = 30;
const DAYS = 90;
const ROUNDS = 30;
const NOW = HOUR + HOUR_MS / 2;

/** A sum and admissions for each account and hour of the days before NOW. */
function addUsage(file: string, accounts: number, days: number): void {
  const db = new Database(file);
  onTestFinished(() => void db.close());
  // As text, because the driver binds every number as a float.
  const hours = days * 24;
  const each = `WITH RECURSIVE turn (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM turn WHERE i + 1 < ${accounts * hours})`;
  const at = `1 + i / ${hours} AS account, ${HOUR} - (i % ${hours}) * ${HOUR_MS} AS hour`;
  db.exec('BEGIN');
  const account = db.prepare(
    "INSERT OR IGNORE INTO accounts (id, name, tier, created_at) VALUES (?, ?, 'free', 0)",
  );
  for (let id = 1; id <= accounts; id += 1) account.run(id, `account ${id}`);
  db.prepare(
    `INSERT INTO hours (account_id, hour, requests) SELECT account, hour, 1 + i % 7 FROM (${each} SELECT i, ${at} FROM turn)`,
  ).run();
  const ranges = FIRST_BYTES.map((_, range) => `(i + ${range}) % 4`).join(', ');
  db.prepare(
    `INSERT INTO usage_sums SELECT 1, hour, account, '', '', 1 + i % 7, i % 3, 1, 0, 1, i % 1000, 3, 2, i % 100, 0.5, ${ranges}, 0, 0, 0
     FROM (${each} SELECT i, ${at} FROM turn)`,
  ).run();
  db.prepare(
    `INSERT INTO usage_sums (${COLUMNS}) SELECT 11, at - at % (24 * ${HOUR_MS}) AS day, account_id, '', '',
       ${COUNTS.map((count) => `sum(${count})`).join(', ')}
     FROM usage_sums WHERE kind = 1 GROUP BY day, account_id`,
  ).run();
  db.exec('COMMIT');
}

const PIECE = `data: ${JSON.stringify({ id: '1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: { content: 'a' }, finish_reason: null }] })}\n\n`;

/** A stream whose next piece leaves the provider when the last one has reached the client. */
async function startStream(running: TestGateway, upstream: Awaited<ReturnType<typeof scriptedProvider>>) {
  const gates = Array.from({ length: 1000 }, gate);
  upstream.play({
    headers: { 'content-type': 'text/event-stream' },
    steps: gates.flatMap(({ opened }) => [PIECE, opened]),
  });
  const leaving = new AbortController();
  onTestFinished(() => leaving.abort());
  const response = await send(running, { model: 'p/m', stream: true, signal: leaving.signal });
  const reader = response.body?.getReader();
  let received = 0;
  return async (): Promise<void> => {
    await reader?.read();
    gates[received]?.open();
    received += 1;
  };
}

it('streams and other requests go on while a report over 60,000 groups is made', async () => {
  const upstream = await scriptedProvider();
  const running = await gateway({
    clock: manualClock(NOW),
    config: {
      admin: true,
      providers: { p: { protocol: 'chat', base_url: `${upstream.url}/v1`, api_key: 'x' } },
    },
  });
  addUsage(running.store.location, ACCOUNTS, DAYS);
  const { plaintext: token } = await newToken(running);
  // What the admin API loads at its first request is loaded.
  await call(running, '/usage', { token });
  const nextPiece = await startStream(running, upstream);
  let isMade = false;
  const report = call(running, `/usage/summary?since=${DAYS}d&by=hour`, { token }).finally(
    () => (isMade = true),
  );
  let rounds = 0;
  while (!isMade && rounds < ROUNDS) {
    await nextPiece();
    expect((await fetch(`${running.url}/health`)).status).toBe(200);
    rounds += 1;
  }
  // The gateway itself would make the report in one turn of its event loop.
  expect(rounds).toBe(ROUNDS);
  const { status, json } = await report;
  expect(status).toBe(200);
  expect(json['groups']).toHaveLength(DAYS * 24);
});

it.each(['/usage', '/usage/summary'])(
  'a large report of %s is what the gateway itself would answer, and is not sent twice',
  async (path) => {
    const running = await gateway({ clock: manualClock(NOW), config: { admin: true } });
    addUsage(running.store.location, 5, 10);
    const { plaintext: token } = await newToken(running);
    const asked = `${path}?since=10d&by=hour`;
    const { status, headers, text } = await call(running, asked, { token });
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('application/json');
    const accounts = await running.store.listAccounts();
    const window = { since: NOW - 10 * 24 * HOUR_MS, now: NOW, by: 'hour' as const, only: undefined };
    expect(isLarge(window, accounts.length)).toBe(true);
    const limits = (JSON.parse(text) as { data?: { account: string; limit: number | null }[] }).data;
    const query: ReportQuery =
      path === '/usage'
        ? {
            report: 'usage',
            format: 'json',
            window,
            accounts: accounts.map((account) => ({
              account,
              limit: limits?.find((one) => one.account === account.name)?.limit ?? null,
            })),
          }
        : { report: 'summary', window, format: 'json' };
    expect(text).toBe(await makeReport(query, running.store));
    const tag = headers.get('etag') ?? '';
    const again = await call(running, asked, { token, headers: { 'if-none-match': tag } });
    expect(again).toMatchObject({ status: 304, text: '' });
  },
);

const PAGE: Asker = { id: 'page', session: {} as Session };
const SUMMARY: ReportQuery = {
  report: 'summary',
  format: 'json',
  window: { since: HOUR - 24 * HOUR_MS, now: NOW, by: 'model', only: undefined },
};

it('a client that leaves ends its report, and the next one is made', async () => {
  const file = temporaryFile();
  await opened(file);
  const reports = createReports(() => file);
  const leaving = new CancellationSource();
  const first = reports.make(SUMMARY, PAGE, leaving);
  const waiting = reports.make(SUMMARY, PAGE, leaving);
  const third = reports.make(SUMMARY, PAGE, NEVER_CANCELLED);
  const left = Promise.all([first, waiting].map((made) => expect(made).rejects.toThrow('the client left')));
  await Promise.resolve();
  leaving.cancel(new Error('the client left'));
  await left;
  expect(JSON.parse((await third).text.toString())).toMatchObject({ by: 'model', groups: [] });
});

it('a database that is gone is not made anew, and a damaged one is named', async () => {
  const file = temporaryFile();
  const reports = createReports(() => file);
  expect(await faultOf(reports.make(SUMMARY, PAGE, NEVER_CANCELLED))).toMatchObject({ kind: 'unavailable' });
  expect(existsSync(file)).toBe(false);
  writeFileSync(file, 'no database');
  expect(await faultOf(reports.make(SUMMARY, PAGE, NEVER_CANCELLED))).toMatchObject({ kind: 'damaged' });
});

it('reads PostgreSQL, too', async () => {
  const { url } = await temporaryDatabase();
  const store = await openedSoon(url);
  onTestFinished(() => store.close());
  const { accountId, id: keyId } = await store.createKey(newKey());
  await store.recordUsage([usageRow({ at: HOUR, accountId, keyId })]);
  const report = await createReports(() => url).make(SUMMARY, PAGE, NEVER_CANCELLED);
  const { groups } = JSON.parse(report.text.toString()) as { groups: object[] };
  expect(groups).toMatchObject([{ group: { model: 'echo', provider: 'sim' }, totals: { requests: 1 } }]);
});
