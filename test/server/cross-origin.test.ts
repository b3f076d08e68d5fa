// CORS: named origins may use the endpoints of models, no other origin, and never the admin API.
import { expect, test } from 'vitest';
import { faultsOf, load } from '../config/folder.ts';
import { ask } from '../helpers/ask.ts';
import { manualClock } from '../helpers/clock.ts';
import { gateway, rewrite } from '../helpers/gateway.ts';
import { home } from '../helpers/process.ts';

const ORIGIN = 'https://app.example.com';
const listen = { hosts: ['127.0.0.1'], port: 0, origins: [ORIGIN, 'app://obsidian.md'] };
const place = () => gateway({ config: { listen, admin: true, metrics: true } });

const corsOf = ({ headers }: Response): string[] =>
  [...headers.keys()].filter((name) => name.startsWith('access-control-'));

const preflight = (url: string, origin: string, more: Record<string, string> = {}) =>
  fetch(url, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type,x-stainless-os',
      ...more,
    },
  });

test.each([ORIGIN, 'app://obsidian.md'])(
  '%s: the preflight question, the answer, an error and a stream',
  async (origin) => {
    const server = await place();
    const asked = await preflight(`${server.url}/v1/chat/completions`, origin, {
      'access-control-request-private-network': 'true',
    });
    expect(asked.status).toBe(204);
    expect(Object.fromEntries(asked.headers)).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': 'authorization,content-type,x-stainless-os',
      'access-control-allow-private-network': 'true',
      vary: 'origin',
    });
    const whole = await ask(server, { headers: { origin } });
    expect(whole.status).toBe(200);
    expect(whole.headers.get('access-control-allow-origin')).toBe(origin);
    const exposed = whole.headers.get('access-control-expose-headers')?.split(', ');
    expect(exposed).toEqual(
      expect.arrayContaining(['x-request-id', 'x-gateway-model', 'x-ratelimit-remaining-requests']),
    );
    expect(exposed).not.toContain('content-type');
    const stream = await ask(server, { stream: true, headers: { origin } });
    expect(stream.headers.get('access-control-allow-origin')).toBe(origin);
    const refused = await ask({ ...server, key: 'sk-no' }, { headers: { origin } });
    expect(refused.status).toBe(401);
    expect(refused.headers.get('access-control-allow-origin')).toBe(origin);
    expect(refused.headers.has('access-control-allow-credentials')).toBe(false);
  },
);

test.each([
  'null',
  'https://evil.example',
  `${ORIGIN}.evil.example`,
  `${ORIGIN}:8443`,
  'http://app.example.com',
  '',
])('origin %j stays refused', async (origin) => {
  const server = await place();
  const asked = await preflight(`${server.url}/v1/chat/completions`, origin);
  expect(asked.status).toBe(405);
  expect(corsOf(asked)).toEqual([]);
  const seen = await ask(server, { headers: { origin } });
  expect([...seen.headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([]);
});

test.each(['/admin/api/requests', '/admin/', '/admin', '/health', '/metrics', '/', '/v2/nothing'])(
  'no header for %s',
  async (path) => {
    const server = await place();
    const asked = await preflight(server.url + path, ORIGIN);
    expect(asked.status).toBeGreaterThanOrEqual(400);
    expect(corsOf(asked)).toEqual([]);
    expect(corsOf(await fetch(server.url + path, { headers: { origin: ORIGIN } }))).toEqual([]);
  },
);

test('a foreign Host is refused before, and a header list that is none is not repeated', async () => {
  const server = await place();
  const odd = await preflight(`${server.url}/v1/models`, ORIGIN, {
    'access-control-request-headers': 'a b;c',
  });
  expect(odd.status).toBe(204);
  expect(odd.headers.get('access-control-allow-methods')).toBe('GET, HEAD');
  expect(odd.headers.has('access-control-allow-headers')).toBe(false);
});

test('a change of the file applies at once, and without origins nothing is sent', async () => {
  const clock = manualClock();
  const server = await gateway({ config: { listen: { ...listen, origins: [] } }, clock });
  const url = `${server.url}/v1/chat/completions`;
  expect((await preflight(url, ORIGIN)).status).toBe(405);
  rewrite(server, clock, { listen });
  await expect.poll(async () => (await preflight(url, ORIGIN)).status).toBe(204);
});

test.each([
  ['https://App.example.com:443/', 'https://app.example.com'],
  ['http://localhost:3000', 'http://localhost:3000'],
  ['tauri://localhost', 'tauri://localhost'],
])('%s is written as browsers send it', (given, origin) => {
  expect(load(`providers:\n  sim:\nlisten: { origins: ['${given}'] }\n`).listen.origins).toEqual([origin]);
});

test.each([
  '*',
  'null',
  'https://*.example.com',
  'https://a.example/path',
  'a.example',
  'https://u@a.example',
])('%s is a fault', (origin) => {
  expect(faultsOf(`providers:\n  sim:\nlisten: { origins: ['${origin}'] }\n`)).toEqual([
    'gateway.yaml:3 listen.origins[0]: is not an origin; write each one in full, like https://app.example.com or http://localhost:3000, without a path or a pattern',
  ]);
});

test('the built program answers a preflight question with two workers', async () => {
  const shell = home({});
  shell.configure({ providers: { sim: {} }, listen: { origins: [ORIGIN] } });
  const server = await shell.serve('--workers', '2');
  const asked = await preflight(`${server.url}/v1/messages`, ORIGIN);
  expect([asked.status, asked.headers.get('access-control-allow-origin')]).toEqual([204, ORIGIN]);
});
