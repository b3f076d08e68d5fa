// Bytes that are not quite a request: they get words and a request id too, and the connection ends.
import { expect, test } from 'vitest';
import { gateway } from '../helpers/gateway.ts';
import { rawClient } from '../helpers/raw-client.ts';

const cases = [
  ['no Host', 'GET /health HTTP/1.1\r\nconnection: close\r\n\r\n', 403, 'permission_error'],
  [
    'two Hosts',
    'GET /health HTTP/1.1\r\nhost: localhost\r\nhost: a.example\r\nconnection: close\r\n\r\n',
    403,
    'permission_error',
  ],
  ['no HTTP', 'HELLO\r\n\r\n', 400, 'invalid_request_error'],
  [
    'endless headers',
    `GET / HTTP/1.1\r\nhost: localhost\r\nx: ${'a'.repeat(70_000)}\r\n\r\n`,
    431,
    'invalid_request_error',
  ],
] as const;

test.each(cases)('%s', async (_name, bytes, status, type) => {
  const client = await rawClient((await gateway()).url);
  client.send(bytes);
  const text = await client.closed;
  expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  expect(text).toMatch(/\r\nx-request-id: req_\w{24}\r\n/);
  expect(JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4))).toMatchObject({ error: { type } });
});
