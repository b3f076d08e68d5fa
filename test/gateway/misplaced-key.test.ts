// A key of the gateway where no key belongs: it is neither written down nor sent back.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { withoutKeys } from '../../src/ids.ts';
import { ask } from '../helpers/ask.ts';
import { gateway } from '../helpers/gateway.ts';
import { scriptedProvider } from '../helpers/scripted-provider.ts';
import { content, errorBody, FINISH, START, TERMINAL, wholeOf } from './wire.ts';

it('a key is taken out of any text, the beginning that people know it by is not', () => {
  const key = `sk-gw-${'a1B2'.repeat(11)}`;
  expect(withoutKeys(`x ${key}y /${key}/ ${key.replaceAll('-', '%2D')}`)).toBe(
    'x sk-gw-[redacted] /sk-gw-[redacted]/ sk-gw-[redacted]',
  );
  expect(withoutKeys(key.slice(0, 12))).toBe(key.slice(0, 12));
});

it.each(['chat', 'messages'] as const)(
  '%s: a key as the model never reaches a provider without a list',
  async (protocol) => {
    const upstream = await scriptedProvider();
    upstream.play({ body: wholeOf('chat', 'hi') }, { body: wholeOf('chat', 'hi') });
    const own = await gateway({
      config: {
        providers: { open: { base_url: `${upstream.url}/v1`, protocol: 'chat', api_key: 'k'.repeat(20) } },
      },
    });
    for (const model of [`open/${own.key}`, `open/x:${own.key}`]) {
      const { status, text } = await ask(own, { protocol, model });
      expect({ status, text }).toMatchObject({ status: 400 });
      expect(text).not.toContain(own.key);
      expect(text).toContain('sk-gw-[redacted]');
    }
    const { status } = await fetch(`${own.url}/v1/models/open/${own.key}`, {
      headers: { authorization: `Bearer ${own.key}` },
    });
    expect(status).toBe(404);
    expect(upstream.requests.map(({ bytes }) => bytes.toString()).join('')).not.toContain('sk-gw-');
  },
);

it('a key as the model or in the path is in no answer, no log line and no row', async () => {
  const upstream = await scriptedProvider();
  const own = await gateway({
    config: {
      providers: {
        open: { base_url: `${upstream.url}/v1`, protocol: 'chat', api_key: 'k'.repeat(20) },
        named: { base_url: `${upstream.url}/v1`, protocol: 'chat', api_key: 'k'.repeat(20), models: ['m'] },
      },
    },
  });
  const { key, url } = own;
  const seen: string[] = [];
  const see = async (question: Parameters<typeof ask>[1]): Promise<void> => {
    const { headers, text } = await ask(own, question);
    seen.push(text, JSON.stringify([...headers]));
  };
  upstream.play(
    { body: wholeOf('chat', 'hi') },
    { steps: [START.chat + content('chat', 'hi') + FINISH.chat + TERMINAL.chat] },
    { status: 500, body: errorBody('chat', 'server_error', 'no') },
    { steps: [START.chat + content('chat', 'hi'), 'data: {"error":{"message":"broke"}}\n\n'] },
    { status: 400, body: errorBody('chat', 'invalid_request_error', `no model ${key}`) },
  );
  for (const stream of [false, true, false, true, false]) await see({ model: `open/${key}`, stream });
  await see({ model: key });
  await see({ protocol: 'messages', model: `named/${key}` });
  await see({ body: { [key]: 1 }, protocol: 'messages', model: 'sim/echo' });
  for (const path of [`/v1/models/${key}`, `/v1/models/open/${key}`, `/${key}/v1/models`, `/v1/${key}`]) {
    const response = await fetch(url + path, { headers: { authorization: `Bearer ${key}` } });
    seen.push(await response.text());
  }
  expect(seen.join('\n')).not.toContain(key);
  expect(seen.join('\n')).toContain('[redacted]');
  expect(own.log()).not.toContain(key);
  expect(own.log()).toContain('sk-gw-[redacted]');
  const database = (): string =>
    ['gateway.db', 'gateway.db-wal']
      .map((name) => readFileSync(join(dirname(own.file), name), 'latin1'))
      .join('');
  expect(database()).not.toContain(key);
});
