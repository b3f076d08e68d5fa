// Pages of conversations on both engines: each once and in order, whatever their size; also those that a brake stopped, and with a report
// that a process of its own makes.
import { describe, expect, it } from 'vitest';
import { gateway, type TestGateway } from '../helpers/gateway.ts';
import { temporaryDatabase } from '../helpers/postgres.ts';
import { usageRow } from '../store/support.ts';
import { call, newToken, openMember } from './support.ts';

type Row = Record<string, unknown>;

const NOW = Date.now();
const MINUTE_MS = 60_000;
const name = (n: number): string => `conv_${String(n).padStart(4, '0')}`;

async function place(engine: string) {
  const database = engine === 'sqlite' ? {} : { database: (await temporaryDatabase()).url };
  const running = await gateway({ config: { admin: true, ...database } });
  const { plaintext: token } = await newToken(running);
  const accountId = (await running.store.listKeys())[0]?.accountId ?? 0;
  const read = async (query: string): Promise<{ data: Row[]; next: string | null }> => {
    const { status, json } = await call(running, `/conversations?${query}`, { token });
    expect([query, status]).toEqual([query, 200]);
    return json as unknown as { data: Row[]; next: string | null };
  };
  return { running, token, accountId, read };
}

type Read = Awaited<ReturnType<typeof place>>['read'];

async function throughAll(read: Read, query: string): Promise<Row[]> {
  const all: Row[] = [];
  for (let cursor: string | null = ''; cursor !== null && all.length < 1000;) {
    const page = await read(`${query}${cursor === '' ? '' : `&cursor=${cursor}`}`);
    all.push(...page.data);
    cursor = page.next;
  }
  return all;
}

/** Thirty conversations of three requests each, three at a time; and stops: without a request, with one, with one before the window. */
async function fill({ store }: TestGateway, accountId: number): Promise<void> {
  const at = (n: number): number => NOW - MINUTE_MS * (1 + Math.floor(n / 3));
  const rows = Array.from({ length: 30 }, (_, n) => [
    usageRow({ at: at(n), accountId, conversation: name(n), label: 'last' }),
    usageRow({ at: at(n) - 1000, accountId, conversation: name(n), label: n % 2 === 0 ? 'even' : 'odd' }),
    usageRow({ at: at(n) - 90_000_000, accountId, conversation: name(n) }),
  ]).flat();
  rows.push(usageRow({ at: NOW - 90_000_000, accountId, conversation: name(300) }));
  await store.recordUsage(rows.map((row, n) => ({ ...row, requestId: `req_${n}` })));
  const stop = { accountId, brake: 'conversation' as const };
  await store.noteStop({ ...stop, conversation: name(100), at: at(14) + 1 });
  await store.noteStop({ ...stop, conversation: name(20), at: NOW });
  await store.noteStop({ ...stop, conversation: name(300), at: at(8) + 1 });
}

describe.each(['sqlite', 'postgres'])('conversations (%s)', (engine) => {
  it('come in pages, each once and in one order', async () => {
    const { running, accountId, read, token } = await place(engine);
    await fill(running, accountId);
    const all = (await read('limit=1000')).data;
    expect(all).toHaveLength(32);
    const times = all.map((row) => String(row['last_at']));
    const [stopped, old] = ['conv_0100', 'conv_0300'].map((id) => all.find((row) => row['id'] === id));
    expect(stopped).toMatchObject({ requests: 0, stopped: 'conversation' });
    // Sums are of whole conversations; it stands where its stop is.
    expect(old).toMatchObject({ requests: 1, stopped: 'conversation' });
    expect(all.indexOf(old ?? {})).toBeLessThan(all.indexOf(stopped ?? {}));
    expect(all.find((row) => row['id'] === name(20))).toMatchObject({ requests: 3 });
    const sorted = times.filter((_, at) => all[at] !== old);
    expect(sorted).toEqual([...sorted].sort().reverse());
    for (const limit of [1, 2, 3, 7, 31, 32])
      expect([limit, await throughAll(read, `limit=${limit}`)]).toEqual([limit, all]);

    const even = (await read('label=even')).data;
    expect(even).toHaveLength(15);
    expect(await throughAll(read, 'label=even&limit=4')).toEqual(even);
    const until = new Date(NOW - 5 * MINUTE_MS).toISOString();
    const before = (await read(`until=${until}`)).data;
    expect(before.map((row) => row['id'])).not.toContain(name(0));
    expect(await throughAll(read, `until=${until}&limit=4`)).toEqual(before);

    const wrong = await call(running, '/conversations?cursor=WyJyZXF1ZXN0cyIsMSwxXQ', { token });
    expect([wrong.status, wrong.json.code]).toEqual([400, 'invalid_cursor']);
  });
});

it('come in the same pages from the process of a large report, and to a member alone its own', async () => {
  const { running, accountId, read } = await place('sqlite');
  await fill(running, accountId);
  const other = await running.newKey({ account: 'other' });
  const otherId = (await running.store.listKeys('other'))[0]?.accountId ?? 0;
  await running.store.recordUsage(
    Array.from({ length: 2001 }, (_, n) =>
      usageRow({ at: NOW - 30_000, accountId: otherId, requestId: `other_${n}`, conversation: name(900) }),
    ),
  );
  const all = (await read('limit=1000')).data;
  expect(all.map((row) => row['id'])).toContain(name(900));
  expect(await throughAll(read, 'limit=13')).toEqual(all);

  const member = await openMember(running, running.key);
  const own = async (query: string) =>
    (await member.call(`/me/conversations?${query}`)).json as unknown as Awaited<ReturnType<Read>>;
  const expected = all.filter((row) => row['account'] === 'test');
  expect(expected).toHaveLength(32);
  expect(await throughAll(own, 'limit=9')).toEqual(expected);
  const others = await openMember(running, other);
  expect((await others.call('/me/conversations')).json.data).toMatchObject([
    { id: name(900), requests: 2001 },
  ]);
});
