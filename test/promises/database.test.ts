// P24, P31: what a database that is locked, lost or damaged does to requests, streams and the signs of life.
import { join, dirname } from 'node:path';
import { expect, test, onTestFinished } from 'vitest';
import { loadEngine } from '../../src/store/sqlite/engine.ts';
import { content, FINISH, START, TERMINAL, wholeOf } from '../gateway/wire.ts';
import { ask, send } from '../helpers/ask.ts';
import { gateway, provider, type TestGateway } from '../helpers/gateway.ts';
import { scriptedProvider } from '../helpers/scripted-provider.ts';

// The same copy of SQLite as the store's: two copies in one process don't see each other's locks.
const Database = await loadEngine();

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

test('while another program locks the database, streams and /health go on, and a request waits for it', async () => {
  const { upstream, server, file } = await place();
  const pieces = ['a', 'b', 'c'].map((text) => ({ text, open: (): void => undefined }));
  const steps = pieces.flatMap((piece) => {
    const opened = new Promise<void>((resolve) => (piece.open = resolve));
    return [opened, content('chat', piece.text)];
  });
  upstream.play({ steps: [START.chat, content('chat', 'begun'), ...steps, FINISH.chat, TERMINAL.chat] });
  const body = (await send(server, { model: 'm', stream: true })).body?.getReader();
  const decoder = new TextDecoder();
  const read = async (): Promise<string> => decoder.decode((await body?.read())?.value);
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
