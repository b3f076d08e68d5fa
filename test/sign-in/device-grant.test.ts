// Sign-in by a code over HTTP: what each sentence of the contract asks, on a real gateway.
import { expect, describe, it } from 'vitest';
import { gateway, type TestGateway } from '../helpers/gateway.ts';
import { manualClock } from '../helpers/clock.ts';
import { askForCode, DEVICE_GRANT, LAPTOP, owner, poll, post, prompt, refresh, signedIn } from './support.ts';

const ON = { config: { sign_in: 'on' } };

const auditOf = async ({ store }: TestGateway) =>
  (await store.listAudit(Number.MAX_SAFE_INTEGER, 50)).map(({ action, status }) => `${action} ${status}`);

describe('discovery', () => {
  it('gives absolute URLs at the address that was asked, without an authorization endpoint', async () => {
    const { url } = await gateway(ON);
    const response = await fetch(`${url}/.well-known/oauth-authorization-server`);
    expect(response.status).toBe(200);
    const json = (await response.json()) as Record<string, unknown>;
    expect(json).toMatchObject({
      issuer: url,
      device_authorization_endpoint: `${url}/oauth/device_authorization`,
      token_endpoint: `${url}/oauth/token`,
      revocation_endpoint: `${url}/oauth/revoke`,
      grant_types_supported: [DEVICE_GRANT, 'refresh_token'],
    });
    expect(json).not.toHaveProperty('authorization_endpoint');
    const byName = await fetch(
      `${url.replace('127.0.0.1', 'localhost')}/.well-known/oauth-authorization-server`,
    );
    expect(((await byName.json()) as { issuer: string }).issuer).toBe(url.replace('127.0.0.1', 'localhost'));
  });

  it('is of no path while sign_in is off, and costs no other path anything', async () => {
    const off = await gateway();
    for (const path of ['/.well-known/oauth-authorization-server', '/device', '/managed/settings'])
      expect((await fetch(off.url + path)).status, path).toBe(404);
    for (const path of ['/oauth/device_authorization', '/oauth/token', '/oauth/revoke'])
      expect((await post(off, path)).status, path).toBe(404);
  });

  it('names the public URL of the file, whatever headers a proxy or an attacker sends', async () => {
    const behind = await gateway({ config: { sign_in: { url: 'https://gw.example.com/' } } });
    const headers = {
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'http',
      forwarded: 'host=evil.example',
    };
    const code = await askForCode(behind, headers);
    expect(code.verification_uri).toBe('https://gw.example.com/device');
    expect(code.verification_uri_complete).toBe(`https://gw.example.com/device?user_code=${code.user_code}`);
  });
});

describe('a code', () => {
  it('has 256 bits for the client, and eight letters of twenty for a person', async () => {
    const gw = await gateway(ON);
    const reply = await post(gw, '/oauth/device_authorization', { surface: 'claude_code', other: 'ignored' });
    expect(reply.status).toBe(200);
    expect(reply.headers.get('cache-control')).toBe('no-store');
    expect(reply.json).toMatchObject({ verification_uri: `${gw.url}/device`, expires_in: 600, interval: 5 });
    expect(reply.json['device_code']).toMatch(/^sk-gwd-[0-9A-Za-z]{43}$/);
    expect(reply.json['user_code']).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
    const notice = String(reply.json['login_notice']);
    expect(notice).toContain(`gateway approve ${String(reply.json['user_code'])}`);
    expect(notice.length).toBeLessThanOrEqual(500);
    expect((await post(gw, '/oauth/device_authorization')).status).toBe(200);
  });

  it('is listed for the owner with who asks, from where and when', async () => {
    const gw = await gateway(ON);
    const code = await askForCode(gw, { 'user-agent': `claude-code/2\tx${'y'.repeat(300)}` });
    const [waiting] = await owner(gw).waiting();
    expect(waiting).toMatchObject({ code: code.user_code, address: '127.0.0.1' });
    expect(waiting?.userAgent).toMatch(/^claude-code\/2 xy+$/);
    expect(waiting?.userAgent.length).toBeLessThanOrEqual(120);
    expect((waiting?.expiresAt ?? 0) - (waiting?.createdAt ?? 0)).toBe(600_000);
  });

  it('waits until the owner approves it; then its client gets a key, once', async () => {
    const clock = manualClock();
    const gw = await gateway({ ...ON, clock });
    const code = await askForCode(gw);
    expect(await poll(gw, code)).toMatchObject({ status: 400, json: { error: 'authorization_pending' } });
    await owner(gw, clock).approve(code.user_code.toLowerCase().replace('-', ' '), LAPTOP);
    clock.advance(5000);
    const tokens = await poll(gw, code);
    expect(tokens).toMatchObject({
      status: 200,
      json: { token_type: 'Bearer', expires_in: 3600, email: 'laptop' },
    });
    expect(tokens.headers.get('cache-control')).toBe('no-store');
    expect(tokens.json['access_token']).toMatch(/^sk-gw-[0-9A-Za-z]{43}$/);
    expect(tokens.json['refresh_token']).toMatch(/^sk-gwr-[0-9A-Za-z]{43}$/);
    expect((await prompt(gw, tokens.json['access_token'])).status).toBe(200);
    clock.advance(5000);
    expect(await poll(gw, code)).toMatchObject({ status: 400, json: { error: 'expired_token' } });
    const [key] = (await gw.store.listKeys('laptop')).filter(({ origin }) => origin !== null);
    expect(key).toMatchObject({ native: true, origin: 'claude-code/2.1.332 from 127.0.0.1', tier: 'pro' });
    expect(await auditOf(gw)).toEqual(['signIn 200']);
  });

  it('that the owner denied is access_denied', async () => {
    const gw = await gateway(ON);
    const code = await askForCode(gw);
    expect(await owner(gw).deny(code.user_code)).toMatchObject({ code: code.user_code });
    expect(await poll(gw, code)).toMatchObject({ status: 400, json: { error: 'access_denied' } });
  });

  it('that is unknown, used or expired is expired_token: nothing tells whether it exists', async () => {
    const clock = manualClock();
    const gw = await gateway({ ...ON, clock });
    const used = await askForCode(gw);
    await owner(gw, clock).approve(used.user_code, LAPTOP);
    expect((await poll(gw, used)).status).toBe(200);
    const old = await askForCode(gw);
    clock.advance(600_000);
    const bodies = [];
    for (const device_code of [used.device_code, old.device_code, 'sk-gwd-unknown', 'x'.repeat(5000)]) {
      const reply = await poll(gw, { device_code });
      expect(reply.status).toBe(400);
      bodies.push(JSON.stringify(reply.json));
    }
    expect(new Set(bodies).size).toBe(1);
    expect(bodies[0]).toContain('"error":"expired_token"');
    expect(await owner(gw, clock).approve(old.user_code, LAPTOP)).toBeUndefined();
  });

  it('that is polled too soon slows its client down', async () => {
    const clock = manualClock();
    const gw = await gateway({ ...ON, clock });
    const code = await askForCode(gw);
    const errors = [];
    for (const seconds of [0, 5, 1, 9, 5, 15]) {
      clock.advance(seconds * 1000);
      errors.push((await poll(gw, code)).json['error']);
    }
    const [PENDING, SLOW] = ['authorization_pending', 'slow_down'];
    expect(errors).toEqual([PENDING, PENDING, SLOW, PENDING, SLOW, PENDING]);
  });
});

describe('tokens', () => {
  it('are exchanged for new ones, and those of before live to their own end', async () => {
    const clock = manualClock();
    const gw = await gateway({ ...ON, clock });
    const first = await signedIn(gw, LAPTOP, clock);
    clock.advance(1_800_000);
    const second = await refresh(gw, first['refresh_token']);
    expect(second).toMatchObject({ status: 200, json: { expires_in: 3600, email: 'laptop' } });
    expect(second.json['access_token']).not.toBe(first['access_token']);
    expect((await prompt(gw, first['access_token'])).status).toBe(200);
    expect((await prompt(gw, second.json['access_token'])).status).toBe(200);
    clock.advance(1_800_000);
    const over = await prompt(gw, first['access_token']);
    expect([over.status, over.headers.get('x-should-retry')]).toEqual([401, 'false']);
    expect((await prompt(gw, second.json['access_token'])).status).toBe(200);
    expect((await gw.store.listKeys('laptop')).length).toBe(1);
  });

  it('that were exchanged already are refused and audited once, and the sign-in goes on', async () => {
    const gw = await gateway(ON);
    const first = await signedIn(gw);
    const both = await Promise.all([0, 1].map(() => refresh(gw, first['refresh_token'])));
    expect(both.map(({ status }) => status).sort()).toEqual([200, 401]);
    const next = both.find(({ status }) => status === 200)?.json ?? {};
    const again = await refresh(gw, first['refresh_token']);
    expect(again).toMatchObject({ status: 401, json: { error: 'invalid_grant' } });
    expect(await auditOf(gw)).toEqual(['spentRefreshToken 401', 'signIn 200']);
    expect((await prompt(gw, first['access_token'])).status).toBe(200);
    expect((await refresh(gw, next['refresh_token'])).status).toBe(200);
  });

  it('end with --expires, all of them', async () => {
    const clock = manualClock();
    const gw = await gateway({ ...ON, clock });
    const endsAt = clock.now() + 1_000_000;
    const first = await signedIn(gw, { ...LAPTOP, endsAt }, clock);
    expect(first['expires_in']).toBe(1000);
    clock.advance(1_000_000);
    expect((await prompt(gw, first['access_token'])).status).toBe(401);
    expect(await refresh(gw, first['refresh_token'])).toMatchObject({
      status: 401,
      json: { error: 'invalid_grant' },
    });
  });

  it('end at once when the key is revoked, or its account removed; a renamed account keeps them', async () => {
    const gw = await gateway(ON);
    const first = await signedIn(gw);
    await gw.store.renameAccount('laptop', 'desk');
    const renamed = await refresh(gw, first['refresh_token']);
    expect(renamed).toMatchObject({ status: 200, json: { email: 'desk' } });
    const [key] = await gw.store.listKeys('desk');
    await gw.store.revokeKey(key?.id ?? '', Date.now());
    for (const token of [first['access_token'], renamed.json['access_token']]) {
      const refused = await prompt(gw, token);
      expect([refused.status, refused.headers.get('x-should-retry')]).toEqual([401, 'false']);
    }
    expect((await refresh(gw, renamed.json['refresh_token'])).json['error']).toBe('invalid_grant');
    const other = await signedIn(gw, { ...LAPTOP, account: 'bob' });
    await gw.store.removeAccount('bob');
    expect((await prompt(gw, other['access_token'])).status).toBe(401);
  });
});

describe('sign-out', () => {
  it('ends the whole sign-in by the bearer alone, also by the one of before', async () => {
    const gw = await gateway(ON);
    const first = await signedIn(gw);
    const next = (await refresh(gw, first['refresh_token'])).json;
    expect(await post(gw, '/oauth/revoke', { token: String(first['access_token']) })).toMatchObject({
      status: 200,
    });
    expect((await prompt(gw, next['access_token'])).status).toBe(401);
    expect((await refresh(gw, next['refresh_token'])).status).toBe(401);
    const hint = { token: String(next['refresh_token']), token_type_hint: 'refresh_token' };
    expect((await post(gw, '/oauth/revoke', hint)).status).toBe(200);
    expect(await auditOf(gw)).toEqual(['signOut 200', 'signIn 200']);
  });

  it('never ends a key of keys create, nor another sign-in', async () => {
    const gw = await gateway(ON);
    const one = await signedIn(gw);
    const two = await signedIn(gw);
    expect((await post(gw, '/oauth/revoke', { token: gw.key })).status).toBe(200);
    expect((await prompt(gw, gw.key)).status).toBe(200);
    await post(gw, '/oauth/revoke', { token: String(one['refresh_token']) });
    expect((await prompt(gw, one['access_token'])).status).toBe(401);
    expect((await prompt(gw, two['access_token'])).status).toBe(200);
  });
});
