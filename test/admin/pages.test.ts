// Lists of the admin API, a page at a time, as a client meets them who writes its own cursors.
import { expect, it } from 'vitest';
import { createIds, createRequestIds } from '../../src/ids.ts';
import type { Store } from '../../src/store/store.ts';
import { gateway, type TestGateway } from '../helpers/gateway.ts';
import { usageRow } from '../store/support.ts';
import { call, newToken } from './support.ts';

const LISTS = [
  '/requests',
  '/audit',
  '/keys',
  '/accounts',
  '/models',
  '/targets',
  '/conversations',
  '/limits',
];
const NOW = Date.now();

const written = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

/** By what is wrong with it. */
const CRAFTED: readonly (readonly [string, unknown])[] = [
  ['asks for a thousand million rows before the page', [NOW, 1e9]],
  ['has a number below 0', ['requests', NOW, -5]],
  ['has a fraction', ['requests', NOW, 1.5]],
  ['has a number that no integer holds', ['requests', NOW, 1e300]],
  ['has a number beyond those that JSON keeps', '["requests",9007199254740993,1]'],
  ['has another type', ['requests', String(NOW), 1]],
  ['has a value too many', ['requests', NOW, 1, 1]],
  ['has a value too few', ['requests', NOW]],
  ['has a conversation that is a sentence', ['conversations', NOW, "x' OR 1=1 --"]],
  ['is an object', { list: 'requests' }],
  ['is nothing', null],
  ['is not JSON', '{'],
  ['has spaces', '["requests", 1, 1]'],
  ['is of an unknown list', ['nothing', 1]],
  ['has a key with a zero character', ['keys', NOW, '\0']],
  ['has a key that is a sentence', ['keys', NOW, "x' OR 1=1 --"]],
  ['has a key that is too long', ['keys', NOW, 'k'.repeat(65)]],
  ['has an index below 0', ['models', -1]],
  ['has an index that is a fraction', ['accounts', 0.5]],
];

it('P36: a cursor that the list did not give is a 400, and nothing is read for it', async () => {
  const running = await gateway({ config: { admin: true } });
  const { plaintext: token } = await newToken(running, 'read');
  for (const account of ['a', 'b']) {
    await running.newKey({ account });
    const entry = { at: NOW, actor: 'owner', address: 'local', action: 'createKey', detail: '{}' };
    await running.store.beginAudit(entry);
  }
  await running.store.recordUsage(
    [1, 2, 3].map((ago) => usageRow({ at: NOW - ago, conversation: `conv_${ago}` })),
  );
  const given = new Map<string, string>();
  for (const list of LISTS) {
    const { json } = await call(running, `${list}?limit=1`, { token });
    expect([list, typeof json['next']]).toEqual([list, 'string']);
    given.set(list, String(json['next']));
  }
  const { asked } = watched(running.store);
  const refused = async (list: string, what: string, cursor: string): Promise<void> => {
    const { status, json } = await call(running, `${list}?limit=1&cursor=${cursor}`, { token });
    expect([list, what, status, json.code]).toEqual([list, what, 400, 'invalid_cursor']);
  };
  for (const list of LISTS) {
    for (const [what, value] of CRAFTED) await refused(list, what, written(value));
    for (const cursor of ['%00', '===', 'x'.repeat(1024)]) await refused(list, cursor, cursor);
    for (const [other, cursor] of given) if (other !== list) await refused(list, `of ${other}`, cursor);
  }
  expect(asked).toEqual([]);
  for (const [list, cursor] of given)
    expect((await call(running, `${list}?limit=1&cursor=${cursor}`, { token })).status).toBe(200);
});

/** The rows that the store was asked for. */
function watched(store: Store): { asked: number[]; looked: number[] } {
  const seen = { asked: [] as number[], looked: [] as number[] };
  const listRequests = store.listRequests.bind(store);
  const passRequests = store.passRequests.bind(store);
  store.listRequests = (query) => {
    seen.asked.push(query.limit);
    return listRequests(query);
  };
  store.passRequests = (window, count) => {
    seen.looked.push(count);
    return passRequests(window, count);
  };
  return seen;
}

async function pages(running: TestGateway, token: string, query: string): Promise<unknown[][]> {
  const found: unknown[][] = [];
  for (let cursor: string | null = ''; cursor !== null && found.length < 100;) {
    const more = cursor === '' ? '' : `&cursor=${cursor}`;
    const { status, json } = await call(running, `/requests?${query}${more}`, { token });
    expect(status).toBe(200);
    found.push((json.data ?? []).map(({ id }) => id));
    cursor = json['next'] as string | null;
  }
  return found;
}

it('P36: no page of requests reads more rows than it shows, and one', async () => {
  const running = await gateway({ config: { admin: true } });
  const { plaintext: token } = await newToken(running, 'read');
  const at = (n: number): number => NOW - 1000 - Math.floor(n / 3);
  await running.store.recordUsage(
    Array.from({ length: 20 }, (_, n) => usageRow({ at: at(n), requestId: `req_${n}` })),
  );
  const { asked } = watched(running.store);
  const found = await pages(running, token, 'limit=7');
  expect(found.map((page) => page.length)).toEqual([7, 7, 6]);
  expect(new Set(found.flat()).size).toBe(20);
  expect(asked).toEqual([8, 8, 8]);
});

it('P36: a page looks at a bounded number of requests for a filter, and the next one goes on', async () => {
  const running = await gateway({ config: { admin: true } });
  const { plaintext: token } = await newToken(running, 'read');
  const LOOKED = 50_000;
  const wanted = new Map([10, LOOKED - 1, LOOKED, LOOKED + 5].map((n) => [n, 'wanted']));
  const rows = Array.from({ length: LOOKED + 10 }, (_, n) =>
    usageRow({ at: NOW - 1000 - n, requestId: `req_${n}`, modelAsked: wanted.get(n) ?? 'auto', error: null }),
  );
  await running.store.recordUsage(rows);
  expect(await pages(running, token, 'model=wanted')).toEqual([
    ['req_10', `req_${LOOKED - 1}`],
    [`req_${LOOKED}`, `req_${LOOKED + 5}`],
  ]);
  expect(await pages(running, token, 'model=wanted&limit=1')).toEqual([
    ['req_10'],
    [`req_${LOOKED - 1}`],
    [`req_${LOOKED}`],
    [`req_${LOOKED + 5}`],
  ]);
  expect(await pages(running, token, 'errors=true')).toEqual([[], []]);
  const { looked } = watched(running.store);
  await pages(running, token, 'limit=1000&since=1h');
  expect(looked).toEqual([]);
});

it('P36: the beginning of an ID is no ID, so nothing is searched', async () => {
  const running = await gateway({ config: { admin: true } });
  const { plaintext: token } = await newToken(running, 'read');
  const id = createRequestIds(createIds(), () => NOW)();
  await running.store.recordUsage([usageRow({ at: NOW, requestId: id })]);
  let searches = 0;
  const findRequests = running.store.findRequests.bind(running.store);
  running.store.findRequests = (query) => {
    searches += 1;
    expect(query.most).toBeLessThanOrEqual(1_000_000);
    return findRequests(query);
  };
  for (const given of ['req_0', id.slice(0, -1), 'x'])
    expect((await call(running, `/requests/${given}`, { token })).json.code).toBe('unknown_request');
  expect(searches).toBe(0);
  expect((await call(running, `/requests/${id}`, { token })).json['id']).toBe(id);
  expect(searches).toBe(1);
});
