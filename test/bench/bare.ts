// The reference `bare`: node:http and undici's dispatch, bodies streamed through both ways, nothing parsed.
// Run as `node bare.js PORT STUB`.
import { createServer } from 'node:http';
import { createPool, forward } from './proxy.ts';

const [port = '', stub = ''] = process.argv.slice(2);
const pool = createPool(stub);

createServer({ noDelay: true }, (request, response) => {
  const headers = ['content-type', 'application/json'];
  const length = request.headers['content-length'];
  if (length !== undefined) headers.push('content-length', length);
  forward(pool, { path: request.url ?? '/', headers, body: request }, response);
}).listen(Number(port), '127.0.0.1');
