// A reply whose reader pauses: what arrives meanwhile waits for it, also if the provider breaks the connection.
import type { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { CancellationSource } from '../../src/cancellation.ts';
import { systemClock } from '../../src/clock.ts';
import { createProviderClient } from '../../src/providers/client.ts';
import type { ReplyBody } from '../../src/providers/reply-body.ts';
import { isWholeRequest, rawServer } from '../helpers/raw-server.ts';

const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n';

const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;

async function openReply(): Promise<{ body: ReplyBody; peer: Socket }> {
  let peer: Socket | undefined;
  const provider = await rawServer((socket, soFar) => {
    if (!isWholeRequest(soFar)) return;
    peer = socket;
    socket.write(HEAD + chunk('first;'));
  });
  const client = createProviderClient({ clock: systemClock, env: {} });
  const timeout = { connect: 5000, firstByte: 5000, idle: 30_000, whole: 30_000 };
  const { body } = await client.open(
    { url: `${provider.url}/v1/x`, method: 'GET', headers: [], stream: true, timeout, network: undefined },
    new CancellationSource(),
  );
  if (peer === undefined) throw new Error('nothing was asked');
  return { body, peer };
}

/** Reads the first chunk, then pauses. */
async function paused(body: ReplyBody): Promise<{ text: () => string; over: Promise<string> }> {
  let text = '';
  let tell = (_end: string): void => undefined;
  const over = new Promise<string>((resolve) => (tell = resolve));
  await new Promise<void>((resolve) => {
    body.start({
      chunk(bytes) {
        const first = text === '';
        text += bytes.toString();
        if (!first) return;
        body.pause();
        resolve();
      },
      end: (clean) => tell(`end ${clean}`),
      fail: ({ reason }) => tell(`fail ${reason ?? ''}`),
    });
  });
  return { text: () => text, over };
}

const written = (peer: Socket, bytes: string): Promise<void> =>
  new Promise((resolve) => peer.write(bytes, () => resolve()));

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1) await new Promise(setImmediate);
};

it.each(['a reset', 'an end', 'the last chunk'])(
  'delivers what came during the pause before it reports %s',
  async (how) => {
    const { body, peer } = await openReply();
    const { text, over } = await paused(body);
    for (const piece of ['second;', 'third;', 'x'.repeat(20_000)]) {
      await written(peer, chunk(piece));
      await turns(5);
    }
    const gone = new Promise((resolve) => peer.on('close', resolve));
    if (how === 'a reset') peer.resetAndDestroy();
    else peer.end(how === 'an end' ? '' : '0\r\n\r\n');
    if (how !== 'the last chunk') await gone;
    await turns(20);
    expect(text()).toBe('first;');
    body.resume();
    expect(await over).toBe(how === 'the last chunk' ? 'end true' : 'fail truncated');
    expect(text()).toBe(`first;second;third;${'x'.repeat(20_000)}`);
  },
);

it('takes no more from the provider than it holds for its reader', async () => {
  const { body, peer } = await openReply();
  const { text, over } = await paused(body);
  const much = chunk('x'.repeat(64 * 1024)).repeat(400);
  const taken = written(peer, much);
  await turns(200);
  expect(peer.writableLength).toBeGreaterThan(0);
  expect(text()).toBe('first;');
  body.resume();
  await taken;
  peer.end('0\r\n\r\n');
  expect(await over).toBe('end true');
  expect(text().length).toBe('first;'.length + 400 * 64 * 1024);
});

it('gives a reader that pauses at each chunk one chunk for each resume', async () => {
  const { body, peer } = await openReply();
  let held = '';
  let chunks = 0;
  const over = new Promise((resolve) => {
    body.start({
      chunk(bytes) {
        held += bytes.toString();
        chunks += 1;
        body.pause();
        setImmediate(() => body.resume());
      },
      end: resolve,
      fail: resolve,
    });
  });
  for (let at = 0; at < 50; at += 1) await written(peer, chunk(`${at};`));
  peer.end('0\r\n\r\n');
  expect(await over).toBe(true);
  expect(held).toBe(`first;${Array.from({ length: 50 }, (_, at) => `${at};`).join('')}`);
  expect(chunks).toBe(51);
});

it.each(['abort', 'release'] as const)('gives a reader nothing more after its %s', async (how) => {
  const { body, peer } = await openReply();
  const { text } = await paused(body);
  await written(peer, chunk('second;'));
  await turns(20);
  body[how]();
  body.resume();
  await written(peer, `${chunk('third;')}0\r\n\r\n`).catch(() => undefined);
  await turns(20);
  expect(text()).toBe('first;');
});
