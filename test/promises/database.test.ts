// P24, P31: what a database that is locked, lost or damaged does to requests, streams and the signs of life.
import { copyFileSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test, onTestFinished } from 'vitest';
import { openStore } from '../../src/store/open.ts';
import { loadDriver } from '../../src/store/sqlite/driver.ts';
import { content, FINISH, START, TERMINAL, wholeOf } from '../gateway/wire.ts';
import { ask, send } from '../helpers/ask.ts';
import { manualClock } from '../helpers/clock.ts';
import { gateway, provider, type TestGateway } from '../helpers/gateway.ts';
import { scriptedProvider } from '../helpers/scripted-provider.ts';

// The same copy of SQLite as the store's: two copies in one process don't see each other's locks.
const Database = await loadDriver();

async function place() {
  const upstream = await scriptedProvider();
  const server = await gateway({
    config: { providers: { talks: provider(upstream.url, 'chat', ['m']) } },
  });
  return { upstream, server, file: join(dirname(server.file), 'gateway.db') };
}

const health = async (server: TestGateway) => {
  const response = await fetch(`${server.url}/health`);
  return { status: response.status, body: await response.json() };
};
const WELL = { status: 200, body: { status: 'ok', database: 'ok' } };

test('P31: while another program locks the database, streams and /health go on, and a request waits for it', async () => {
  const { upstream, server, file } = await place();
  const pieces = ['a', 'b', 'c'].map((text) => ({ text, open: (): void => undefined }));
  const steps = pieces.flatMap((piece) => {
    const opened = new Promise<void>((resolve) => (piece.open = resolve));
    return [opened, content('chat', piece.text)];
  });
  upstream.play({ steps: [START.chat, content('chat', 'begun'), ...steps, FINISH.chat, TERMINAL.chat] });
  const body = (await send(server, { model: 'm', stream: true })).body?.getReader();
  const decoder = new TextDecoder();
  const read = async (): Promise<string> => {
    const piece: { value?: Uint8Array } | undefined = await body?.read();
    return decoder.decode(piece?.value);
  };
  await read();

  const holder = new Database(file);
  onTestFinished(() => void holder.close());
  holder.exec('BEGIN IMMEDIATE');
  upstream.play({ body: wholeOf('chat', 'hello') });
  let answered = false;
  const waiting = ask(server, { model: 'm' }).finally(() => (answered = true));
  for (const { text, open } of pieces) {
    expect(await health(server)).toEqual(WELL);
    open();
    expect(await read()).toContain(text);
  }
  expect(answered).toBe(false);
  expect(upstream.requests).toHaveLength(1);
  holder.exec('COMMIT');
  expect((await waiting).status).toBe(200);
  await body?.cancel();
});

const AWAY = { status: 503, body: { status: 'unavailable', database: 'away' } };
const REFUSED = '"msg":"refused: the database cannot be used"';

/** Its time stands still, so that what is said once a second is said once. */
async function simulated() {
  const clock = manualClock();
  const server = await gateway({ clock });
  const file = join(dirname(server.file), 'gateway.db');
  const status = async (): Promise<number> => (await ask(server, {})).status;
  const reasons = (): string[] =>
    server
      .log()
      .split('\n')
      .filter((line) => line.includes(REFUSED));
  return { clock, server, file, status, reasons };
}

/** Writes nothing that is seen: whoever kept pages in memory reads them anew. */
function touch(file: string): void {
  const other = new Database(file);
  other.pragma('user_version = 1');
  other.pragma('wal_checkpoint(TRUNCATE)');
  other.close();
}

function removeAll(file: string): void {
  for (const end of ['', '-wal', '-shm']) rmSync(file + end, { force: true });
}

const LOSSES = {
  'that was deleted': {
    lose: (file: string) => rmSync(file),
    reason: 'is gone; it was moved or deleted',
  },
  'with a damaged page': {
    lose: (file: string) => {
      touch(file);
      writeFileSync(file, readFileSync(file).fill(0xa5, 4096));
    },
    reason: 'is damaged',
  },
  'that was replaced while in use': {
    lose: (file: string) => {
      copyFileSync(file, `${file}.copy`);
      renameSync(`${file}.copy`, file);
    },
    reason: 'was replaced while it was in use',
  },
  'that was replaced by an empty file': {
    lose: (file: string) => {
      removeAll(file);
      writeFileSync(file, '');
    },
    reason: 'was replaced by one without accounts',
  },
  'that was replaced by a fresh database': {
    lose: async (file: string) => {
      const fresh = `${file}.fresh`;
      await (await openStore(fresh)).close();
      removeAll(file);
      renameSync(fresh, file);
    },
    reason: 'was replaced by one without accounts',
  },
  'that was emptied': {
    lose: (file: string) => truncateSync(file),
    reason: 'was emptied while it was in use',
  },
  'whose log was deleted': {
    lose: (file: string) => rmSync(`${file}-wal`),
    reason: '-wal was deleted or replaced while it was in use',
  },
};

test.each(Object.entries(LOSSES))(
  'a database %s refuses requests with 503; the log has the reason once a second, /health says away',
  async (_, { lose, reason }) => {
    const { clock, server, file, status, reasons } = await simulated();
    expect(await status()).toBe(200);
    expect(await health(server)).toEqual(WELL);
    await lose(file);
    await expect.poll(status).toBe(503);
    expect(await status()).toBe(503);
    expect(reasons()).toHaveLength(1);
    expect(reasons()[0]).toContain(reason);
    expect(await health(server)).toEqual(AWAY);
    clock.advance(1000);
    expect(await status()).toBe(503);
    expect(reasons()).toHaveLength(2);
    expect(JSON.parse(reasons()[1] ?? '')).toMatchObject({ level: 'error', refused: 2 });
  },
);

test('P31: /health is well again when the database is back', async () => {
  const { clock, server, file, status } = await simulated();
  renameSync(file, `${file}.away`);
  await expect.poll(() => health(server)).toEqual(AWAY);
  expect(await status()).toBe(503);
  renameSync(`${file}.away`, file);
  expect(await status()).toBe(200);
  clock.advance(3000);
  expect(await health(server)).toEqual(WELL);
});
