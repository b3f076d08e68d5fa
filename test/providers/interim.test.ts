// Replies with an interim head before them: a provider may say `100 Continue` though nobody asked whether it wants the body.
import { expect, it } from 'vitest';
import { CancellationSource } from '../../src/cancellation.ts';
import { systemClock } from '../../src/clock.ts';
import { createProviderClient } from '../../src/providers/client.ts';
import { rawServer, isWholeRequest } from '../helpers/raw-server.ts';

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
const DATED = 'HTTP/1.1 100 Continue\r\nDate: Sun, 22 Nov 2026 07:00:00 GMT\r\nServer: x\r\n\r\n';
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';
const STREAM = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n';

/** Asks `times` on one connection a server that answers with these pieces, each in a packet of its own. */
async function answers(
  pieces: readonly string[],
  times = 1,
): Promise<{ texts: string[]; connections: number }> {
  let seen = 0;
  const server = await rawServer((socket, soFar) => {
    if (!isWholeRequest(soFar.slice(seen))) return;
    seen = soFar.length;
    void writeApart(pieces, (piece) => socket.write(piece));
  });
  const client = createProviderClient({ clock: systemClock, env: {} });
  const timeout = { connect: 1000, firstByte: 5000, idle: 5000, whole: 5000 };
  const texts: string[] = [];
  for (let round = 0; round < times; round += 1) {
    const reply = await client.open(
      {
        url: `${server.url}/v1/x`,
        method: 'POST',
        headers: [],
        body: Buffer.from('{}'),
        stream: true,
        timeout,
        network: undefined,
      },
      new CancellationSource(),
    );
    texts.push(
      await new Promise<string>((resolve, reject) => {
        let text = String(reply.status);
        reply.body.start({
          chunk: (bytes) => (text += ` ${bytes.toString()}`),
          end: () => resolve(text),
          fail: (failure) => reject(new Error(failure.reason)),
        });
      }),
    );
    // The client waits a turn of the loop before it uses a connection again.
    await new Promise(setImmediate);
  }
  await client.close();
  return { texts, connections: server.connections };
}

async function writeApart(pieces: readonly string[], write: (piece: string) => void): Promise<void> {
  for (const piece of pieces) {
    write(piece);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

it.each([
  ['before the reply', [CONTINUE, OK], '200 ok'],
  ['in one packet with it', [CONTINUE + OK], '200 ok'],
  ['twice', [CONTINUE + DATED + OK], '200 ok'],
  ['in pieces', ['HTTP/1', '.1 100 Con', 'tinue\r\nserver: x\r\n', '\r\nHTTP/1.1 2', OK.slice(10)], '200 ok'],
  ['before a stream', [DATED, STREAM], '200 abc'],
])('ignores an unasked 100 %s', async (_how, pieces, text) => {
  expect((await answers(pieces)).texts).toEqual([text]);
});

it('ignores it for each request of a reused connection', async () => {
  expect(await answers([CONTINUE, OK], 3)).toEqual({ texts: ['200 ok', '200 ok', '200 ok'], connections: 1 });
});

it('takes for an interim head nothing that stands in a body', async () => {
  const length = CONTINUE.length;
  const head = `HTTP/1.1 200 OK\r\ncontent-length: ${length}\r\n\r\n`;
  expect((await answers([head, CONTINUE], 2)).texts).toEqual([`200 ${CONTINUE}`, `200 ${CONTINUE}`]);
  const afterInterim = await answers([CONTINUE, head, CONTINUE], 2);
  expect(afterInterim.texts).toEqual([`200 ${CONTINUE}`, `200 ${CONTINUE}`]);
});
