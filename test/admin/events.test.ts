// The live event stream of the admin API: what it sends, and everything that ends it.
import { describe, expect, it, vi } from 'vitest';
import { ask } from '../helpers/ask.ts';
import { manualClock } from '../helpers/clock.ts';
import { gateway, rewrite, type TestGateway } from '../helpers/gateway.ts';
import { rawClient, rawRequest } from '../helpers/raw-client.ts';
import { API, call, newToken, openBrowser } from './support.ts';

const ON = { config: { admin: true } };
/** A credential is checked again after this time. */
const CHECK_MS = 5000;
const LONG = { timeout: 10_000, interval: 20 };

interface Stream {
  status: number;
  /** What has arrived so far. */
  text(): string;
  ended: Promise<void>;
}

async function openEvents({ url }: TestGateway, headers: Record<string, string>): Promise<Stream> {
  const response = await fetch(`${url}${API}/events`, { headers });
  let text = '';
  async function read(): Promise<void> {
    for await (const chunk of response.body ?? []) text += Buffer.from(chunk).toString();
  }
  return { status: response.status, text: () => text, ended: read() };
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

it('sends what runs and what has ended', async () => {
  const running = await gateway(ON);
  const { plaintext: token } = await newToken(running, 'read');
  const stream = await openEvents(running, bearer(token));
  await vi.waitFor(() => expect(stream.text()).toContain('event: now'), LONG);
  await ask(running, { model: 'sim/echo' });
  await vi.waitFor(
    () => expect(stream.text()).toMatch(/event: requests\ndata: \{"requests":\[\{"id":"req_/),
    LONG,
  );
});

describe('ends', () => {
  it('when its session is closed', async () => {
    const clock = manualClock();
    const running = await gateway({ ...ON, clock });
    const browser = await openBrowser(running);
    const stream = await openEvents(running, { cookie: browser.cookie });
    const headers = { 'x-gateway-csrf': browser.csrf };
    await browser.call('/admin/session', { method: 'DELETE', headers });
    clock.advance(CHECK_MS);
    await stream.ended;
    expect(stream.text()).toContain('retry:');
  });

  it('when its session was not used for 12 hours: an open stream is no use', async () => {
    const manual = manualClock();
    let ahead = 0;
    const clock = { ...manual, monotonic: () => manual.monotonic() + ahead };
    const running = await gateway({ ...ON, clock });
    const browser = await openBrowser(running);
    const stream = await openEvents(running, { cookie: browser.cookie });
    ahead = 12 * 3_600_000;
    manual.advance(CHECK_MS);
    await stream.ended;
    expect((await browser.call('/accounts')).status).toBe(401);
  });

  it('when its token is revoked', async () => {
    const clock = manualClock(Date.now());
    const running = await gateway({ ...ON, clock });
    const { id, plaintext } = await newToken(running, 'read');
    const stream = await openEvents(running, bearer(plaintext));
    await running.store.revokeAdminToken(id, clock.now());
    clock.advance(CHECK_MS);
    await stream.ended;
    expect(stream.status).toBe(200);
  });

  it('when its token expires', async () => {
    const clock = manualClock(Date.now());
    const running = await gateway({ ...ON, clock });
    const { plaintext } = await newToken(running, 'read', clock.now() + 1000);
    const stream = await openEvents(running, bearer(plaintext));
    clock.advance(CHECK_MS);
    await stream.ended;
    expect(stream.status).toBe(200);
  });

  it('when the file turns the API off, also after a link; the session does not come back with it', async () => {
    const clock = manualClock();
    const running = await gateway({ ...ON, clock });
    const browser = await openBrowser(running);
    const stream = await openEvents(running, { cookie: browser.cookie });
    rewrite(running, clock, { admin: false });
    await stream.ended;
    expect((await browser.call('/accounts')).status).toBe(404);
    rewrite(running, clock, { admin: true });
    await vi.waitFor(async () => {
      // The file is read again after the change in progress.
      clock.advance(1000);
      expect((await browser.call('/accounts')).status).toBe(401);
    }, LONG);
  });

  it('when the gateway stops', async () => {
    const running = await gateway(ON);
    const { plaintext: token } = await newToken(running, 'read');
    const stream = await openEvents(running, bearer(token));
    const stopped = running.stop();
    await stream.ended;
    await stopped;
  });

  it('when the gateway retires, which still answers on open connections and says that they end', async () => {
    const running = await gateway(ON);
    const { plaintext: key } = await newToken(running, 'read');
    const asked = (path: string, ...headers: string[]): string =>
      rawRequest({ key, path: API + path, method: 'GET' }, '', headers);
    const [first, second, stream] = await Promise.all([1, 2, 3].map(() => rawClient(running.url)));
    if (first === undefined || second === undefined || stream === undefined) throw new Error('never');
    for (const client of [first, second]) {
      client.send(asked('/tiers'));
      await client.until('"data"');
    }
    stream.send(asked('/events', 'connection: close'));
    await stream.until('event: now');
    const retired = running.stop('retire');
    await stream.closed;
    first.send(asked('/tiers'));
    expect(await first.closed).toMatch(/200 OK[^]*200 OK[^]*connection: close[^]*"data"/);
    second.send(asked('/events'));
    expect(await second.closed).toMatch(/200 OK[^]*200 OK[^]*connection: close[^]*retry: 3000/);
    await retired;
  });
});

it('stays open through a change of the file that leaves the API on', async () => {
  const clock = manualClock();
  const running = await gateway({ ...ON, clock });
  const { plaintext: token } = await newToken(running, 'read');
  const stream = await openEvents(running, bearer(token));
  rewrite(running, clock, { admin: true, tiers: { enterprise: 7 } });
  await vi.waitFor(async () => {
    const { json } = await call(running, '/tiers', { token });
    expect(json.data).toContainEqual(expect.objectContaining({ tier: 'enterprise', requests_per_hour: 7 }));
  }, LONG);
  await ask(running, { model: 'sim/echo' });
  await vi.waitFor(() => {
    clock.advance(1000);
    expect(stream.text()).toContain('event: requests');
  }, LONG);
});

it('is refused to a 17th subscriber, until one leaves', async () => {
  const running = await gateway(ON);
  const { plaintext: token } = await newToken(running, 'read');
  const leaving = new AbortController();
  const open = (signal?: AbortSignal) =>
    fetch(`${running.url}${API}/events`, { headers: bearer(token), ...(signal && { signal }) });
  await open(leaving.signal);
  for (let other = 1; other < 16; other += 1) await open();
  const refused = await open();
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
  leaving.abort();
  await vi.waitFor(async () => expect((await open()).status).toBe(200), LONG);
});
