// Targets that said "not now", and a provider that dies under load and comes back: who pays, who waits, for how long.
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { ask, send } from '../helpers/ask.ts';
import { manualClock } from '../helpers/clock.ts';
import { gateway, provider } from '../helpers/gateway.ts';
import { gate, scriptedProvider } from '../helpers/scripted-provider.ts';
import { wholeOf } from './wire.ts';

function refusal(seconds?: number) {
  const headers: Record<string, string> = seconds === undefined ? {} : { 'retry-after': String(seconds) };
  return { status: 429, headers, body: { error: { message: 'slow down' } } };
}

/** A clock that tells when somebody begins to wait for so long. */
function watchedClock() {
  const clock = manualClock();
  const asked: number[] = [];
  let look = (): void => undefined;
  return {
    ...clock,
    now: () => clock.now(),
    after(ms: number, task: () => void) {
      asked.push(ms);
      look();
      return clock.after(ms, task);
    },
    async waitedFor(ms: number) {
      while (!asked.includes(ms)) await new Promise<void>((resolve) => (look = resolve));
    },
  };
}

async function twoProviders() {
  const [first, second] = [await scriptedProvider(), await scriptedProvider()];
  const clock = watchedClock();
  const server = await gateway({
    clock,
    config: {
      providers: {
        first: provider(first.url, 'chat', ['m']),
        second: provider(second.url, 'chat', ['m']),
      },
    },
  });
  return { first, second, clock, server };
}

test('where all targets cool for a short time, a request waits for the first of them', async () => {
  const { first, second, clock, server } = await twoProviders();
  first.play(refusal(7));
  second.play(refusal(4));
  const refused = await ask(server, { model: 'm' });
  expect(refused.status).toBe(503);
  expect(refused.headers.get('retry-after')).toBe('4');

  first.playAlways({ body: wholeOf('chat', 'first') });
  second.playAlways({ body: wholeOf('chat', 'second') });
  const waiting = ask(server, { model: 'm' });
  await clock.waitedFor(4000);
  expect(first.requests).toHaveLength(1);
  expect(second.requests).toHaveLength(1);
  clock.advance(4000);
  expect(await waiting).toMatchObject({ status: 200, content: 'second' });
  expect(first.requests).toHaveLength(1);
});

test('where they cool for long, the request is refused at once and not counted', async () => {
  const { first, second, server } = await twoProviders();
  first.play(refusal(25));
  second.play(refusal(40));
  expect((await ask(server, { model: 'm' })).status).toBe(503);
  const refused = await ask(server, { model: 'm' });
  expect(refused).toMatchObject({ status: 503, error: { code: 'service_unavailable' } });
  expect(refused.headers.get('retry-after')).toBe('25');
  expect(refused.headers.get('x-gateway-attempts')).toBe('0');
  expect(first.requests.length + second.requests.length).toBe(2);
});

test('a stream that waited for a target has its first keep-alive 10 s after the request, not after the contact', async () => {
  const { first, second, clock, server } = await twoProviders();
  first.play(refusal(7));
  second.play(refusal(9));
  expect((await ask(server, { model: 'm' })).status).toBe(503);

  const answering = gate();
  const frame = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'hi' } }] })}\n\n`;
  first.playAlways({ steps: [answering.opened, frame, 'data: [DONE]\n\n'] });
  const asking = send(server, { model: 'm', stream: true });
  await clock.waitedFor(7000);
  clock.advance(7000);
  await first.next();
  await first.next();
  let answered = false;
  void asking.then(() => (answered = true));
  clock.advance(2999);
  // Answered after everything that the server had to do before.
  await fetch(`${server.url}/health`);
  expect(answered).toBe(false);
  clock.advance(1);
  const response = await asking;
  const reader = response.body?.getReader();
  const read = await reader?.read();
  expect(Buffer.from(read?.value ?? '').toString()).toMatch(/^:/);
  answering.open();
  await reader?.cancel();
});

test('one that cools is spared while another is well, and first again afterwards', async () => {
  const { first, second, clock, server } = await twoProviders();
  first.play(refusal(5));
  first.playAlways({ body: wholeOf('chat', 'first') });
  second.playAlways({ body: wholeOf('chat', 'second') });
  const content = async (text: string): Promise<string> =>
    // Another conversation each time: one that was answered would stay where it was.
    (await ask(server, { model: 'm', body: { messages: [{ role: 'user', content: text }] } })).content;
  expect(await content('a')).toBe('second');
  expect(await content('b')).toBe('second');
  expect(first.requests).toHaveLength(1);
  clock.advance(5000);
  expect(await content('c')).toBe('first');
});

test.each([false, true])('a refusal whose body never ends is one after 5 s (stream: %s)', async (stream) => {
  const { first, second, clock, server } = await twoProviders();
  first.play({ status: 500, steps: ['{"error":', new Promise(() => undefined)] });
  second.playAlways({ status: 400, body: { error: { message: 'the second says no' } } });
  const asking = ask(server, { model: 'm', stream });
  await clock.waitedFor(5000);
  expect(second.requests).toHaveLength(0);
  clock.advance(5000);
  expect((await asking).text).toContain('the second says no');
  expect(await first.requests[0]?.left).toBe(true);
});

/** Answers each request with its own text, and may die and come back at the same port. */
async function mortal() {
  const answered: string[] = [];
  const held: ServerResponse[] = [];
  let holding = 0;
  const start = (): ReturnType<typeof createServer> =>
    createServer((request, response) => {
      let text = '';
      request.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      request.on('end', () => {
        if (holding > 0) {
          holding -= 1;
          held.push(response);
          return;
        }
        const [message] = (JSON.parse(text) as { messages: { content: string }[] }).messages;
        answered.push(message?.content ?? '');
        const body = JSON.stringify(wholeOf('chat', message?.content ?? ''));
        response.writeHead(200, { 'content-type': 'application/json' }).end(body);
      });
    });
  let server = start();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const kill = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  };
  onTestFinished(kill);
  return {
    url: `http://127.0.0.1:${port}`,
    answered,
    held,
    /** The next so many requests get no answer. */
    hold: (count: number) => void (holding = count),
    kill,
    async rise() {
      server = start();
      await once(server.listen(port, '127.0.0.1'), 'listening');
    },
  };
}

test('a provider that is killed under load costs few requests and loses none; it is used again when it is back', async () => {
  const [first, second] = [await mortal(), await mortal()];
  const clock = manualClock();
  const server = await gateway({
    clock,
    config: {
      providers: {
        first: provider(first.url, 'chat', ['m']),
        second: provider(second.url, 'chat', ['m']),
      },
      tiers: { enterprise: 100_000 },
    },
  });
  let sent = 0;
  async function one(): Promise<{ by: string | null; attempts: string | null }> {
    const text = `request ${(sent += 1)}`;
    const answer = await ask(server, { model: 'm', body: { messages: [{ role: 'user', content: text }] } });
    expect(answer).toMatchObject({ status: 200, content: text });
    return {
      by: answer.headers.get('x-gateway-provider'),
      attempts: answer.headers.get('x-gateway-attempts'),
    };
  }
  const many = (count: number) => Promise.all(Array.from({ length: count }, one));

  expect(new Set((await many(20)).map(({ by }) => by))).toEqual(new Set(['first']));

  const HELD = 10;
  first.hold(HELD);
  const underWay = many(HELD);
  while (first.held.length < HELD) await new Promise(setImmediate);
  await first.kill();
  // Their POSTs had no byte of an answer: the other one answers them.
  expect(new Set((await underWay).map(({ by }) => by))).toEqual(new Set(['second']));

  // The breaker is open, and its time stands still: nobody pays any more.
  const after = await many(60);
  expect(after).toEqual(Array.from({ length: 60 }, () => ({ by: 'second', attempts: '1' })));

  // A probe that fails costs one request some time, not its answer.
  clock.advance(1000);
  const probes = (await many(10)).filter(({ attempts }) => attempts !== '1');
  expect(probes.length).toBeLessThanOrEqual(1);

  await first.rise();
  clock.advance(30_000);
  await one();
  const again = await many(20);
  expect(new Set(again.map(({ by }) => by))).toEqual(new Set(['first']));

  // Each was answered once, by one of them.
  const answered = [...first.answered, ...second.answered];
  expect(answered).toHaveLength(sent);
  expect(new Set(answered).size).toBe(sent);
});

test.each([
  [59, null, '59000'],
  [1000, 'false', null],
  [86_400, 'false', null],
])('where all cool for %i s, the SDKs wait themselves only for a short time', async (seconds, retry, ms) => {
  const { first, second, server } = await twoProviders();
  first.play(refusal(seconds));
  second.play(refusal(seconds));
  for (const asked of ['contacted', 'cooling']) {
    const { status, headers } = await ask(server, { model: 'm' });
    const told = String(Math.min(seconds, 3600));
    expect([asked, status, headers.get('retry-after')]).toEqual([asked, 503, told]);
    expect([asked, headers.get('x-should-retry'), headers.get('retry-after-ms')]).toEqual([asked, retry, ms]);
  }
  expect(first.requests).toHaveLength(1);
});
