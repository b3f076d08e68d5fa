// The admin API as an attacker meets it: from a page of another origin, with guessed, used or stolen credentials, with odd bodies.
import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { ask } from '../helpers/ask.ts';
import { manualClock } from '../helpers/clock.ts';
import { gateway, type TestGateway } from '../helpers/gateway.ts';
import { rawClient } from '../helpers/raw-client.ts';
import { usageRow } from '../store/support.ts';
import { API, call, newToken, openBrowser } from './support.ts';

const ON = { config: { admin: true } };

/** With headers that fetch does not let a caller set. */
function withHeaders(gateway: TestGateway, path: string, headers: Record<string, string>, method = 'GET') {
  return new Promise<{ status: number; text: string; headers: Record<string, unknown> }>(
    (resolve, reject) => {
      const outgoing = request(gateway.url + path, { method, headers }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, text, headers: response.headers }),
        );
      });
      outgoing.on('error', reject);
      outgoing.end();
    },
  );
}

const linkOf = async (running: TestGateway): Promise<string> =>
  new URL(await running.adminLink()).hash.replace('#link=', '');

const sign = (running: TestGateway, link: string, headers: Record<string, string> = {}) =>
  call(running, '/admin/session', { method: 'POST', body: { link }, headers });

describe('while it is off', () => {
  it.each(['/admin', '/admin/', `${API}/accounts`, '/admin/session'])(
    '%s is a 404, like any unknown path',
    async (path) => {
      const running = await gateway();
      const off = await call(running, path, { token: 'x' });
      const other = await call(running, path.replace('/admin', '/nimda'), { token: 'x' });
      expect([off.status, other.status]).toEqual([404, 404]);
      expect(off.headers.get('content-type')).toBe(other.headers.get('content-type'));
      expect(off.text.replaceAll('admin', '').replace(/did you mean.*?\?/, '')).not.toContain('dashboard');
    },
  );

  it('is turned on by a link of its owner, and /administration stays unknown', async () => {
    const running = await gateway();
    expect((await sign(running, await linkOf(running))).status).toBe(201);
    expect((await call(running, '/administration')).status).toBe(404);
  });
});

describe('P36: a page of another origin', () => {
  it.each([
    ['DNS rebinding', { host: 'evil.example' }],
    ['fetch', { origin: 'https://evil.example' }],
    ['a sandboxed frame', { origin: 'null' }],
    ['another port of this host', { origin: 'http://127.0.0.1:1' }],
    ['an image', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' }],
    ['a page on another port', { 'sec-fetch-site': 'same-site' }],
    ['a frame', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' }],
    [
      'a WebSocket',
      {
        origin: 'https://evil.example',
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      },
    ],
  ])('gets nothing with a valid cookie: %s', async (_, headers: Record<string, string>) => {
    const running = await gateway(ON);
    const { cookie } = await openBrowser(running);
    for (const path of [`${API}/accounts`, `${API}/events`, '/admin/session', '/admin/']) {
      const answer = await withHeaders(running, path, { cookie, ...headers });
      expect(answer.status).toBe(403);
      expect(answer.headers['access-control-allow-origin']).toBeUndefined();
      expect(answer.text).not.toContain('csrf');
    }
  });

  it('can open the page, which holds no data, but nothing else', async () => {
    const running = await gateway(ON);
    const headers = {
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-dest': 'document',
    };
    expect((await withHeaders(running, '/admin/', headers)).status).toBe(200);
    expect((await withHeaders(running, `${API}/accounts`, headers)).status).toBe(403);
  });

  it('gets no answer to a preflight, and no form is taken', async () => {
    const running = await gateway(ON);
    const { cookie } = await openBrowser(running);
    const preflight = await withHeaders(
      running,
      `${API}/keys`,
      { origin: 'https://evil.example' },
      'OPTIONS',
    );
    expect(preflight.status).toBe(403);
    const form = { cookie, origin: running.url, 'content-type': 'text/plain' };
    const sent = await call(running, '/admin/session', {
      method: 'POST',
      body: '{"link":"x"}',
      headers: form,
    });
    expect(sent.status).toBe(415);
  });

  it('cannot frame, sniff or read the page', async () => {
    const { headers } = await call(await gateway(ON), '/admin/');
    expect(headers.get('content-security-policy')).toMatch(/default-src 'none';.*frame-ancestors 'none'/);
    expect(headers.get('content-security-policy')).not.toContain('unsafe');
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
    expect(headers.get('cross-origin-opener-policy')).toBe('same-origin');
  });
});

describe('P36: a link', () => {
  it('opens one session, once', async () => {
    const running = await gateway(ON);
    const link = await linkOf(running);
    expect((await sign(running, link)).status).toBe(201);
    expect((await sign(running, link)).status).toBe(401);
  });

  it('is valid for 60 seconds', async () => {
    const clock = manualClock();
    const running = await gateway({ ...ON, clock });
    const [late, timely] = [await linkOf(running), await linkOf(running)];
    clock.advance(59_999);
    expect((await sign(running, timely)).status).toBe(201);
    clock.advance(1);
    expect((await sign(running, late)).status).toBe(401);
  });

  it('is in a fragment, and no GET uses it up: neither a scanner nor a prefetch', async () => {
    const running = await gateway(ON);
    const url = await running.adminLink();
    expect(new URL(url).search).toBe('');
    for (const method of ['GET', 'HEAD']) await fetch(url, { method });
    const link = new URL(url).hash.replace('#link=', '');
    await call(running, '/admin/session');
    expect((await sign(running, link)).status).toBe(201);
  });
});

describe('a session', () => {
  it('has a cookie that no script, no other site and no other path gets', async () => {
    const running = await gateway(ON);
    const { headers } = await sign(running, await linkOf(running));
    const port = new URL(running.url).port;
    expect(headers.get('set-cookie')).toMatch(
      new RegExp(`^gateway_admin_${port}=\\S+; Path=/admin; HttpOnly; SameSite=Strict$`),
    );
  });

  it('of one gateway and that of another on the same host do not replace each other', async () => {
    const [one, other] = [await gateway(ON), await gateway(ON)];
    const browsers = [await openBrowser(one), await openBrowser(other)];
    // A browser sends the cookies of all ports of a host.
    const cookie = browsers.map((browser) => browser.cookie).join('; ');
    for (const running of [one, other]) {
      const { status, json } = await call(running, '/admin/session', { headers: { cookie } });
      expect(status).toBe(200);
      expect(browsers.map(({ csrf }) => csrf)).toContain(json['csrf']);
    }
  });

  it('has a cookie for TLS alone behind a proxy that the configuration names, and by the word of no other', async () => {
    const config = { admin: true, listen: { hosts: ['127.0.0.1'], port: 0, names: ['gw.example.com'] } };
    const running = await gateway({ config });
    const from = async (headers: Record<string, string>): Promise<unknown> => {
      const link = await linkOf(running);
      const client = await rawClient(running.url);
      const body = JSON.stringify({ link });
      const lines = Object.entries({
        ...headers,
        'content-type': 'application/json',
        'content-length': body.length,
      });
      const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
      client.send(`POST /admin/session HTTP/1.1\r\n${head}\r\n${body}`);
      return /set-cookie: .*/i.exec(await client.until(/\}$/))?.[0].includes('; Secure');
    };
    expect(await from({ host: 'gw.example.com', 'x-forwarded-proto': 'https' })).toBe(true);
    expect(await from({ host: 'gw.example.com', origin: 'https://gw.example.com' })).toBe(true);
    expect(await from({ host: 'gw.example.com' })).toBe(false);
    expect(await from({ host: 'localhost', 'x-forwarded-proto': 'https' })).toBe(false);
  });

  it('ends after 12 hours without use, or when it is closed', async () => {
    const clock = manualClock();
    const running = await gateway({ ...ON, clock });
    const browser = await openBrowser(running);
    clock.sleep(11 * 3_600_000);
    expect((await browser.call('/accounts')).status).toBe(200);
    clock.sleep(11 * 3_600_000);
    expect((await browser.call('/accounts')).status).toBe(200);
    clock.sleep(12 * 3_600_000);
    expect((await browser.call('/accounts')).status).toBe(401);
    const other = await openBrowser(running);
    const headers = { 'x-gateway-csrf': other.csrf };
    expect((await other.call('/admin/session', { method: 'DELETE', headers })).status).toBe(200);
    expect((await other.call('/accounts')).status).toBe(401);
  });

  it.each([
    ['without the header', {}],
    ['with a wrong one', { 'x-gateway-csrf': 'x' }],
    ['with an empty one', { 'x-gateway-csrf': '' }],
  ])('writes nothing %s', async (_, headers: Record<string, string>) => {
    const running = await gateway(ON);
    const browser = await openBrowser(running);
    const asked = { method: 'POST', body: { account: 'mallory' } };
    expect((await browser.call('/keys', { ...asked, headers })).json.code).toBe('csrf');
    expect(await running.store.findAccount('mallory')).toBeUndefined();
    const own = { 'x-gateway-csrf': browser.csrf };
    expect((await browser.call('/keys', { ...asked, headers: own })).status).toBe(201);
  });

  it("does not take another session's header", async () => {
    const running = await gateway(ON);
    const [one, other] = [await openBrowser(running), await openBrowser(running)];
    const headers = { 'x-gateway-csrf': other.csrf };
    expect((await one.call('/accounts/test', { method: 'DELETE', headers })).status).toBe(403);
  });
});

describe('a token', () => {
  it('of the scope read changes nothing', async () => {
    const running = await gateway(ON);
    const { plaintext: token } = await newToken(running, 'read');
    expect((await call(running, '/keys', { token })).status).toBe(200);
    const answer = await call(running, '/keys', { method: 'POST', token, body: { account: 'mallory' } });
    expect([answer.status, answer.json.code]).toEqual([403, 'read_only']);
    expect(await running.store.findAccount('mallory')).toBeUndefined();
  });

  it('is refused at once when it is revoked, and when it has expired', async () => {
    const running = await gateway(ON);
    const { id, plaintext: token } = await newToken(running);
    const { plaintext: old } = await newToken(running, 'write', 1);
    expect((await call(running, '/keys', { token })).status).toBe(200);
    await running.store.revokeAdminToken(id, 1);
    expect((await call(running, '/keys', { token })).status).toBe(401);
    expect((await call(running, '/keys', { token: old })).status).toBe(401);
  });

  it('is read from the header alone, not from a URL or a cookie, and is no key of a client', async () => {
    const running = await gateway(ON);
    const { plaintext: token } = await newToken(running);
    const inUrl = await call(running, `/keys?token=${token}`);
    expect([inUrl.status, inUrl.json.code]).toEqual([400, 'secret_in_url']);
    expect(inUrl.text).not.toContain(token);
    const name = `gateway_admin_${new URL(running.url).port}`;
    expect((await call(running, '/keys', { headers: { cookie: `${name}=${token}` } })).status).toBe(401);
    expect((await call(running, '/keys', { token: running.key })).status).toBe(401);
    expect((await call(running, '/keys', { headers: { 'x-api-key': token } })).status).toBe(401);
  });
});

describe('guessing', () => {
  it('is slowed down, and neither a request for a model nor a right token notices, also one that was never seen', async () => {
    const clock = manualClock();
    const running = await gateway({ ...ON, clock });
    const { plaintext: token } = await newToken(running);
    expect((await call(running, '/tiers', { token })).status).toBe(200);
    const guess = (at: number) => call(running, '/keys', { token: `sk-gwa-${String(at).padStart(43, '0')}` });
    const statuses: number[] = [];
    for (let at = 0; at < 300; at += 20)
      statuses.push(
        ...(await Promise.all(Array.from({ length: 20 }, (_, more) => guess(at + more)))).map(
          (a) => a.status,
        ),
      );
    expect(statuses.filter((status) => status === 401).length).toBeLessThan(40);
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(260);
    const refused = await guess(7);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await ask(running, { model: 'sim/echo' })).status).toBe(200);
    expect((await call(running, '/tiers', { token })).status).toBe(200);
    const { plaintext: neverSeen } = await newToken(running);
    expect((await call(running, '/tiers', { token: neverSeen })).status).toBe(200);
    expect((await sign(running, await linkOf(running))).status).toBe(201);
    clock.advance(60_000);
    expect((await guess(8)).status).toBe(401);
  });
});

it('slows down guesses of links and of sessions, and takes a link of the owner all the same', async () => {
  const running = await gateway({ ...ON, clock: manualClock() });
  const browser = await openBrowser(running);
  const name = `gateway_admin_${new URL(running.url).port}`;
  const statuses: number[] = [];
  for (let at = 0; at < 10; at += 1) {
    statuses.push((await sign(running, `sk-gwl-${String(at).padStart(43, '0')}`)).status);
    const headers = { cookie: `${name}=sk-gws-${String(at).padStart(43, '0')}` };
    statuses.push((await call(running, '/accounts', { headers })).status);
  }
  expect(statuses).toEqual([...Array<number>(10).fill(401), ...Array<number>(10).fill(429)]);
  expect((await browser.call('/accounts')).status).toBe(200);
  expect((await sign(running, await linkOf(running))).status).toBe(201);
});

describe('what is sent', () => {
  it.each([
    ['no JSON', '{', 400],
    ['not UTF-8', Buffer.from([0x22, 0xff, 0x22]).toString('latin1'), 400],
    ['an array', '[]', 400],
    ['null', 'null', 400],
    ['an unknown member', '{"account":"a","admin":true}', 400],
    ['a prototype', '{"account":"a","__proto__":{"tier":"pro"}}', 400],
    ['a name with control characters', '{"account":"a\\r\\nset-cookie: x=1"}', 400],
    ['a name without width', '{"account":"a\\u200bb"}', 400],
    ['a name that is too long', `{"account":"${'a'.repeat(129)}"}`, 400],
    ['deep nesting', '['.repeat(30_000), 400],
    ['too much', `{"account":"${'a'.repeat(70_000)}"}`, 413],
    ['an expiry in the past', '{"account":"a","expires_at":"2001-01-01T00:00:00Z"}', 400],
    ['an unknown tier', '{"account":"a","tier":"nope"}', 400],
  ])('is refused as a problem: %s', async (_, body, status) => {
    const running = await gateway(ON);
    const { plaintext: token } = await newToken(running);
    const answer = await call(running, '/keys', { method: 'POST', token, body });
    expect(answer.status).toBe(status);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    expect(answer.json).toMatchObject({ status, type: 'about:blank' });
    expect(await running.store.findAccount('a')).toBeUndefined();
  });

  it.each([
    ['GET', '/accounts?limit=0', 400],
    ['GET', '/accounts?limit=1&limit=2', 400],
    ['GET', '/accounts?nope=1', 400],
    ['GET', '/accounts?cursor=%00', 400],
    ['GET', '/usage?since=tomorrow', 400],
    ['GET', '/usage?account=nobody', 404],
    ['GET', '/nope', 404],
    ['DELETE', '/accounts/nobody', 404],
    ['DELETE', '/keys/key_none', 404],
    ['DELETE', '/accounts/%E0%A4%A', 400],
    ['PUT', '/accounts', 405],
    ['GET', '/../../health', 404],
  ])('%s %s is %d', async (method, path, status) => {
    const running = await gateway(ON);
    const { plaintext: token } = await newToken(running);
    const answer = await withHeaders(running, API + path, { authorization: `Bearer ${token}` }, method);
    expect(answer.status).toBe(status);
  });

  it('is read after the credential: a large body of a stranger is a 401', async () => {
    const running = await gateway(ON);
    const answer = await call(running, '/keys', { method: 'POST', body: 'a'.repeat(1_000_000), token: 'x' });
    expect(answer.status).toBe(401);
  });
});

describe('an answer', () => {
  it('holds no secret in the log, in the audit, in a tag', async () => {
    const running = await gateway(ON);
    const { id, plaintext: token } = await newToken(running);
    const link = await linkOf(running);
    const session = await sign(running, link);
    const cookie = /=([^;]+)/.exec(session.headers.get('set-cookie') ?? '')?.[1] ?? '';
    const created = await call(running, '/keys', {
      method: 'POST',
      token,
      body: { account: 'bob', name: `${running.key}` },
    });
    await call(running, `/keys/${token}`, { method: 'DELETE', token });
    await sign(running, link);
    const key = String(created.json['key']);
    const audit = await call(running, '/audit', { token });
    expect(audit.json.data?.[1]).toMatchObject({
      actor: id,
      operation: 'createKey',
      status: 201,
      address: '127.0.0.1',
    });
    expect(audit.json.data?.[0]).toMatchObject({ operation: 'revokeKey', status: 404 });
    for (const secret of [token, link, cookie, key, running.key, String(session.json['csrf'])]) {
      expect(running.log()).not.toContain(secret);
      expect(audit.text).not.toContain(secret);
    }
    expect(created.headers.get('etag')).toBeNull();
    expect(created.headers.get('cache-control')).toBe('no-store');
  });

  it('is not sent again to who has it, and a tag opens nothing', async () => {
    const running = await gateway(ON);
    const { plaintext: token } = await newToken(running);
    const first = await call(running, '/accounts', { token });
    const headers = { 'if-none-match': first.headers.get('etag') ?? '' };
    const second = await call(running, '/accounts', { token, headers });
    expect([second.status, second.text]).toEqual([304, '']);
    expect((await call(running, '/accounts', { headers })).status).toBe(401);
    await running.newKey({ account: 'new' });
    expect((await call(running, '/accounts', { token, headers })).status).toBe(200);
    const other = await gateway(ON);
    const { plaintext } = await newToken(other);
    expect((await call(other, '/tiers', { token: plaintext })).headers.get('etag')).toMatch(/^"[\w-]{27}"$/);
  });
});

it('pages through a list without a gap, also if an item of the page before is gone', async () => {
  const running = await gateway(ON);
  const { plaintext: token } = await newToken(running);
  for (const account of ['a', 'b', 'c', 'd']) await running.newKey({ account });
  const first = await call(running, '/accounts?limit=2', { token });
  await running.store.removeAccount('a');
  const second = await call(running, `/accounts?limit=2&cursor=${String(first.json['next'])}`, { token });
  const third = await call(running, `/accounts?limit=2&cursor=${String(second.json['next'])}`, { token });
  const names = [first, second, third].map(({ json }) => json.data?.map(({ account }) => account));
  expect(names).toEqual([['test', 'a'], ['b', 'c'], ['d']]);
  expect(third.json['next']).toBeNull();
});

it('pages through requests that ended in the same millisecond', async () => {
  const running = await gateway(ON);
  const { plaintext: token } = await newToken(running);
  const now = Date.now();
  const rows = [1, 1, 1, 2, 2].map((at, number) =>
    usageRow({ at: now - 1000 - at, requestId: `req_${number}` }),
  );
  await running.store.recordUsage(rows);
  const seen: unknown[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const more = cursor === '' ? '' : `&cursor=${cursor}`;
    const { json } = await call(running, `/requests?limit=1${more}`, { token });
    seen.push(...(json.data ?? []).map(({ id }) => id));
    cursor = json['next'] as string | null;
  }
  expect(seen).toHaveLength(5);
  expect(new Set(seen).size).toBe(5);
});
