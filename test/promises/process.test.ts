// P22, P24 and P28, of the real process: nothing is left of what is over, what is lost is counted, and neither a request nor
// a closed log ends it.
import { readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { openStore } from '../../src/store/open.ts';
import { ask, send } from '../helpers/ask.ts';
import { provider } from '../helpers/gateway.ts';
import { home } from '../helpers/process.ts';
import { gate, scriptedProvider } from '../helpers/scripted-provider.ts';
import { content, FINISH, START, streamOf, TERMINAL, wholeOf } from '../gateway/wire.ts';

async function place() {
  const upstream = await scriptedProvider();
  const shell = home();
  shell.configure({
    providers: { p: provider(upstream.url, 'chat', ['m']) },
    tiers: { enterprise: 100_000 },
  });
  const server = await shell.serve();
  return { upstream, shell, server, to: { url: server.url, key: await shell.newKey('enterprise') } };
}

test.skipIf(process.platform !== 'linux')(
  'P22: descriptors of answered, failed and abandoned requests',
  async () => {
    const { upstream, server, to } = await place();
    const count = (): number => readdirSync(`/proc/${server.child.pid}/fd`).length;
    upstream.playAlways({ body: wholeOf('chat', 'a') });
    await ask(to, { model: 'm' });
    const before = count();
    for (let round = 0; round < 4; round += 1) {
      const leaving = new AbortController();
      for (let at = 0; at < 5; at += 1) {
        upstream.play({ status: 500, body: '' }, { steps: [streamOf('chat', 'a')] });
        await ask(to, { model: 'm' });
        await ask(to, { model: 'm', stream: true });
      }
      for (let at = 0; at < 20; at += 1)
        upstream.play({ steps: [START.chat, content('chat', 'a'), gate().opened] });
      await Promise.all(
        Array.from({ length: 20 }, () => send(to, { model: 'm', stream: true, signal: leaving.signal })),
      );
      leaving.abort();
      await Promise.all(upstream.requests.slice(-20).map(({ left }) => left));
    }
    // At most as many connections as there were streams at once are kept for what comes next, on either side.
    await expect.poll(count, { timeout: 5000 }).toBeLessThan(before + 2 * 20 + 10);
  },
);

test('P28: a log that nobody reads any more', async () => {
  const { upstream, server, to } = await place();
  upstream.playAlways({ body: wholeOf('chat', 'a') });
  server.child.stderr?.destroy();
  server.child.stdout?.destroy();
  for (let at = 0; at < 30; at += 1) {
    upstream.play({ status: 500, body: '' });
    expect((await ask(to, { model: 'm' })).status).toBe(502);
    expect((await ask(to, { model: 'm' })).status).toBe(200);
    // Records leave in batches, a moment later.
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  expect(server.child.exitCode).toBeNull();
  server.child.kill('SIGTERM');
  expect(await server.ended).toMatchObject({ code: 0 });
});

/** Two streams that end while the database is away. */
async function endedWithoutDatabase(takeAway: (database: string) => void) {
  const { upstream, shell, server, to } = await place();
  const end = gate();
  for (let at = 0; at < 2; at += 1)
    upstream.play({ steps: [START.chat, content('chat', 'a'), end.opened, FINISH.chat, TERMINAL.chat] });
  const streams = await Promise.all([1, 2].map(() => send(to, { model: 'm', stream: true })));
  takeAway(shell.database);
  await expect.poll(async () => (await fetch(`${server.url}/health`)).status).toBe(503);
  end.open();
  await Promise.all(streams.map((stream) => stream.text()));
  await server.logged('usage rows cannot be written');
  return { shell, server };
}

test('P24: usage of an outage in which the gateway ends is written by the next one', async () => {
  const { shell, server } = await endedWithoutDatabase((database) =>
    renameSync(database, `${database}.away`),
  );
  server.child.kill('SIGTERM');
  const { code, stderr } = await server.ended;
  expect(code).toBe(0);
  expect(stderr).toContain('usage rows wait in a spool file');
  expect(stderr).not.toContain('lost');
  renameSync(`${shell.database}.away`, shell.database);
  const next = await shell.serve();
  await next.logged('the usage rows of a spool file were written');
  next.child.kill('SIGTERM');
  await next.ended;
  const store = await openStore(shell.database);
  expect(await store.listRequests({ limit: 10 })).toHaveLength(2);
  await store.close();
});

test('P24: usage that no place takes is counted in the last line of the log and in the last words', async () => {
  const { shell, server } = await endedWithoutDatabase((database) => rmSync(database));
  // No place for a spool file either; no mode stops root.
  rmSync(dirname(shell.database), { recursive: true });
  writeFileSync(dirname(shell.database), '');
  server.child.kill('SIGTERM');
  const { code, stderr } = await server.ended;
  const [last, words] = stderr.trimEnd().split('\n').slice(-2);
  expect(JSON.parse(last ?? '')).toMatchObject({
    msg: 'usage rows could not be written and are discarded',
    rows: 2,
  });
  expect(words).toBe(`gateway: 2 usage rows could not be written to ${shell.database} and are lost`);
  expect(code).toBe(0);
});
