// Another program locks the database: streams go on, and new requests wait for the lock.
import { expect, it, onTestFinished } from 'vitest';
import { loadDriver } from '../../src/store/sqlite/driver.ts';
import { send } from '../helpers/ask.ts';
import { gateway, provider } from '../helpers/gateway.ts';
import { scriptedProvider } from '../helpers/scripted-provider.ts';
import { content, START } from './wire.ts';

const Database = await loadDriver();

it('a stream goes on while the lock lasts; a request waits, and is admitted when it ends', async () => {
  const scripted = await scriptedProvider();
  let release = (): void => undefined;
  const locked = new Promise<void>((resolve) => (release = resolve));
  scripted.play({
    headers: { 'content-type': 'text/event-stream' },
    steps: [
      START.messages + content('messages', 'before'),
      locked,
      content('messages', 'while'),
      new Promise(() => undefined),
    ],
  });
  const to = await gateway({
    config: { providers: { p: provider(`${scripted.url}/v1`, 'messages', ['m']), sim: null } },
  });
  const leaving = new AbortController();
  const stream = await send(to, { protocol: 'messages', model: 'p/m', stream: true, signal: leaving.signal });
  const reader = stream.body?.getReader();
  let text = '';
  const readUntil = async (word: string): Promise<void> => {
    while (!text.includes(word)) text += Buffer.from((await reader?.read())?.value ?? []).toString();
  };
  await readUntil('before');
  const holder = new Database(to.store.location);
  onTestFinished(() => void holder.close());
  holder.exec('BEGIN IMMEDIATE');
  let answered = false;
  const waiting = send(to, { protocol: 'chat', model: 'sim/echo' }).finally(() => (answered = true));
  release();
  await readUntil('while');
  expect(answered).toBe(false);
  holder.exec('COMMIT');
  expect((await waiting).status).toBe(200);
  leaving.abort();
});
