// Commands ask providers with a client of their own: what lists of models and probes need of it.
import { readBody } from '../../src/providers/reply-body.ts';
import { gzipSync } from 'node:zlib';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { createServer as createSocketServer, type AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { CancellationSource, NEVER_CANCELLED, type Cancellation } from '../../src/cancellation.ts';
import { createDirectClient } from '../../src/providers/direct-client.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

async function serve(answer: Answer): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  onTestFinished(() => void server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function ask(
  url: string,
  { cancellation = NEVER_CANCELLED, body }: { cancellation?: Cancellation; body?: Buffer } = {},
) {
  const timeout = { connect: 1, firstByte: 1, idle: 1, whole: 1 };
  const headers = ['accept', 'application/json', 'x-a', '1', 'x-a', '2'];
  const call = {
    url,
    method: body ? 'POST' : 'GET',
    headers,
    stream: false,
    timeout,
    network: undefined,
    ...(body && { body }),
  } as const;
  const reply = await createDirectClient().open(call, cancellation);
  return { status: reply.status, text: (await readBody(reply.body, 1000)).toString() };
}

it('sends method, headers and body, and reads status and body, decoded', async () => {
  const url = await serve((request, response) => {
    const { method, url: path, headers } = request;
    void request.toArray().then((chunks) => {
      const seen = {
        method,
        path,
        host: headers.host,
        a: headers['x-a'],
        body: Buffer.concat(chunks as Buffer[]).toString(),
      };
      response.writeHead(203, { 'content-encoding': 'gzip' }).end(gzipSync(JSON.stringify(seen)));
    });
  });
  const host = new URL(url).host;
  const { status, text } = await ask(`${url}/v1/models?limit=1`, { body: Buffer.from('{}') });
  expect(status).toBe(203);
  expect(JSON.parse(text)).toEqual({
    method: 'POST',
    path: '/v1/models?limit=1',
    host,
    a: '1, 2',
    body: '{}',
  });
});

it('fails, and nothing else, where the other side drops each connection', async () => {
  const server = createSocketServer((socket) => socket.resetAndDestroy()).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const asked = await Promise.allSettled(Array.from({ length: 50 }, () => ask(url)));
  for (const one of asked) expect(one).toMatchObject({ status: 'rejected', reason: { failure: {} } });
});

it('follows no redirect', async () => {
  const url = await serve((_, response) =>
    response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
  );
  expect(await ask(url)).toEqual({ status: 302, text: '' });
});

it('reports a refused connection and an answer that breaks off as failures with a reason', async () => {
  await expect(ask('http://127.0.0.1:1/')).rejects.toMatchObject({ failure: { reason: 'refused' } });
  const url = await serve((_, response) => {
    response.writeHead(200, { 'content-length': '100' }).write('half', () => response.destroy());
  });
  await expect(ask(url)).rejects.toMatchObject({ failure: { reason: 'truncated' } });
});

it('names a server that speaks HTTP/2 alone, and one that speaks no HTTP', async () => {
  const spoken = async (bytes: string): Promise<string> => {
    const server = createSocketServer((socket) => void socket.end(bytes, 'latin1')).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    onTestFinished(() => void server.close());
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };
  const settings = '\0\0\0\u0004\0\0\0\0\0';
  await expect(ask(await spoken(settings))).rejects.toMatchObject({ failure: { reason: 'http2' } });
  await expect(ask(await spoken('SSH-2.0-x\r\n'))).rejects.toMatchObject({ failure: { reason: 'http' } });
});

it('ends a silent request with the reason of its cancellation', async () => {
  const cancellation = new CancellationSource();
  const url = await serve(() => cancellation.cancel(new Error('too late')));
  await expect(ask(url, { cancellation })).rejects.toThrow('too late');
  await expect(ask(url, { cancellation })).rejects.toThrow('too late');
});
