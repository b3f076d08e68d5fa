// Targets of the admin API: what refusals taught of them, and their reset, which is in the audit; routes with their rules.
import { expect, it } from 'vitest';
import { ask } from '../helpers/ask.ts';
import { gateway, provider } from '../helpers/gateway.ts';
import { startStrictProvider } from '../helpers/strict-provider.ts';
import { call, newToken } from './support.ts';

const UNKNOWN_SEED = {
  status: 400,
  body: JSON.stringify({ error: { message: "Unknown parameter: 'seed'." } }),
};

async function start() {
  const strict = await startStrictProvider();
  const running = await gateway({
    config: {
      admin: true,
      providers: { p: provider(strict.url, 'chat', ['m', 'other']), sim: {} },
      routes: {
        coding: {
          strategy: 'balanced',
          targets: [{ target: 'p/m', weight: 3 }, 'p/other'],
          classes: { compaction: ['sim/echo'] },
          agents: { Explore: ['p/other'] },
        },
      },
    },
  });
  const { plaintext: token } = await newToken(running);
  return { strict, running, token };
}

it('says what was learnt of a target and since when, and forgets it with a row in the audit', async () => {
  const { strict, running, token } = await start();
  const before = Date.now();
  strict.reset(({ body }) => ('seed' in body ? UNKNOWN_SEED : undefined));
  const dropped = async () =>
    (await ask(running, { model: 'p/m', body: { seed: 1 } })).headers.get('x-gateway-dropped');
  expect(await dropped()).toBe('seed');
  const target = async () =>
    (await call(running, '/targets', { token })).json.data?.find(({ model }) => model === 'm');
  const [lesson] = (await target())?.['learnt'] as Record<string, unknown>[];
  expect(lesson).toMatchObject({
    ...{ protocol: 'chat', changes: ['reject_fields seed'] },
    words: expect.stringContaining('Unknown parameter') as string,
  });
  expect(Date.parse(String(lesson?.['learnt_at']))).toBeGreaterThanOrEqual(before - 1);

  const { plaintext: reader } = await newToken(running, 'read');
  const reset = (body: object, given = token) =>
    call(running, '/targets/reset', { method: 'POST', token: given, body });
  expect((await reset({}, reader)).status).toBe(403);
  expect((await reset({ target: 'p/none' })).json.code).toBe('unknown_target');
  expect((await reset({ target: 'p/other' })).json.data).toEqual([]);
  expect((await target())?.['learnt']).toHaveLength(1);
  expect((await reset({ target: 'p/m' })).json.data).toEqual([{ target: 'p/m', state: null, learnt: 1 }]);
  expect((await target())?.['learnt']).toEqual([]);
  strict.reset(() => undefined);
  expect(await dropped()).toBeNull();
  const rows = (await call(running, '/audit?operation=resetTargets', { token })).json.data ?? [];
  expect(rows.map(({ detail, status }) => [detail, status])).toEqual([
    [{ target: 'p/m' }, 200],
    [{ target: 'p/other' }, 200],
    [{ target: 'p/none' }, 404],
  ]);
});

it('lists routes with their strategy, weights, and rules of classes and agents', async () => {
  const { running, token } = await start();
  const { data } = (await call(running, '/routes', { token })).json;
  expect(data).toEqual([
    {
      ...{ name: 'coding', strategy: 'balanced' },
      targets: [
        { provider: 'p', model: 'm', weight: 3 },
        { provider: 'p', model: 'other' },
      ],
      rules: [
        { by: 'agent', name: 'Explore', targets: [{ provider: 'p', model: 'other' }] },
        { by: 'class', name: 'compaction', targets: [{ provider: 'sim', model: 'echo' }] },
      ],
    },
  ]);
});
