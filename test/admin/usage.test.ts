// Reports of usage through the admin API: a window that ended, the time before it, keys and labels by name, and CSV.
import { expect, it } from 'vitest';
import { createIds } from '../../src/ids.ts';
import { createKey } from '../../src/accounts/access.ts';
import { systemClock } from '../../src/clock.ts';
import { gateway, type TestGateway } from '../helpers/gateway.ts';
import { usageRow } from '../store/support.ts';
import { call, newToken } from './support.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

interface Summary {
  since: string;
  until: string;
  totals: { requests: number; input_tokens: number; cost_usd: number | null };
  before: { requests: number; input_tokens: number; cost_usd: number | null };
  groups: { group: Record<string, string | null>; totals: { requests: number } }[];
}

/** One request an hour for four days, of two keys. */
async function withHistory(): Promise<{ running: TestGateway; token: string; ids: string[]; today: number }> {
  const running = await gateway({ config: { admin: true } });
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const deps = { store: running.store, clock: systemClock, ids: createIds() };
  const keys = [];
  for (const [account, label] of [
    ['ada', '=HYPERLINK("http://evil.example")'],
    ['grace, "g"', 'laptop'],
  ] as const) {
    const options = {
      account,
      tier: 'pro',
      label,
      models: null,
      expiresAt: null,
      permissions: ['chat' as const],
    };
    keys.push((await createKey(deps, options)).key);
  }
  const rows = [];
  for (let hour = 0; hour < 96; hour += 1) {
    const key = keys[hour % 2];
    if (key === undefined) continue;
    const at = today - hour * HOUR_MS - HOUR_MS / 2;
    await running.store.admit(key, 1000, at);
    rows.push(
      usageRow({
        at,
        accountId: key.accountId,
        keyId: key.id,
        label: hour % 4 === 0 ? 'checkout' : null,
        costUsd: 1,
      }),
    );
  }
  await running.store.recordUsage(rows);
  const { plaintext: token } = await newToken(running, 'read');
  return { running, token, ids: keys.map(({ id }) => id), today };
}

const iso = (time: number): string => new Date(time).toISOString();

it('sums up a window that ended, and the time before as long as it', async () => {
  const { running, token, today } = await withHistory();
  const query = new URLSearchParams({
    since: iso(today - 2 * DAY_MS),
    until: iso(today - DAY_MS),
    by: 'day',
  });
  const summary = (await call(running, `/usage/summary?${query.toString()}`, { token }))
    .json as unknown as Summary;
  expect([summary.since, summary.until]).toEqual([iso(today - 2 * DAY_MS), iso(today - DAY_MS)]);
  expect(summary.groups.map(({ group, totals }) => [group['day'], totals.requests])).toEqual([
    [iso(today - 2 * DAY_MS), 24],
  ]);
  expect(summary.totals).toMatchObject({ requests: 24, cost_usd: 24 });
  expect(summary.before).toMatchObject({ requests: 24, cost_usd: 24 });
  const none = new URLSearchParams({ since: iso(today - 4 * DAY_MS), until: iso(today - 3 * DAY_MS) });
  const first = (await call(running, `/usage/summary?${none.toString()}`, { token }))
    .json as unknown as Summary;
  expect([first.totals.requests, first.before.requests, first.before.cost_usd]).toEqual([24, 0, null]);
  const usage = await call(running, `/usage?${query.toString()}`, { token });
  expect(usage.json.data?.map((row) => (row['totals'] as Summary['totals']).requests)).toEqual([0, 12, 12]);
  const hours = usage.json.data?.[1]?.['hours'] as { hour: string; requests: number }[];
  expect([hours.length, hours[0]?.hour, hours.at(-1)?.hour]).toEqual([
    24,
    iso(today - 2 * DAY_MS),
    iso(today - DAY_MS - HOUR_MS),
  ]);
  const requests = await call(
    running,
    `/requests?limit=1000&${new URLSearchParams({ since: iso(today - 2 * HOUR_MS), until: iso(today) }).toString()}`,
    { token },
  );
  expect(requests.json.data).toHaveLength(2);
  expect((await call(running, '/usage/summary?until=soon', { token })).json['detail']).toContain(
    'until: give a duration',
  );
});

it('names keys with their account, and splits by label', async () => {
  const { running, token, ids } = await withHistory();
  const byKey = (await call(running, '/usage/summary?since=30d&by=key', { token }))
    .json as unknown as Summary;
  expect(byKey.groups.map(({ group }) => group)).toEqual(
    expect.arrayContaining([
      { key: ids[0], name: '=HYPERLINK("http://evil.example")', account: 'ada' },
      { key: ids[1], name: 'laptop', account: 'grace, "g"' },
    ]),
  );
  const byLabel = (await call(running, '/usage/summary?since=30d&by=label', { token }))
    .json as unknown as Summary;
  expect(byLabel.groups.map(({ group, totals }) => [group['label'], totals.requests])).toEqual([
    [null, 72],
    ['checkout', 24],
  ]);
});

it.each(['/usage/summary?since=30d&by=key', '/usage?since=80d&by=key'])(
  'writes CSV that no spreadsheet runs: %s',
  async (path) => {
    const { running, token, ids } = await withHistory();
    const answer = await call(running, `${path}&format=csv`, { token });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8']);
    const [head = '', ...lines] = answer.text.trimEnd().split('\r\n');
    const columns = head.split(',');
    expect(columns.slice(0, 3)).toEqual(['key', 'name', 'account']);
    expect(columns).toEqual(
      expect.arrayContaining(['requests', 'input_tokens', 'cost_usd', 'first_byte_ms_p50']),
    );
    expect(lines).toHaveLength(2);
    const [ada, grace] = ids.map((id) => lines.find((line) => line.startsWith(`${id},`)));
    expect(ada).toContain(`,"'=HYPERLINK(""http://evil.example"")",ada,`);
    expect(grace).toContain(',laptop,"grace, ""g""",');
    const again = await call(running, `${path}&format=csv`, {
      token,
      headers: { 'if-none-match': answer.headers.get('etag') ?? '' },
    });
    expect(again.status).toBe(304);
  },
);

it('lists no hour before the first request of a window that begins in 1970, and each of the last 31 days', async () => {
  const { running, token, today } = await withHistory();
  const [first] = await running.store.listAccounts();
  const since = async (query: string) => (await call(running, `/usage?${query}`, { token })).json.data ?? [];
  for (const by of ['', '&by=hour', '&by=model']) {
    const rows = await since(`since=0${by}`);
    const hours = rows.flatMap((row) => row['hours'] as { hour: string; requests: number }[]);
    const perAccount = hours.length / rows.length;
    expect([by, perAccount]).toEqual([by, 31 * 24 + 1]);
    expect(hours.reduce((sum, { requests }) => sum + requests, 0)).toBe(96);
  }
  // One of a year ago: the window begins with it.
  const old = today - 365 * DAY_MS;
  const keyOf = (await running.store.listKeys()).find(({ accountId }) => accountId === first?.id);
  if (keyOf === undefined) throw new Error('there is no key');
  await running.store.admit(keyOf, 1000, old);
  await running.store.recordUsage([usageRow({ at: old, accountId: keyOf.accountId, keyId: keyOf.id })]);
  for (const query of ['since=0', 'since=1970-01-01&by=hour', 'since=0&by=day']) {
    const [row] = await since(query);
    const hours = row?.['hours'] as { hour: string; requests: number }[];
    expect([query, hours[0]]).toEqual([query, { hour: iso(old), requests: 1 }]);
    expect(hours.at(-1)?.hour).toBe(iso(Math.floor(Date.now() / HOUR_MS) * HOUR_MS));
  }
  for (const by of ['hour', 'day']) {
    const summary = (await call(running, `/usage/summary?since=0&by=${by}`, { token }))
      .json as unknown as Summary;
    expect([by, summary.since]).toEqual([by, iso(old)]);
    expect(summary.totals.requests).toBe(97);
  }
});
