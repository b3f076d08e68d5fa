// What load balancers and monitors do with connections: health checks without a Host, and idle connections that are kept.
import { expect, it } from 'vitest';
import { gateway } from '../helpers/gateway.ts';
import { rawClient } from '../helpers/raw-client.ts';

it.each([
  'GET /health HTTP/1.0\r\n\r\n',
  'OPTIONS /health HTTP/1.0\r\n\r\n',
  'HEAD /health HTTP/1.1\r\nconnection: close\r\n\r\n',
])('a health check without a Host: %j', async (request) => {
  const client = await rawClient((await gateway()).url);
  client.send(request);
  expect(await client.closed).toMatch(
    request.startsWith('OPTIONS') ? /^HTTP\/1\.1 405 / : /^HTTP\/1\.1 200 /,
  );
});

it.each([
  'GET /v1/models HTTP/1.0\r\n\r\n',
  'GET /health HTTP/1.0\r\nhost: evil.example\r\n\r\n',
  'GET /health HTTP/1.0\r\nhost: localhost\r\nhost: evil.example\r\n\r\n',
])('and nothing else: %j', async (request) => {
  const client = await rawClient((await gateway()).url);
  client.send(request);
  expect(await client.closed).toMatch(/^HTTP\/1\.1 40[03] /);
});

it('an idle connection is kept for limits.keep_alive', async () => {
  const { url } = await gateway({ config: { limits: { keep_alive: '1ms' } } });
  const client = await rawClient(url);
  client.send('GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n');
  expect(await client.closed).toMatch(/^HTTP\/1\.1 200 /);
});
