// The list of requests of the admin API: what was refused stands in it with its reason, and every filter is the server's.
import { expect, it } from 'vitest';
import type { RequestJson } from '../../src/accounts/request-json.ts';
import { gateway, type TestGateway } from '../helpers/gateway.ts';
import { ask } from '../helpers/ask.ts';
import { createIds, createRequestIds } from '../../src/ids.ts';
import { usageRow } from '../store/support.ts';
import { call, newToken } from './support.ts';

const NOW = Date.now();

async function started(config: object = {}): Promise<{ running: TestGateway; token: string }> {
  const running = await gateway({ config: { admin: true, ...config } });
  const { plaintext: token } = await newToken(running, 'read');
  return { running, token };
}

async function list(running: TestGateway, token: string, query = ''): Promise<RequestJson[]> {
  const { status, json } = await call(running, `/requests?${query}`, { token });
  expect([query, status]).toEqual([query, 200]);
  return json.data as unknown as RequestJson[];
}

it('lists who was refused and why: limits and the bounds of a key, and counts none of it as usage', async () => {
  const { running, token } = await started({ tiers: { tiny: 2 } });
  const small = { url: running.url, key: await running.newKey({ account: 'ada', tier: 'tiny' }) };
  const narrow = {
    url: running.url,
    key: await running.newKey({ account: 'bob', permissions: ['messages'], models: ['sim/other'] }),
  };
  for (let turn = 0; turn < 2; turn += 1) expect((await ask(small, {})).status).toBe(200);
  const refusals = await Promise.all(Array.from({ length: 30 }, () => ask(small, {})));
  expect(new Set(refusals.map(({ status }) => status))).toEqual(new Set([429]));
  expect((await ask(narrow, {})).status).toBe(403);
  expect((await ask(narrow, { protocol: 'messages' })).status).toBe(403);
  expect((await ask({ url: running.url, key: 'sk-gw-nobody' }, {})).status).toBe(401);

  const seen = async () =>
    (await list(running, token))
      .filter(({ refused }) => refused)
      .map(({ account, status, error, endpoint, model_asked: model, detail: { times = 1 } }) =>
        [account, status, error, endpoint, model, times].join(' '),
      )
      .sort();
  await expect
    .poll(seen)
    .toEqual([
      'ada 429 rate_limited chat sim/echo 30',
      'bob 403 forbidden_model messages sim/echo 1',
      'bob 403 forbidden_permission chat  1',
    ]);
  const [limited] = await list(running, token, 'account=ada&status=429');
  expect(limited?.detail.message).toContain('2 requests');
  expect(limited?.key).toMatch(/^key_/);
  const one = await call(running, `/requests/${limited?.id ?? ''}`, { token });
  expect(one.json).toEqual(limited);

  expect(await list(running, token, 'errors=true')).toHaveLength(3);
  expect((await list(running, token, 'status=4xx')).map(({ status }) => status).sort()).toEqual([
    403, 403, 429,
  ]);
  expect(await list(running, token, 'provider=sim')).toHaveLength(2);
  const { json } = await call(running, '/usage?account=ada', { token });
  expect(json.data?.[0]).toMatchObject({ account: 'ada', used: 2, totals: { requests: 2, errors: 0 } });
});

it('filters on the server by key, provider, status, error, endpoint, label and conversation, together', async () => {
  const { running, token } = await started();
  const rows = [
    usageRow({ requestId: 'a', keyId: 'key_other' }),
    usageRow({ requestId: 'b', provider: 'openai' }),
    usageRow({ requestId: 'c', status: 502, error: 'upstream' }),
    usageRow({ requestId: 'd', endpoint: 'responses', status: 503, error: 'unavailable' }),
    usageRow({ requestId: 'e', label: 'pr-7' }),
    usageRow({ requestId: 'f', conversation: 'conv_one', label: 'pr-7' }),
  ];
  await running.store.recordUsage(rows.map((row, n) => ({ ...row, at: NOW - 1000 - n })));
  const ids = async (query: string) => (await list(running, token, query)).map(({ id }) => id).join('');
  expect(await ids('')).toBe('abcdef');
  expect(await ids('key=key_other')).toBe('a');
  expect(await ids('provider=openai')).toBe('b');
  expect(await ids('status=502')).toBe('c');
  expect(await ids('status=5xx')).toBe('cd');
  expect(await ids('error=unavailable')).toBe('d');
  expect(await ids('endpoint=responses')).toBe('d');
  expect(await ids('label=pr-7')).toBe('ef');
  expect(await ids('label=pr-7&conversation=conv_one')).toBe('f');
  expect(await ids('status=5xx&error=upstream&endpoint=responses')).toBe('');
  for (const status of ['6xx', '4x', '42', 'all', '4040'])
    expect((await call(running, `/requests?status=${status}`, { token })).status).toBe(400);
});

it('goes through all pages of both kinds, each once, whatever their size', async () => {
  const { running, token } = await started();
  const { accountId } = (await running.store.listKeys())[0] ?? { accountId: 0 };
  const at = (n: number): number => NOW - 1000 - Math.floor(n / 4);
  await running.store.recordUsage(
    Array.from({ length: 30 }, (_, n) => usageRow({ at: at(n), accountId, requestId: `u${n}` })),
  );
  await running.store.recordRefusals(
    Array.from({ length: 30 }, (_, n) => ({
      ...{ at: at(n), requestId: `r${n}`, accountId, keyId: null, endpoint: 'chat', modelAsked: null },
      ...{ conversation: null, label: null, client: null, status: 429, error: 'rate_limited', message: 'm' },
      times: 1,
    })),
  );
  for (const query of ['limit=1', 'limit=7', 'limit=7&account=test', 'limit=100']) {
    const found: string[] = [];
    let times: number[] = [];
    for (let cursor: string | null = ''; cursor !== null && found.length < 200;) {
      const { json } = await call(running, `/requests?${query}${cursor === '' ? '' : `&cursor=${cursor}`}`, {
        token,
      });
      const data = json.data as unknown as RequestJson[];
      found.push(...data.map(({ id }) => id ?? ''));
      times = [...times, ...data.map((row) => Date.parse(row.at))];
      cursor = json['next'] as string | null;
    }
    expect([query, found.length, new Set(found).size]).toEqual([query, 60, 60]);
    expect(times).toEqual([...times].sort((a, b) => b - a));
  }
});

it('searches by the beginning of an id and a part of a name, and looks at few rows for any text', async () => {
  const { running, token } = await started({ routes: { auto: ['sim/echo'] } });
  await running.newKey({ account: 'Ada' });
  const ids = createIds();
  const [one, two] = [NOW - 5000, NOW - 4000].map((at) => createRequestIds(ids, () => at)());
  await running.store.recordUsage([
    usageRow({ at: NOW - 3000, requestId: one ?? '', conversation: 'conv_3kX9aB2qAAAAAAAA' }),
    usageRow({ at: NOW - 2000, requestId: two ?? '' }),
  ]);
  const found = async (text: string): Promise<string[]> => {
    const { status, json } = await call(running, `/search?q=${encodeURIComponent(text)}`, { token });
    expect(status).toBe(200);
    return (json.data ?? []).map(({ kind, name }) => `${String(kind)} ${String(name)}`);
  };
  expect(await found(one ?? '')).toEqual([`request ${one}`]);
  expect(await found((one ?? '').slice('req_'.length, 14))).toEqual([`request ${one}`]);
  expect(await found('3kX9aB2q')).toEqual(['conversation conv_3kX9aB2qAAAAAAAA']);
  expect(await found('conv_3kX9a')).toEqual(['conversation conv_3kX9aB2qAAAAAAAA']);
  expect(await found('ada')).toEqual(['account Ada']);
  expect(await found('uto')).toEqual(['model auto']);
  expect((await found('sim/')).every((name) => name.startsWith('model sim/'))).toBe(true);
  let searches = 0;
  const findRequests = running.store.findRequests.bind(running.store);
  running.store.findRequests = (query) => {
    searches += 1;
    expect(query.most).toBeLessThanOrEqual(200_000);
    return findRequests(query);
  };
  for (const text of ['r', 'req_', 'req_0', 'conv_', 'conv_3', "' OR 1=1 --", '%', '\0', 'ä'.repeat(100)])
    expect((await found(text)).filter((name) => !/^(account|model) /.test(name))).toEqual([]);
  expect(searches).toBe(0);
  expect((await call(running, '/search?q=', { token })).status).toBe(400);
});

it('finds a refused request by any ID of those that share its row, and the last ones each by its own', async () => {
  const { running, token } = await started({ tiers: { tiny: 1 } });
  const small = { url: running.url, key: await running.newKey({ account: 'ada', tier: 'tiny' }) };
  expect((await ask(small, {})).status).toBe(200);
  const ids: string[] = [];
  for (let turn = 0; turn < 3; turn += 1) ids.push((await ask(small, {})).headers.get('x-request-id') ?? '');
  const nobody = (await ask({ url: running.url, key: 'sk-gw-nobody' }, {})).headers.get('x-request-id') ?? '';
  const sums = async () => (await running.store.listRefusals({ limit: 9 })).map(({ times }) => times);
  await expect.poll(async () => (await sums()).reduce((sum, times) => sum + times, 0)).toBe(3);
  const read = async (id: string) => (await call(running, `/requests/${id}`, { token })).json;
  for (const id of ids)
    expect(await read(id)).toMatchObject({ id, refused: true, status: 429, account: 'ada' });
  expect(await read(nobody)).toMatchObject({ id: nobody, refused: true, status: 401, account: null });
  const search = async (q: string) => (await call(running, `/search?q=${q}`, { token })).json.data;
  for (const id of ids) expect(await search(id)).toEqual([{ kind: 'request', name: id, account: 'ada' }]);

  // As of a gateway that was started again: an ID that only the sum can stand for.
  const [sum] = (await running.store.listRefusals({ limit: 9 })).filter(({ times }) => times > 1);
  const at = (sum?.at ?? 0) - ((sum?.at ?? 0) % 60_000) + 59_000;
  const lost = createRequestIds(createIds(), () => at)();
  expect(await search(lost)).toContainEqual({
    ...{ kind: 'request', name: sum?.requestId, account: 'ada', times: sum?.times },
  });
  const { status, text } = await call(running, `/requests/${lost}`, { token });
  expect([status, text]).toEqual([404, expect.stringContaining('with the ID of the first')]);
  expect(await search(createRequestIds(createIds(), () => at - 120_000)())).toEqual([]);
});
