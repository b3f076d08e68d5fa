// Bodies of every size, as a whole and in pieces: a provider gets each as it was sent. A body that has arrived when its request is
// served is read in another way than one that comes later, and sockets and streams hand bytes over in chunks of 64 KiB.
import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { gateway, provider } from '../helpers/gateway.ts';
import { rawClient, rawRequest } from '../helpers/raw-client.ts';
import { scriptedProvider } from '../helpers/scripted-provider.ts';
import { wholeOf } from '../gateway/wire.ts';

const KB = 1024;

/** From 1 KB to 2 MB: steps of 4 % in all, of 2 KB where Node's buffers end. */
function sizes(): number[] {
  const all: number[] = [];
  for (let size = KB; size < 2 * KB * KB; size = Math.ceil(size * 1.04)) all.push(size);
  for (let size = 60 * KB; size <= 140 * KB; size += 2 * KB) all.push(size);
  return [...all, 2 * KB * KB];
}

const digest = (bytes: string | Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** A request of so many bytes, no two parts of which are alike. */
function bodyOf(size: number): string {
  const frame = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: '' }] });
  let text = '';
  for (let at = 0; text.length < size; at += 1) text += `${at} `;
  return frame.replace('"content":""', `"content":"${text.slice(0, Math.max(size - frame.length, 1))}"`);
}

it.each([
  ['as a whole', Infinity],
  ['in pieces of 10,000 bytes', 10_000],
  ['in pieces of 64 KiB', 64 * KB],
])('reaches the provider %s', async (_how, pieceBytes) => {
  const upstream = await scriptedProvider();
  const config = {
    providers: { p: provider(upstream.url, 'chat', ['m']) },
    tiers: { enterprise: 1_000_000 },
  };
  const server = await gateway({ config });
  const client = await rawClient(server.url);
  for (const size of sizes()) {
    upstream.play({ body: wholeOf('chat', `took ${size};`) });
    const body = bodyOf(size);
    const request = Buffer.from(rawRequest(server, body));
    for (let at = 0; at < request.length; at += pieceBytes) {
      const piece = request.subarray(at, Math.min(at + pieceBytes, request.length));
      await new Promise((resolve) => client.socket.write(piece, resolve));
    }
    const text = await client.until(new RegExp(`took ${size};|HTTP/1\\.1 [45]`));
    expect(text.slice(-1000), `${size} bytes`).toContain(`took ${size};`);
    expect(digest(upstream.requests.at(-1)?.bytes ?? ''), `${size} bytes`).toBe(digest(body));
  }
});
