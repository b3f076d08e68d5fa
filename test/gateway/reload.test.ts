// The configuration changes under a running server: nothing under way is lost, what is new holds for what comes next.
import { renameSync, writeFileSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { ask, isWhole, send } from '../helpers/ask.ts';
import { manualClock } from '../helpers/clock.ts';
import { gateway, provider, rewrite, type TestGateway } from '../helpers/gateway.ts';
import { gate, scriptedProvider } from '../helpers/scripted-provider.ts';
import { content, FINISH, START, TERMINAL, wholeOf } from './wire.ts';

const LONG = { timeout: 10_000, interval: 20 };

async function logged(server: TestGateway, mark: string, times = 1): Promise<void> {
  await vi.waitFor(() => expect(server.log().split(mark).length - 1).toBe(times), LONG);
}

const READ = 'the configuration was reloaded';
const IGNORED = 'the changed configuration is not used';

test('200 streams outlive a change by renaming, an invalid one and one in place', async () => {
  const [before, after] = [await scriptedProvider(), await scriptedProvider()];
  const at = (url: string, more: object = {}) => ({
    providers: { maker: provider(url, 'chat', ['m']) },
    tiers: { enterprise: 100_000 },
    ...more,
  });
  const clock = manualClock();
  const server = await gateway({ clock, config: at(before.url) });
  const more = gate();
  before.playAlways({
    steps: [
      START.chat + content('chat', 'first, '),
      more.opened,
      content('chat', 'second') + FINISH.chat + TERMINAL.chat,
    ],
  });
  after.playAlways({ body: wholeOf('chat', 'new') });
  const streams = await Promise.all(
    Array.from({ length: 200 }, () => send(server, { model: 'm', stream: true })),
  );

  // As editors write: another file takes the name.
  writeFileSync(`${server.file}.new`, server.text(at(after.url)));
  renameSync(`${server.file}.new`, server.file);
  clock.advance(1000);
  await logged(server, READ);
  expect(await ask(server, { model: 'm' })).toMatchObject({ status: 200, content: 'new' });

  // What is wrong is said, with its place, and changes nothing.
  rewrite(server, clock, at(after.url, { tiers: { free: 0 } }));
  await logged(server, IGNORED);
  expect(server.log()).toContain('tiers.free');
  expect(await ask(server, { model: 'm' })).toMatchObject({ status: 200, content: 'new' });

  rewrite(server, clock, at(after.url, { routes: { fast: ['maker/m'] } }));
  await logged(server, READ, 2);
  expect(await ask(server, { model: 'fast' })).toMatchObject({ status: 200, content: 'new' });

  more.open();
  const texts = await Promise.all(streams.map((stream) => stream.text()));
  for (const text of texts) {
    const frames = text.split('\n\n').map((data) => ({ event: '', data: data.replace('data: ', '') }));
    expect(text).toContain('second');
    expect(isWhole({ frames: frames.filter(({ data }) => data !== '') })).toBe(true);
  }
});

test('the log names what a running server cannot change, and the old value stays', async () => {
  const clock = manualClock();
  const server = await gateway({ clock });
  const limits = { header_timeout: '5s', request_timeout: '50s' };
  const listen = { hosts: ['127.0.0.1'], port: 1 };
  rewrite(server, clock, { listen, database: './other.db', limits });
  await logged(server, READ);
  for (const fixed of ['listen.port', 'database', 'limits.header_timeout', 'limits.request_timeout'])
    expect(server.log()).toContain(`${fixed} changes only with a restart`);
  expect((await ask(server, {})).status).toBe(200);
});

test('a provider that does not tell its models holds no later change back', async () => {
  const silent = await scriptedProvider();
  silent.playAlways({ steps: [gate().opened] });
  const clock = manualClock();
  const server = await gateway({ clock });
  const added = { ...provider(silent.url, 'chat', []), models: undefined };
  rewrite(server, clock, { providers: { sim: {}, added } });
  await silent.next();
  rewrite(server, clock, { providers: { sim: {} }, routes: { fast: ['sim/echo'] } });
  await vi.waitFor(async () => {
    // The file is read again after the change in progress.
    clock.advance(1000);
    expect((await ask(server, { model: 'fast' })).status).toBe(200);
  }, LONG);
});

test('maintenance and limits take effect at once', async () => {
  const clock = manualClock();
  const server = await gateway({ clock });
  rewrite(server, clock, { maintenance: true });
  await logged(server, READ);
  for (const protocol of ['chat', 'messages'] as const) {
    const refused = await ask(server, { protocol });
    expect(refused).toMatchObject({ status: 503, error: { type: 'overloaded_error' } });
    expect(refused.headers.get('retry-after')).toBe('60');
  }
  const health = await fetch(`${server.url}/health`);
  expect([health.status, health.headers.get('retry-after')]).toEqual([503, '60']);
  // Who has no key learns nothing of it.
  expect((await ask({ url: server.url, key: 'sk-gw-wrong' }, {})).status).toBe(401);
  rewrite(server, clock, { limits: { max_body: 10 } });
  await logged(server, READ, 2);
  expect((await ask(server, {})).status).toBe(413);
});
