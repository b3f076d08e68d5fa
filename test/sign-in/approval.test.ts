// Approval through the admin API and its page: who may, what a link does, and the attacks of RFC 8628, section 5.
import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { describe, expect, it } from 'vitest';
import { gateway, type TestGateway } from '../helpers/gateway.ts';
import { call, newToken, openBrowser } from '../admin/support.ts';
import { askForCode, poll, post, refresh, signedIn } from './support.ts';

const ON = { config: { sign_in: 'on', admin: true } };
const FOREIGN: readonly Record<string, string>[] = [
  { origin: 'https://evil.example' },
  { 'sec-fetch-site': 'cross-site' },
];
const PATHS = ['/oauth/device_authorization', '/oauth/token', '/oauth/revoke'];

describe('the owner', () => {
  it('sees the codes that wait, and approves one for an account', async () => {
    const gw = await gateway(ON);
    const browser = await openBrowser(gw);
    const code = await askForCode(gw);
    const listed = await browser.call('/sign-ins');
    expect(listed.json.data).toEqual([
      {
        ...{
          code: code.user_code,
          user_agent: 'claude-code/2.1.332',
          address: '127.0.0.1',
        },
        created_at: expect.any(String) as string,
        expires_at: expect.any(String) as string,
      },
    ]);
    const body = { code: code.user_code, account: 'laptop', tier: 'pro' };
    const headers = { 'x-gateway-csrf': browser.csrf };
    const approved = await browser.call('/sign-ins/approve', {
      method: 'POST',
      body,
      headers,
    });
    expect([approved.status, approved.json]).toEqual([
      200,
      { account: 'laptop', tier: 'pro', expires_at: null },
    ]);
    expect((await poll(gw, code)).json['email']).toBe('laptop');
    expect((await browser.call('/sign-ins')).json.data).toEqual([]);
    const audit = await gw.store.listAudit(Number.MAX_SAFE_INTEGER, 9);
    expect(audit.find(({ action }) => action === 'approveSignIn')).toMatchObject({ status: 200 });
  });

  it('denies one', async () => {
    const gw = await gateway(ON);
    const { plaintext: token } = await newToken(gw);
    const code = await askForCode(gw);
    const denied = await call(gw, '/sign-ins/deny', {
      method: 'POST',
      token,
      body: { code: code.user_code },
    });
    expect([denied.status, denied.json['code']]).toEqual([200, code.user_code]);
    expect((await poll(gw, code)).json['error']).toBe('access_denied');
  });

  it('learns nothing but "unknown" of wrong codes, ten times; then each takes longer', async () => {
    const gw = await gateway(ON);
    const { plaintext: token } = await newToken(gw);
    const guess = async (code: string) =>
      call(gw, '/sign-ins/approve', {
        method: 'POST',
        token,
        body: { code, account: 'mallory' },
      });
    const statuses = [];
    for (let at = 0; at < 11; at += 1) statuses.push((await guess('BCDF-GHJK')).status);
    expect(statuses).toEqual([...Array<number>(10).fill(404), 429]);
    expect(await gw.store.findAccount('mallory')).toBeUndefined();
  });

  it('has no such operation while sign_in is off', async () => {
    const gw = await gateway({ config: { admin: true } });
    const { plaintext: token } = await newToken(gw);
    expect((await call(gw, '/sign-ins', { token })).json).toEqual({ data: [], next: null, on: false });
    const body = { code: 'BCDF-GHJK', account: 'laptop' };
    const asked = await call(gw, '/sign-ins/approve', { method: 'POST', token, body });
    expect([asked.status, asked.json.code]).toEqual([404, 'sign_in_off']);
  });
});

describe('P50: nobody but the owner', () => {
  it.each([
    ['without a session', {}],
    ['with the key of an account', { authorization: 'Bearer KEY' }],
    ['with a token that may only read', { authorization: 'Bearer READ' }],
    ['with a session, from a page of another origin', { cookie: 'COOKIE', origin: 'https://evil.example' }],
    ['with a session, from another port', { cookie: 'COOKIE', origin: 'http://127.0.0.1:1' }],
    ['with a session, without its second value', { cookie: 'COOKIE' }],
  ])('approves: %s', async (_name, headers) => {
    const gw = await gateway(ON);
    const { cookie } = await openBrowser(gw);
    const read = await newToken(gw, 'read');
    const code = await askForCode(gw);
    const filled = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [
        name,
        value.replace('KEY', gw.key).replace('READ', read.plaintext).replace('COOKIE', cookie),
      ]),
    );
    for (const act of ['approve', 'deny']) {
      const body = {
        code: code.user_code,
        ...(act === 'approve' && { account: 'mallory' }),
      };
      const refused = await call(gw, `/sign-ins/${act}`, {
        method: 'POST',
        body,
        headers: filled,
      });
      expect([401, 403]).toContain(refused.status);
    }
    expect((await poll(gw, code)).json['error']).toBe('authorization_pending');
  });

  it('approves by opening the link, with or without a session', async () => {
    const gw = await gateway(ON);
    const { cookie } = await openBrowser(gw);
    const code = await askForCode(gw);
    for (const headers of [{}, { cookie }] as Record<string, string>[]) {
      const page = await fetch(code.verification_uri_complete, { headers });
      expect(page.status).toBe(200);
      expect(page.headers.get('content-security-policy')).toMatch(
        /default-src 'none'.*frame-ancestors 'none'/,
      );
      expect(page.headers.get('x-frame-options')).toBe('DENY');
      expect(await page.text()).not.toContain(code.user_code);
    }
    expect((await poll(gw, code)).json['error']).toBe('authorization_pending');
  });

  it('learns by the page whether a code exists: it is the same file for all', async () => {
    const gw = await gateway({ config: { sign_in: 'on' } });
    const code = await askForCode(gw);
    const pages = [
      code.verification_uri_complete,
      `${gw.url}/device?user_code=BCDF-GHJK`,
      `${gw.url}/device?next=//evil`,
    ];
    const tags = await Promise.all(pages.map(async (url) => (await fetch(url)).headers.get('etag')));
    expect(new Set(tags).size).toBe(1);
  });
});

describe('every path of the sign-in', () => {
  it('refuses pages of another origin, which could ask for codes in the name of a visitor', async () => {
    const gw = await gateway(ON);
    for (const path of PATHS) {
      for (const headers of FOREIGN) {
        const refused = await post(gw, path, {}, headers);
        expect([refused.status, refused.headers.get('access-control-allow-origin')], path).toEqual([
          403,
          null,
        ]);
      }
    }
  });

  it('lets a link of another site open the page, and nothing else', async () => {
    const { url } = await gateway(ON);
    const link = {
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-dest': 'document',
    };
    expect(await statusOf(`${url}/device`, link)).toBe(200);
    const framed = { ...link, 'sec-fetch-dest': 'iframe' };
    expect(await statusOf(`${url}/device`, framed)).toBe(403);
    expect(
      (
        await fetch(`${url}/.well-known/oauth-authorization-server`, {
          headers: link,
        })
      ).status,
    ).toBe(403);
  });

  it('redirects nowhere, whatever parameters it gets', async () => {
    const gw = await gateway(ON);
    const form = {
      redirect_uri: 'https://evil.example',
      verification_uri: 'https://evil.example',
      client_id: 'x',
    };
    const code = await post(gw, '/oauth/device_authorization', form);
    expect(code.json['verification_uri']).toBe(`${gw.url}/device`);
    for (const path of ['/device?redirect_uri=https://evil.example', '/device?return_to=//evil.example'])
      expect((await fetch(gw.url + path, { redirect: 'manual' })).status).toBe(200);
  });

  it('is asked with forms alone, each parameter once, and says what is wrong', async () => {
    const gw = await gateway(ON);
    const json = await fetch(`${gw.url}/oauth/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    });
    expect(json.status).toBe(400);
    expect(await post(gw, '/oauth/token')).toMatchObject({
      status: 400,
      json: { error: 'unsupported_grant_type' },
    });
    const twice = 'grant_type=refresh_token&refresh_token=a&refresh_token=b';
    expect(await post(gw, '/oauth/token', twice)).toMatchObject({
      status: 400,
      json: { error: 'invalid_request' },
    });
    const password = { grant_type: 'password', username: 'a', password: 'b' };
    expect((await post(gw, '/oauth/token', password)).json['error']).toBe('unsupported_grant_type');
    expect((await post(gw, '/oauth/token', { grant_type: 'refresh_token' })).json['error']).toBe(
      'invalid_request',
    );
    const large = {
      grant_type: 'refresh_token',
      refresh_token: 'x'.repeat(20_000),
    };
    expect((await post(gw, '/oauth/token', large)).status).toBe(413);
    const got = await fetch(`${gw.url}/oauth/token`);
    expect([got.status, got.headers.get('allow')]).toEqual([405, 'POST']);
  });

  it('slows down who guesses codes and tokens, and nobody with right ones', async () => {
    const gw = await gateway(ON);
    const tokens = await signedIn(gw);
    const code = await askForCode(gw);
    const errors = [];
    for (let at = 0; at < 11; at += 1)
      errors.push((await poll(gw, { device_code: `sk-gwd-${at}` })).json['error']);
    expect(errors).toEqual([...Array<string>(10).fill('expired_token'), 'slow_down']);
    expect((await refresh(gw, 'sk-gwr-guess')).status).toBe(429);
    expect((await post(gw, '/oauth/revoke', { token: 'guess' })).status).toBe(429);
    expect((await poll(gw, code)).json['error']).toBe('authorization_pending');
    expect((await refresh(gw, tokens['refresh_token'])).status).toBe(200);
  });

  it('gives no more codes than may wait, and tells its client when to ask again', async () => {
    const gw = await gateway(ON);
    const statuses = [];
    for (let at = 0; at < 31; at += 1) statuses.push((await post(gw, '/oauth/device_authorization')).status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(30);
    const full = await post(gw, '/oauth/device_authorization');
    expect([full.status, full.json['error'], full.headers.get('retry-after')]).toEqual([
      429,
      'slow_down',
      '60',
    ]);
  });

  it('takes no user code for a device code, and no device code for a key', async () => {
    const gw = await gateway(ON);
    const code = await askForCode(gw);
    expect((await poll(gw, { device_code: code.user_code })).json['error']).toBe('expired_token');
    const models = await fetch(`${gw.url}/v1/models`, {
      headers: { 'x-api-key': code.device_code },
    });
    expect(models.status).toBe(401);
    const tokens = await signedIn(gw);
    const bearer = {
      authorization: `Bearer ${String(tokens['refresh_token'])}`,
    };
    expect((await fetch(`${gw.url}/v1/models`, { headers: bearer })).status).toBe(401);
  });

  it('writes no secret into the database, the audit or the log', async () => {
    const gw = await gateway(ON);
    const code = await askForCode(gw);
    const tokens = await signedIn(gw);
    await refresh(gw, tokens['refresh_token']);
    await poll(gw, code);
    const texts = [gw.log(), databaseText(gw)];
    const letters = code.user_code.replace('-', '');
    for (const secret of [
      code.device_code,
      tokens['access_token'],
      tokens['refresh_token'],
      code.user_code,
      letters,
    ])
      for (const text of texts) expect(text.includes(String(secret))).toBe(false);
  });
});

/** `fetch` sends headers of browsers by itself. */
function statusOf(url: string, headers: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    get(url, { headers }, (response) => resolve(response.resume().statusCode)).on('error', reject);
  });
}

function databaseText({ store }: TestGateway): string {
  const parts = [store.location, `${store.location}-wal`].map((file) =>
    readFileSync(file).toString('latin1'),
  );
  return parts.join('');
}
