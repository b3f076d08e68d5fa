// What both references share: an undici pool whose replies are streamed to a node:http response, unread. And all of `bare`.
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { Pool, type Dispatcher } from 'undici';

export function createPool(origin: string): Pool {
  return new Pool(origin, { connections: null, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 });
}

export function bareServer(origin: string): Server {
  const pool = createPool(origin);
  const server = createServer({ noDelay: true }, (request, response) => {
    const headers = ['content-type', 'application/json'];
    const length = request.headers['content-length'];
    if (length !== undefined) headers.push('content-length', length);
    forward(pool, { path: request.url ?? '/', headers, body: request }, response);
  });
  return server.on('close', () => void pool.destroy());
}

interface Forwarded {
  path: string;
  headers: string[];
  body: Readable | Buffer;
}

export function forward(pool: Pool, { path, headers, body }: Forwarded, response: ServerResponse): void {
  let control: Dispatcher.DispatchController | undefined;
  response.on('close', () => {
    if (!response.writableFinished) control?.abort(new Error('the client went away'));
  });
  pool.dispatch(
    { path, method: 'POST', headers, body },
    {
      onRequestStart(controller) {
        control = controller;
      },
      onResponseStart(_controller, status, headers) {
        const head = ['content-type', String(headers['content-type'])];
        const length = headers['content-length'];
        if (typeof length === 'string') head.push('content-length', length);
        response.writeHead(status, head);
      },
      onResponseData(controller, chunk) {
        if (response.write(chunk)) return;
        controller.pause();
        response.once('drain', () => controller.resume());
      },
      onResponseEnd() {
        response.end();
      },
      onResponseError(_controller, error) {
        response.destroy(error);
      },
    },
  );
}
