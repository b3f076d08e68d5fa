// P17, P19, P20, P29 and P32: streams that break, targets that are tried, clients that leave or do not read, and long texts.
import { describe, expect, it, test } from 'vitest';
import { ask, isWhole, send } from '../helpers/ask.ts';
import { manualClock } from '../helpers/clock.ts';
import { gateway, provider } from '../helpers/gateway.ts';
import { hello, rawClient, rawRequest } from '../helpers/raw-client.ts';
import { CUT, gate, scriptedProvider } from '../helpers/scripted-provider.ts';
import type { ScriptedProvider } from '../helpers/scripted-provider.ts';
import { content, errorBody, FINISH, START, streamOf, wholeOf } from '../gateway/wire.ts';

const PROTOCOLS = ['chat', 'messages'] as const;

describe.each(PROTOCOLS)('P17: a %s provider that breaks after its finish and before its end', (speaks) => {
  it.each(PROTOCOLS)('is an error event to a %s client, after what had come', async (client) => {
    const upstream = await scriptedProvider();
    const server = await gateway({ config: { providers: { p: provider(upstream.url, speaks, ['m']) } } });
    upstream.play({ steps: [START[speaks], content(speaks, 'grüß 😀'), FINISH[speaks], CUT] });
    const answer = await ask(server, { protocol: client, model: 'm', stream: true });
    expect(answer).toMatchObject({ status: 200, content: 'grüß 😀', broken: true });
    expect(answer.error?.message).toBeTruthy();
    expect(isWhole(answer)).toBe(false);
  });
});

describe('P19: another target', () => {
  async function targets(count: number) {
    const upstreams: ScriptedProvider[] = [];
    for (let at = 0; at < count; at += 1) upstreams.push(await scriptedProvider());
    const providers = Object.fromEntries(
      upstreams.map(({ url }, at) => [`p${at}`, provider(url, 'chat', ['m'])]),
    );
    const routes = { r: upstreams.map((_, at) => `p${at}/m`) };
    const server = await gateway({ config: { providers, routes } });
    const asked = (): number[] => upstreams.map(({ requests }) => requests.length);
    return { upstreams, server, asked };
  }

  it('is not asked once a frame with content was written, nor for the client’s own mistake', async () => {
    const { upstreams, server, asked } = await targets(2);
    upstreams[0]?.play(
      { steps: [START.chat, content('chat', 'a'), CUT] },
      { status: 400, body: errorBody('chat', 'invalid_request_error') },
    );
    expect((await ask(server, { model: 'r', stream: true })).error).toBeDefined();
    expect((await ask(server, { model: 'r' })).status).toBe(400);
    expect(asked()).toEqual([2, 0]);
  });

  it('is asked after a stream that broke before content, and after three of them none', async () => {
    const { upstreams, server, asked } = await targets(4);
    for (const upstream of upstreams) upstream.playAlways({ steps: [START.chat, CUT] });
    const { status, headers } = await ask(server, { model: 'r', stream: true });
    expect([status, headers.get('x-gateway-attempts')]).toEqual([502, '3']);
    expect(asked()).toEqual([1, 1, 1, 0]);
  });
});

test.each([
  ['before the head', { steps: [gate().opened] }, true],
  ['before content', { steps: [START.chat, gate().opened] }, true],
  ['within a stream', { steps: [START.chat, content('chat', 'a'), gate().opened] }, true],
  [
    'within a whole answer',
    { headers: { 'content-type': 'application/json' }, steps: ['{', gate().opened] },
    false,
  ],
])('P20: a client that leaves %s stops its provider, and no timer is needed', async (_, script, stream) => {
  const upstream = await scriptedProvider();
  const clock = manualClock();
  const config = { providers: { p: provider(upstream.url, 'chat', ['m']) } };
  const server = await gateway({ config, clock });
  upstream.play(script);
  const leaving = new AbortController();
  const answer = send(server, { model: 'm', stream, signal: leaving.signal }).catch(() => undefined);
  const asked = await upstream.next();
  leaving.abort();
  await answer;
  expect(await asked.left).toBe(true);
});

test('P29: a client that reads nothing of its stream gives its place and its provider back', async () => {
  const upstream = await scriptedProvider();
  const clock = manualClock();
  const config = {
    providers: { p: provider(upstream.url, 'chat', ['m']) },
    limits: { max_concurrent: 1, write_timeout: '20s' },
  };
  const server = await gateway({ config, clock });
  const pieces = Array.from({ length: 16 }, () => content('chat', 'x'.repeat(1_000_000)));
  upstream.play({ steps: [START.chat, ...pieces, gate().opened] }, { body: wholeOf('chat', 'a') });
  const client = await rawClient(server.url);
  client.socket.pause();
  client.send(rawRequest(server, hello('m', { stream: true })));
  const { left } = await upstream.next();
  expect((await ask(server, { model: 'm' })).status).toBe(503);
  let over = false;
  void left.then(() => (over = true));
  await expect.poll(() => (clock.advance(21_000), over), { timeout: 15_000 }).toBe(true);
  await expect.poll(async () => (await ask(server, { model: 'm' })).status, { timeout: 15_000 }).toBe(200);
});

test('P32: a provider’s refusal with a million brackets costs little more than one with ten thousand', async () => {
  const upstream = await scriptedProvider();
  const server = await gateway({ config: { providers: { p: provider(upstream.url, 'chat', ['m']) } } });
  const cost = async (count: number): Promise<number> => {
    const text = '['.repeat(count);
    const error = { message: text, type: 'invalid_request_error', param: text, code: text };
    upstream.play({ status: 400, body: { error } });
    const before = process.cpuUsage();
    expect((await ask(server, { model: 'm' })).status).toBe(400);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  };
  await cost(10_000);
  // Quadratic, it would be ten thousand times as much.
  const small = Math.max(5, await cost(10_000));
  expect(await cost(1_000_000)).toBeLessThan(small * 400);
  upstream.play({ steps: [streamOf('chat', 'a')] });
  expect((await ask(server, { model: 'm', stream: true })).content).toBe('a');
});

test('P3, P32: a provider that lists 150,000 models makes a misspelt one no stall, and the log says what is kept', async () => {
  const upstream = await scriptedProvider();
  const data = Array.from({ length: 150_000 }, (_, at) => ({ id: `model-${at}` }));
  upstream.playAlways({ body: { object: 'list', data } });
  const providers = { many: { base_url: upstream.url, protocol: 'chat', api_key: 'k' } };
  const server = await gateway({ config: { providers } });
  const listed = async (): Promise<number> => {
    const headers = { authorization: `Bearer ${server.key}` };
    const answer = await fetch(`${server.url}/v1/models`, { headers });
    return ((await answer.json()) as { data: unknown[] }).data.length;
  };
  await expect.poll(listed, { timeout: 15_000 }).toBeGreaterThan(1000);
  expect(await listed()).toBeLessThan(5000);
  expect(server.log()).toContain('a provider lists more models than are kept');
  const before = process.cpuUsage();
  const { status, error } = await ask(server, { model: 'many2/modle-17' });
  // With all 150,000 it was seconds.
  expect(process.cpuUsage(before).user / 1000).toBeLessThan(1000);
  expect([status, error?.message]).toEqual([400, expect.stringContaining('`many/model-17`')]);
  // What is not in the list is asked for all the same.
  upstream.playAlways({ body: wholeOf('chat', 'a') });
  expect((await ask(server, { model: 'many/model-149999' })).content).toBe('a');
});
