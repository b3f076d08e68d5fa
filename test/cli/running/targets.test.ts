// `gateway targets reset` with real servers and workers: what was mended is asked again at once.
import { expect, it } from 'vitest';
import { home, type Home, type Server } from '../../helpers/process.ts';
import { startStrictProvider } from '../../helpers/strict-provider.ts';

const LIMITED = { status: 429, headers: { 'retry-after': '3600' }, body: '{}' };
const UNKNOWN_SEED = {
  status: 400,
  body: JSON.stringify({ error: { message: "Unknown parameter: 'seed'." } }),
};

/** By the admin API, whose workers each answer for all. */
it('is done for all workers by the admin API, too', async () => {
  const { strict, shell, server, ask } = await setUp('--workers', '2');
  strict.reset(({ body }) => ('seed' in body ? UNKNOWN_SEED : undefined));
  expect((await ask({ seed: 1 })).headers.get('x-gateway-dropped')).toBe('seed');
  await expect.poll(async () => (await shell.command('models')).stdout).toContain('reject_fields seed');
  strict.reset(() => undefined);
  const { token } = await shell.json<{ token: string }>('admin', 'tokens', 'create', '--scope', 'write');
  const reset = await fetch(`${server.url}/admin/api/v1/targets/reset`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: '{}',
  });
  expect(await reset.json()).toEqual({ data: [{ target: 'p/m', state: null, learnt: 1 }], next: null });
  for (let index = 0; index < 6; index++)
    expect((await ask({ seed: 1 })).headers.get('x-gateway-dropped')).toBeNull();
});

async function setUp(...args: string[]) {
  const strict = await startStrictProvider();
  const shell = home();
  shell.configure({
    admin: true,
    providers: { p: { base_url: strict.url, protocol: 'chat', models: ['m', 'other'] } },
  });
  const server = await shell.serve(...args);
  const key = await shell.newKey('enterprise');
  const ask = (more: object = {}) => post(server, key, { model: 'p/m', ...more });
  return { strict, shell, server, ask };
}

/** A connection each: workers take turns. */
async function post({ url }: Server, key: string, body: object): Promise<Response> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'Hi' }], ...body }),
  });
  await response.text();
  return response;
}

const avoided = async (shell: Home): Promise<string[]> => {
  const { gateways } = await shell.json<{
    gateways: { providers: { avoided: { target: string }[] }[] }[];
  }>('status');
  return gateways.flatMap(({ providers }) =>
    providers.flatMap((one) => one.avoided.map(({ target }) => target)),
  );
};

it.each([[[]], [['--workers', '2']]])('ends a cool-down for all workers (serve %j)', async (args) => {
  const { strict, shell, ask } = await setUp(...args);
  strict.reset(() => LIMITED);
  // A lone target is asked in any case, until its wait is long.
  expect((await ask()).status).toBe(503);
  expect(await avoided(shell)).toEqual(['p/m']);
  strict.reset(() => undefined);
  expect(await shell.json('targets', 'reset', 'p/other')).toEqual([]);
  expect(await avoided(shell)).toEqual(['p/m']);
  const { code, stdout } = await shell.command('targets', 'reset', 'p/m');
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'p/m: is asked again (it was cooling)\n' });
  expect(await avoided(shell)).toEqual([]);
  for (let index = 0; index < 6; index++) expect((await ask()).status).toBe(200);
});

it('forgets what refusals taught, in every worker', async () => {
  const { strict, shell, ask } = await setUp('--workers', '2');
  strict.reset(({ body }) => ('seed' in body ? UNKNOWN_SEED : undefined));
  expect((await ask({ seed: 1 })).headers.get('x-gateway-dropped')).toBe('seed');
  await expect.poll(async () => (await shell.command('models')).stdout).toContain('reject_fields seed');
  strict.reset(() => undefined);
  expect(await shell.json('targets', 'reset')).toEqual([{ target: 'p/m', state: null, learnt: 1 }]);
  for (let index = 0; index < 6; index++)
    expect((await ask({ seed: 1 })).headers.get('x-gateway-dropped')).toBeNull();
});

it('says what is no target, and what it may be', async () => {
  const { shell } = await setUp();
  const refused = await shell.command('targets', 'reset', 'p/n');
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain('p/n');
  const named = await shell.command('targets', 'reset', 'm');
  expect(named).toMatchObject({ code: 1, stdout: '' });
  expect(named.stderr).toContain('m is no target; it stands for p/m');
  const nothing = await shell.command('targets', 'reset');
  expect(nothing.stdout).toBe('no target is avoided, and nothing was learnt of any\n');
});

it('has its row in the audit', async () => {
  const { shell } = await setUp();
  await shell.command('targets', 'reset', 'p/m');
  const { openStore } = await import('../../../src/store/open.ts');
  const store = await openStore(shell.database);
  const rows = await store.listAudit(Number.MAX_SAFE_INTEGER, 5);
  await store.close();
  expect(rows).toMatchObject([{ action: 'resetTargets', detail: '{"target":"p/m"}', status: 200 }]);
});

it('without a gateway says so', async () => {
  const shell = home();
  const { code, stderr } = await shell.command('targets', 'reset');
  expect(code).toBe(1);
  expect(stderr).toContain('no gateway runs on');
});
