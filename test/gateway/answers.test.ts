// What stands around an answer, of every pair of protocols: its headers, its log line, and the limits of what is read for it.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ProtocolName } from '../../src/canonical/request.ts';
import { ask, isWhole, type Seen } from '../helpers/ask.ts';
import { PROVIDER_KEY, provider, startGateway, type TestGateway } from '../helpers/gateway.ts';
import { startScriptedProvider, type Script, type ScriptedProvider } from '../helpers/scripted-provider.ts';
import { content, errorEvent, FINISH, START, streamOf, TERMINAL, wholeOf } from './wire.ts';

const BOTH: readonly ProtocolName[] = ['chat', 'messages'];
const PAIRS = BOTH.flatMap((client) => BOTH.map((speaks) => [client, speaks] as const));
const UPSTREAM_HEADERS = {
  'cache-control': 'public, max-age=60',
  'x-request-id': 'upstream-1',
  'request-id': 'upstream-1',
};

let upstream: ScriptedProvider;
let gateway: TestGateway;

beforeAll(async () => {
  upstream = await startScriptedProvider();
  gateway = await startGateway({
    config: {
      providers: {
        chat: provider(`${upstream.url}/v1`, 'chat', ['m']),
        messages: provider(`${upstream.url}/v1`, 'messages', ['m']),
      },
      limits: { max_reply: '64KiB' },
      tiers: { enterprise: 100_000 },
    },
  });
});
afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

function see(client: ProtocolName, speaks: ProtocolName, stream: boolean, script: Script): Promise<Seen> {
  upstream.play(script);
  const headers = { 'accept-encoding': 'gzip, deflate, br' };
  return ask(gateway, { protocol: client, model: `${speaks}/m`, stream, headers });
}

type Line = Record<string, unknown>;

/** The log's line of a request. */
async function lineOf({ headers }: Seen): Promise<Line> {
  const id = headers.get('x-request-id');
  const find = (): Line | undefined =>
    gateway
      .log()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Line)
      .find(({ request, msg }) => request === id && (msg === 'answered' || msg === 'failed'));
  await expect.poll(find).toBeDefined();
  return find() ?? {};
}

const long = (speaks: ProtocolName): string => content(speaks, 'x'.repeat(1000)).repeat(70);

describe.each(PAIRS)('a %s client of a provider that speaks %s', (client, speaks) => {
  it('gets a stream that nobody keeps, holds back or compresses', async () => {
    const seen = await see(client, speaks, true, {
      headers: UPSTREAM_HEADERS,
      steps: [streamOf(speaks, 'hi')],
    });
    const { headers } = seen;
    expect(isWhole(seen)).toBe(true);
    expect(headers.get('content-type')).toMatch(/^text\/event-stream\b/);
    expect(headers.get('cache-control')).toBe('no-cache');
    expect(headers.get('x-accel-buffering')).toBe('no');
    expect(headers.get('content-encoding')).toBeNull();
  });

  it.each([false, true])('gets an id of the gateway, by both names (stream: %s)', async (stream) => {
    const good = stream ? { steps: [streamOf(speaks, 'hi')] } : { body: wholeOf(speaks, 'hi') };
    const bad = { status: 400, body: { error: { message: 'no', type: 'invalid_request_error' } } };
    for (const script of [good, bad]) {
      const seen = await see(client, speaks, stream, { ...script, headers: UPSTREAM_HEADERS });
      expect(seen.headers.get('x-request-id')).toMatch(/^req_/);
      expect(seen.headers.get('request-id')).toBe(seen.headers.get('x-request-id'));
      expect((await lineOf(seen)).upstream_id).toBe(script === good ? 'upstream-1' : undefined);
    }
  });

  it("leaves the provider's key out of the log, if its request id holds it", async () => {
    const headers = { 'x-request-id': `id/${PROVIDER_KEY}/10.1.2.3` };
    const seen = await see(client, speaks, false, { headers, body: wholeOf(speaks, 'hi') });
    expect((await lineOf(seen)).upstream_id).toBe('id/[redacted]/[address]');
  });

  it.each([false, true])(
    'gets an answer whose id the log knows in both forms (stream: %s)',
    async (stream) => {
      const good = stream ? { steps: [streamOf(speaks, 'hi')] } : { body: wholeOf(speaks, 'hi') };
      const seen = await see(client, speaks, stream, good);
      const { reply_id: ours, upstream_reply_id: theirs } = await lineOf(seen);
      if (client === speaks) {
        expect([ours, theirs]).toEqual([undefined, undefined]);
        return;
      }
      expect(ours).toMatch(client === 'chat' ? /^chatcmpl-/ : /^msg_/);
      expect(seen.text).toContain(`"id":"${String(ours)}"`);
      expect(theirs).toBe(speaks === 'chat' ? 'chatcmpl-1' : 'msg_1');
    },
  );

  it('gets a refusal in full, but without a secret in any of its members', async () => {
    const error = {
      message: `a ${PROVIDER_KEY} b`,
      type: 'invalid_request_error',
      param: `p.${PROVIDER_KEY}`,
    };
    const more = { code: `c-${PROVIDER_KEY}`, details: { why: `d ${PROVIDER_KEY}` } };
    const seen = await see(client, speaks, false, { status: 400, body: { error: { ...error, ...more } } });
    expect(seen.status).toBe(400);
    expect(seen.error).toMatchObject({ message: 'a [redacted] b', details: { why: 'd [redacted]' } });
    if (client === 'chat') expect(seen.error).toMatchObject({ param: 'p.[redacted]', code: 'c-[redacted]' });
    expect(seen.text).not.toContain(PROVIDER_KEY);
  });

  it.each([
    ['that is long', { long: 'x'.repeat(5000), why: PROVIDER_KEY }, { why: '[redacted]' }],
    ['that quotes an address', { why: 'http://10.0.0.1/a\\"b' }, { why: '[address]"b' }],
    ['that is longer than any', { long: 'x'.repeat(50_000) }, undefined],
  ])('gets the details of a refusal %s', async (_, details, expected) => {
    const error = { message: 'no', type: 'invalid_request_error', details };
    const seen = await see(client, speaks, false, { status: 400, body: { error } });
    expect([seen.status, seen.error?.message]).toEqual([400, 'no']);
    const told = (seen.error as { details?: object } | undefined)?.details;
    if (expected === undefined) expect(told).toBeUndefined();
    else expect(told).toMatchObject(expected);
  });

  it.each([
    ['a list', [{ '@type': 'type.example/ErrorInfo', reason: PROVIDER_KEY }], [{ reason: '[redacted]' }]],
    ['a text', `why: ${PROVIDER_KEY}`, 'why: [redacted]'],
    ['nothing', [], undefined],
  ])('gets details that are %s', async (_, details, expected) => {
    const error = { message: 'no', type: 'invalid_request_error', details };
    const seen = await see(client, speaks, false, { status: 400, body: { error } });
    const told = (seen.error as { details?: unknown } | undefined)?.details;
    if (typeof expected === 'object') expect(told).toMatchObject(expected);
    else expect(told).toBe(expected);
  });

  it.each([false, true])('gets what a provider could not read as a call (stream: %s)', async (stream) => {
    const failed_generation = `{"name": "look", "key": "${PROVIDER_KEY}"}`;
    const error = {
      message: 'no call',
      type: 'invalid_request_error',
      code: 'tool_use_failed',
      failed_generation,
    };
    const seen = await see(
      client,
      speaks,
      stream,
      stream
        ? {
            steps: [
              START[speaks],
              content(speaks, 'hi'),
              `event: error\ndata: ${JSON.stringify({ error })}\n\n`,
            ],
          }
        : { status: 400, body: { error } },
    );
    expect(seen.error).toMatchObject({ failed_generation: '{"name": "look", "key": "[redacted]"}' });
  });

  it('gets an error in place of a folded stream that grows beyond the limit', async () => {
    const steps = [START[speaks], long(speaks), FINISH[speaks], TERMINAL[speaks]];
    const seen = await see(client, speaks, false, { steps });
    expect([seen.status, await lineOf(seen)]).toMatchObject([502, { status: 502 }]);
    const short = [START[speaks] + content(speaks, 'x'.repeat(1000)) + FINISH[speaks] + TERMINAL[speaks]];
    expect((await see(client, speaks, false, { steps: short })).status).toBe(200);
  });

  it('gets a stream of any length', async () => {
    const steps = [START[speaks], long(speaks), FINISH[speaks], TERMINAL[speaks]];
    const seen = await see(client, speaks, true, { steps });
    expect([seen.status, seen.content.length, isWhole(seen)]).toEqual([200, 70_000, true]);
  });

  it('gets an error event for a frame beyond the limit', async () => {
    const steps = [START[speaks] + content(speaks, 'hi'), content(speaks, 'x'.repeat(70_000))];
    const seen = await see(client, speaks, true, { steps });
    expect([seen.status, seen.content]).toEqual([200, 'hi']);
    expect(seen.error?.type).toBe(client === 'chat' ? 'upstream_error' : 'api_error');
    expect(await lineOf(seen)).toMatchObject({ msg: 'failed', status: 200, error: 'too_large' });
  });

  it('gets an error event for a failure in mid-stream, which the log calls failed although the status was sent', async () => {
    const steps = [START[speaks] + content(speaks, 'hi') + errorEvent(speaks, 'overloaded_error')];
    const seen = await see(client, speaks, true, { steps });
    expect([seen.status, seen.error?.type]).toEqual([200, 'overloaded_error']);
    expect(await lineOf(seen)).toMatchObject({ msg: 'failed', status: 200, error: 'overloaded' });
  });

  it('is refused in mid-stream by a finish, which is no failure', async () => {
    const filtered = FINISH[speaks]
      .replace('"finish_reason":"stop"', '"finish_reason":"content_filter"')
      .replace('"stop_reason":"end_turn"', '"stop_reason":"refusal"');
    const steps = [START[speaks] + content(speaks, 'hi') + filtered + TERMINAL[speaks]];
    const seen = await see(client, speaks, true, { steps });
    expect([seen.status, seen.error, isWhole(seen)]).toEqual([200, undefined, true]);
    expect(seen.text).toContain(client === 'chat' ? '"content_filter"' : '"stop_reason":"refusal"');
    expect(await lineOf(seen)).toMatchObject({ msg: 'answered', status: 200 });
  });

  it.each([false, true])(
    'has usage that is estimated marked as such in the log (stream: %s)',
    async (stream) => {
      const { usage: _told, ...untold } = wholeOf(speaks, 'hi') as { usage: unknown };
      const silent = streamOf(speaks, 'hi').replaceAll(/,"usage":\{[^}]*\}/g, '');
      const seen = await see(client, speaks, stream, stream ? { steps: [silent] } : { body: untold });
      expect(seen.status).toBe(200);
      const line = await lineOf(seen);
      if (client === 'messages' && speaks === 'chat') {
        expect(line).toMatchObject({ estimated: true, input: expect.any(Number) as unknown });
      } else {
        expect([line.estimated, line.input]).toEqual([undefined, undefined]);
      }
      const told = await lineOf(await see(client, speaks, false, { body: wholeOf(speaks, 'hi') }));
      expect([told.input, told.output, told.estimated]).toEqual([5, 2, undefined]);
    },
  );
});
