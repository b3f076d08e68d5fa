// P41, of real processes: a supervisor ends only when it was asked to, a worker that hangs is replaced, and the workers of a killed
// supervisor end as on SIGTERM.
import { readFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { shareOf } from '../../src/cli/commands/running/serving/worker.ts';
import { readAll, send } from '../helpers/ask.ts';
import { provider } from '../helpers/gateway.ts';
import { home, type Home } from '../helpers/process.ts';
import { gate, scriptedProvider } from '../helpers/scripted-provider.ts';
import { askOnce, bothServe, statusOf, WORKERS } from '../e2e/worker-processes.ts';
import { content, FINISH, START, TERMINAL } from '../gateway/wire.ts';

const PRELOADS = new URL('../e2e/', import.meta.url).pathname;

/** The processes of all workers. Those that a test leaves are ended. */
async function workersOf(shell: Home): Promise<number[]> {
  const pids = ((await statusOf(shell)).workers ?? []).map(({ pid }) => pid);
  onTestFinished(() => {
    for (const pid of pids) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
  });
  return pids;
}

test('P41: a gateway whose workers all end again and again starts them again, and does not end itself', async () => {
  const shell = home();
  const server = await shell.serve(...WORKERS);
  const to = { url: server.url, key: await shell.newKey('unlimited') };
  // The second time in ten seconds, the next start waits.
  for (const pause of ['"pause_ms":0', '"pause_ms":1000']) {
    await bothServe(shell);
    for (const pid of await workersOf(shell)) process.kill(pid, 'SIGKILL');
    await server.logged(pause);
  }
  expect((await statusOf(shell)).state).toBe('starting');
  await bothServe(shell);
  expect(await askOnce(to)).toBe(200);
  // Of the first start, once for all.
  expect(server.stdout().match(/sk-gw-\w{40}/g)).toHaveLength(1);
  server.child.kill('SIGTERM');
  expect(await server.ended).toMatchObject({ code: 0, signal: null });
});

test.each([
  ['that is stopped', 'SIGSTOP'],
  ['in an endless loop', 'SIGUSR2'],
] as const)('P41: a worker %s is noticed, ended and replaced, and the log says so', async (_, signal) => {
  const options = ['fast-heartbeat.mjs', 'endless-loop.mjs'].map((name) => `--import ${PRELOADS}${name}`);
  const shell = home({ NODE_OPTIONS: options.join(' ') });
  shell.configure({ providers: { sim: {} } });
  const server = await shell.serve(...WORKERS);
  const to = { url: server.url, key: await shell.newKey('unlimited') };
  const [hanging = 0] = await workersOf(shell);
  process.kill(hanging, signal);
  await server.logged('a worker hangs: it is ended');
  await server.logged('a worker ended: it is started again');
  await bothServe(shell, hanging);
  expect(isAlive(hanging)).toBe(false);
  for (let round = 0; round < 4; round += 1) expect(await askOnce(to)).toBe(200);
});

test('P41: the workers of a killed supervisor end as on SIGTERM: streams end, are cut with an error event, and have their rows', async () => {
  const upstream = await scriptedProvider();
  const shell = home();
  shell.configure({
    providers: { p: provider(upstream.url, 'chat', ['m']) },
    limits: { shutdown_grace: '3s' },
  });
  const server = await shell.serve(...WORKERS);
  const to = { url: server.url, key: await shell.newKey('unlimited') };
  const workers = await workersOf(shell);
  const end = gate();
  upstream.play(
    { steps: [START.chat, content('chat', 'a'), end.opened, FINISH.chat, TERMINAL.chat] },
    { steps: [START.chat, content('chat', 'b'), gate().opened] },
  );
  const [whole, cut] = [
    await send(to, { model: 'm', stream: true }),
    await send(to, { model: 'm', stream: true }),
  ];
  server.child.kill('SIGKILL');
  const closing = { headers: { connection: 'close' } };
  await expect.poll(() => fetch(`${server.url}/health`, closing).catch(() => 'refused')).toBe('refused');
  end.open();
  expect(await whole.text()).toContain('data: [DONE]');
  const { text, broken } = await readAll(cut);
  expect(broken).toBe(true);
  expect(text).toContain('"error"');
  expect(text).not.toContain('[DONE]');
  await expect.poll(() => workers.filter(isAlive)).toEqual([]);
  const rows = await shell.json<{ error: string | null }[]>('requests');
  expect(rows.map(({ error }) => error).sort()).toEqual([null, 'unavailable']);
});

function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

test('limits.max_concurrent is exact over workers: of one place there is one worker', async () => {
  const upstream = await scriptedProvider();
  const shell = home();
  shell.configure({
    providers: { p: provider(upstream.url, 'chat', ['m']) },
    limits: { max_concurrent: 1 },
  });
  const server = await shell.serve(...WORKERS);
  const to = { url: server.url, key: await shell.newKey('unlimited') };
  expect((await statusOf(shell)).workers).toHaveLength(1);
  const end = gate();
  upstream.play({ steps: [START.chat, content('chat', 'a'), end.opened, FINISH.chat, TERMINAL.chat] });
  const first = await send(to, { model: 'm', stream: true });
  for (let round = 0; round < 4; round += 1) expect(await askOnce(to, 'm')).toBe(503);
  end.open();
  expect(await first.text()).toContain('[DONE]');
});

test.each([
  [5, 2],
  [1024, 3],
  [7, 7],
  [2, 3],
])('the shares of %i places in %i workers are exactly as much', (total, count) => {
  const shares = Array.from({ length: count }, (_, at) => shareOf(total, at + 1, count));
  expect(shares.reduce((sum, share) => sum + share)).toBe(total);
  expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1);
});
