// The bytes of an event stream below HTTP: chunks of our own must be those that node:http would have made of the same writes.
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { expect, it, onTestFinished } from 'vitest';
import { EventWriter } from '../../src/server/event-writer.ts';
import { rawClient } from '../helpers/raw-client.ts';

type Answer = (response: ServerResponse) => void;

async function serve(answer: Answer): Promise<(request: string) => Promise<string>> {
  const server = createServer({ noDelay: true }, (_request, response) => {
    response.sendDate = false;
    response.writeHead(200, ['content-type', 'text/event-stream']);
    answer(response);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return async (request) => {
    const client = await rawClient(`http://127.0.0.1:${port}`);
    client.send(request);
    return client.closed;
  };
}

const CLOSING = 'GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n';
const text = fc.oneof(
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }),
  fc.string({ minLength: 1, maxLength: 40 }).map((piece) => Buffer.from(piece)),
  fc.constantFrom('ü', '🎉', 'x'.repeat(20_000), Buffer.alloc(20_000, 'y'), Buffer.from([0xff, 0, 13, 10])),
);

it.each([
  ['HTTP/1.1', CLOSING],
  ['HTTP/1.0', 'GET / HTTP/1.0\r\n\r\n'],
])('writes what node:http would, to %s', async (_version, request) => {
  let pieces: (string | Buffer)[] = [];
  let last: string | Buffer = '';
  const ours = await serve((response) => {
    const writer = new EventWriter(response);
    for (const piece of pieces) writer.write(piece);
    writer.end(last);
  });
  const plain = await serve((response) => {
    for (const piece of pieces) response.write(piece);
    if (last.length > 0) response.write(last);
    response.end();
  });
  await fc.assert(
    fc.asyncProperty(fc.array(text, { maxLength: 5 }), fc.oneof(text, fc.constant('')), async (list, end) => {
      pieces = list;
      last = end;
      expect((await ours(request)) === (await plain(request))).toBe(true);
    }),
    { numRuns: 60 },
  );
});

it('writes nothing for nothing: an empty chunk would be the last', async () => {
  const ask = await serve((response) => {
    const writer = new EventWriter(response);
    expect(writer.write('')).toBe(true);
    writer.write('a');
    writer.end('');
  });
  expect(await ask(CLOSING)).toMatch(/\r\n\r\n1\r\na\r\n0\r\n\r\n$/);
});

it('says when the client reads too slowly, and when it caught up', async () => {
  let drained: Promise<unknown> = Promise.resolve();
  const ask = await serve((response) => {
    const writer = new EventWriter(response);
    let writes = 1;
    while (writer.write('z'.repeat(100_000))) writes++;
    drained = once(response, 'drain').then(() => writer.end(`${writes} writes`));
  });
  expect(await ask(CLOSING)).toMatch(/writes\r\n0\r\n\r\n$/);
  await drained;
});

it('keeps the connection for the next request', async () => {
  const ask = await serve((response) => new EventWriter(response).end('data: 1\n\n'));
  const answers = await ask(`GET / HTTP/1.1\r\nhost: x\r\n\r\n${CLOSING}`);
  expect(answers.split('HTTP/1.1 200 OK')).toHaveLength(3);
  expect(answers.split('9\r\ndata: 1\n\n\r\n0\r\n\r\n')).toHaveLength(3);
});
