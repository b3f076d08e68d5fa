// A stream may take minutes: the conversation that was sent for it must not stay in memory so long.
import { createServer, request, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it, onTestFinished } from 'vitest';
import { gateway } from '../../helpers/gateway.ts';
import { content, START } from '../wire.ts';

const STREAMS = 8;
const BODY_BYTES = 4 * 1024 * 1024;

/** A second collection takes what still stood on the stack at the first. */
async function heldBytes(): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let times = 0; times < 3; times += 1) {
    await new Promise(setImmediate);
    collect();
  }
  return process.memoryUsage().arrayBuffers;
}

/** Reads each request and keeps nothing of it; its streams never end. */
async function endlessProvider(): Promise<string> {
  const server = createServer((asked, answer) => {
    asked.resume().on('end', () => {
      answer.writeHead(200, { 'content-type': 'text/event-stream' });
      answer.write(START.chat + content('chat', 'abc'));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

it.each(['/v1/chat/completions', '/v1/messages'])(
  'frees the bytes of a request to %s when its stream has begun',
  async (path) => {
    const base_url = await endlessProvider();
    const { url, key } = await gateway({
      config: { providers: { slow: { protocol: 'chat', base_url, models: ['m'] } } },
    });
    const text = 'a few words '.repeat(BODY_BYTES / 12);
    const messages = [{ role: 'user', content: text }];
    const body = Buffer.from(JSON.stringify({ model: 'slow/m', max_tokens: 9, stream: true, messages }));
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const begun = async (): Promise<void> => {
      const asked = request(url + path, { method: 'POST', headers, agent: false });
      onTestFinished(() => void asked.destroy());
      asked.on('error', () => undefined).end(body);
      const answer = await new Promise<IncomingMessage>((resolve) => asked.once('response', resolve));
      expect(answer.statusCode).toBe(200);
      let seen = '';
      await new Promise<void>((resolve) => {
        answer
          .on('error', () => undefined)
          .on('data', (bytes: Buffer) => {
            seen += bytes.toString();
            if (seen.includes('abc')) resolve();
          });
      });
    };
    await begun();
    const before = await heldBytes();
    for (let opened = 0; opened < STREAMS; opened += 1) await begun();
    // The client for providers has one copy, with the model's name as the provider knows it.
    expect((await heldBytes()) - before).toBeLessThan(1.5 * STREAMS * BODY_BYTES);
  },
);
