// Replies in a content encoding that nobody asked for, over real sockets: whole ones, streams, and what can go wrong in them.
import { brotliCompressSync, createGzip, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { CancellationSource } from '../../src/cancellation.ts';
import { systemClock } from '../../src/clock.ts';
import type { ProviderFailure } from '../../src/errors.ts';
import { createProviderClient } from '../../src/providers/client.ts';
import type { ReplyBody } from '../../src/providers/reply-body.ts';
import { CUT, gate, scriptedProvider, type Script } from '../helpers/scripted-provider.ts';

async function replyTo(script: Script): Promise<ReplyBody> {
  const provider = await scriptedProvider();
  provider.playAlways(script);
  const client = createProviderClient({ clock: systemClock, env: {} });
  const timeout = { connect: 1000, firstByte: 5000, idle: 5000, whole: 5000 };
  const reply = await client.open(
    { url: `${provider.url}/v1/x`, method: 'GET', headers: [], stream: true, timeout, network: undefined },
    new CancellationSource(),
  );
  return reply.body;
}

function drain(body: ReplyBody): Promise<{ text: string; end: boolean | ProviderFailure }> {
  return new Promise((resolve) => {
    let text = '';
    body.start({
      chunk: (bytes) => (text += bytes.toString()),
      end: (clean) => resolve({ text, end: clean }),
      fail: (failure) => resolve({ text, end: failure }),
    });
  });
}

/** One gzip stream in pieces that can be decoded as they come. */
async function flushed(texts: readonly string[]): Promise<Buffer[]> {
  const zip = createGzip();
  const pieces: Buffer[] = [];
  for (const text of texts) {
    zip.write(text);
    await new Promise<void>((resolve) => zip.flush(() => resolve()));
    pieces.push((zip.read(zip.readableLength) as Buffer | null) ?? Buffer.alloc(0));
  }
  zip.end();
  for await (const rest of zip) pieces.push(rest as Buffer);
  return pieces;
}

it.each([
  ['gzip', gzipSync('hello')],
  ['x-gzip', gzipSync('hello')],
  ['GZIP', gzipSync('hello')],
  ['deflate', deflateSync('hello')],
  ['deflate', deflateRawSync('hello')],
  ['br', brotliCompressSync('hello')],
  ['identity', Buffer.from('hello')],
])('decodes a whole reply in %s', async (encoding, body) => {
  const reply = await replyTo({ body, headers: { 'content-encoding': encoding } });
  expect(await drain(reply)).toEqual({ text: 'hello', end: true });
});

it('gives each piece of a stream when it comes, not at the end', async () => {
  const [one = '', ...rest] = await flushed(['data: one\n\n', 'data: two\n\n']);
  const held = gate();
  const body = await replyTo({ headers: { 'content-encoding': 'gzip' }, steps: [one, held.opened, ...rest] });
  const seen = await new Promise<string>((resolve) => {
    let text = '';
    body.start({
      chunk(bytes) {
        text += bytes.toString();
        if (text === 'data: one\n\n') held.open();
      },
      end: (clean) => resolve(`${text}${String(clean)}`),
      fail: (failure) => resolve(`${text}${failure.reason ?? ''}`),
    });
  });
  expect(seen).toBe('data: one\n\ndata: two\n\ntrue');
});

it.each([
  ['breaks off', gzipSync('x'.repeat(1000)).subarray(0, 20)],
  ['is none', Buffer.from('hello')],
])('fails a reply whose encoding %s', async (_how, body) => {
  const { end } = await drain(await replyTo({ body, headers: { 'content-encoding': 'gzip' } }));
  expect(end).toMatchObject({ kind: 'failed', reason: 'encoding' });
});

it('delivers what came before the connection broke, then says that it broke', async () => {
  const [one = ''] = await flushed(['data: one\n\n']);
  const reply = await replyTo({ headers: { 'content-encoding': 'gzip' }, steps: [one, CUT] });
  const { text, end } = await drain(reply);
  expect(text).toBe('data: one\n\n');
  expect(end).toMatchObject({ kind: 'failed', reason: 'truncated' });
});

it('decodes no more than its reader takes', async () => {
  const body = await replyTo({
    body: gzipSync(Buffer.alloc(16 * 1024 * 1024)),
    headers: { 'content-encoding': 'gzip' },
  });
  let length = 0;
  await new Promise<void>((resolve) => {
    body.start({
      chunk(bytes) {
        length += bytes.length;
        body.pause();
        resolve();
      },
      end: () => undefined,
      fail: () => undefined,
    });
  });
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
  expect(length).toBeLessThan(1024 * 1024);
  body.abort();
  const aborted = length;
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
  expect(length).toBe(aborted);
});
