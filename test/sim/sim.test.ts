// The built-in provider as a gateway meets it: over HTTP, with plain requests.
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished, test } from 'vitest';
import type { Clock } from '../../src/clock.ts';
import { createIds } from '../../src/ids.ts';
import { SIM_MODELS } from '../../src/canonical/sim-models.ts';
import { startSim } from '../../src/sim/sim.ts';
import type { Sim } from '../../src/sim/sim.ts';
import { manualClock } from '../helpers/clock.ts';

const CHAT = '/v1/chat/completions';
const MESSAGES = '/v1/messages';

async function sim(clock?: Clock): Promise<Sim> {
  const started = await startSim({ clock, ids: createIds() });
  onTestFinished(() => started.close());
  return started;
}

function post({ url, key }: Sim, path: string, body: object | string): Promise<Response> {
  return fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': key, authorization: `Bearer ${key}` },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

const chat = (model: string, more: object = {}): object => ({
  model,
  messages: [{ role: 'user', content: 'hello there' }],
  ...more,
});
const messages = (model: string, more: object = {}): object => ({ max_tokens: 100, ...chat(model, more) });

describe('accepts requests from the gateway only', () => {
  it.each([
    ['no key', {}],
    ['another key', { authorization: 'Bearer sim-0123456789' }],
    ['another key by x-api-key', { 'x-api-key': 'x' }],
  ])('%s: 401, before the body is there', async (_how, headers) => {
    const started = await sim();
    for (const path of [CHAT, MESSAGES, '/v1/models', '/']) {
      const asked = httpRequest(started.url + path, { method: 'POST', headers });
      // The body has no end.
      asked.write('{');
      const [response] = (await once(asked, 'response')) as [IncomingMessage];
      expect([path, response.statusCode]).toEqual([path, 401]);
      asked.on('error', () => undefined).destroy();
    }
  });

  it('a foreign Host: 403, whatever the key', async () => {
    const { url, key } = await sim();
    const headers = { authorization: `Bearer ${key}`, host: 'evil.example' };
    const asked = httpRequest(`${url}/v1/models`, { headers }).end();
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    expect(response.statusCode).toBe(403);
    response.resume();
  });

  it('a body without end ends the connection', async () => {
    const { url, key } = await sim();
    const { host, port } = new URL(url);
    const socket = connect(Number(port), '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(`POST ${CHAT} HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${key}\r\n`);
    socket.write('transfer-encoding: chunked\r\n\r\n');
    const piece = Buffer.concat([
      Buffer.from('100000\r\n'),
      Buffer.alloc(0x100000, 'x'),
      Buffer.from('\r\n'),
    ]);
    let sent = 0;
    while (!socket.destroyed && sent < 256) {
      sent += 1;
      // Called with an error, too, once the connection is gone.
      await new Promise((resolve) => socket.write(piece, resolve));
    }
    expect(sent).toBeLessThan(256);
  });
});

test('several choices are refused, not answered with one', async () => {
  const started = await sim();
  const refused = await post(started, CHAT, chat('echo', { n: 2 }));
  expect(refused.status).toBe(400);
  expect(await refused.json()).toMatchObject({ error: { param: 'n' } });
  expect((await post(started, CHAT, chat('echo', { n: 1 }))).status).toBe(200);
});

describe('answers in the protocol that it is asked in', () => {
  test('chat', async () => {
    const response = await post(await sim(), CHAT, chat('echo'));
    expect(response.status).toBe(200);
    expect(response.headers.get('x-request-id')).toMatch(/^req_/);
    expect(await response.json()).toMatchObject({
      object: 'chat.completion',
      model: 'echo',
      choices: [{ index: 0, message: { role: 'assistant', content: 'hello there' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 3, completion_tokens: 3, total_tokens: 6 },
    });
  });

  test('messages', async () => {
    const response = await post(await sim(), MESSAGES, messages('echo', { stop_sequences: ['there'] }));
    expect(response.headers.get('request-id')).toMatch(/^req_/);
    expect(await response.json()).toMatchObject({
      type: 'message',
      role: 'assistant',
      model: 'echo',
      content: [{ type: 'text', text: 'hello ' }],
      stop_reason: 'stop_sequence',
      stop_sequence: 'there',
      usage: { input_tokens: 3, output_tokens: 2 },
    });
  });

  test('chat, streamed', async () => {
    const response = await post(await sim(), CHAT, chat('echo', { stream: true }));
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    const text = await response.text();
    expect(text).toContain('"content":"hello "');
    expect(text).toContain('"content":"there"');
    expect(text.trimEnd().endsWith('data: [DONE]')).toBe(true);
  });

  test('messages, streamed', async () => {
    const text = await (await post(await sim(), MESSAGES, messages('echo', { stream: true }))).text();
    const events = [...text.matchAll(/^event: (\w+)$/gm)]
      .map(([, name]) => name)
      .filter((name) => name !== 'ping');
    expect(events).toEqual([
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
  });

  test('count_tokens', async () => {
    const { model, messages } = chat('echo') as { model: string; messages: object[] };
    const response = await post(await sim(), `${MESSAGES}/count_tokens`, { model, messages });
    expect(await response.json()).toEqual({ input_tokens: 3 });
  });
});

describe('models', () => {
  it('lists them so that both protocols can read it', async () => {
    const { url, key } = await sim();
    const headers = { authorization: `Bearer ${key}` };
    const list = (await (await fetch(`${url}/v1/models`, { headers })).json()) as { data: { id: string }[] };
    expect(list).toMatchObject({
      object: 'list',
      has_more: false,
      first_id: 'echo',
      last_id: SIM_MODELS.at(-1),
    });
    expect(list.data.map(({ id }) => id)).toEqual(SIM_MODELS);
    const one = await (await fetch(`${url}/v1/models/echo`, { headers })).json();
    expect(one).toEqual(list.data[0]);
    expect((await fetch(`${url}/v1/models/nope`, { headers })).status).toBe(404);
  });
});

describe('refuses in the protocol that it is asked in', () => {
  const cases: [string, string, object | string, number, object][] = [
    ['an unknown model', CHAT, chat('nope'), 404, { error: { code: 'model_not_found' } }],
    ['an unknown model', MESSAGES, messages('nope'), 404, { type: 'error' }],
    ['an unknown model', `${MESSAGES}/count_tokens`, messages('nope'), 404, { type: 'error' }],
    ['what is not JSON', CHAT, '{', 400, { error: { type: 'invalid_request_error' } }],
    ['what is no object', MESSAGES, '[]', 400, { type: 'error', error: { type: 'invalid_request_error' } }],
    ['no messages', CHAT, { model: 'echo' }, 400, { error: { type: 'invalid_request_error' } }],
    [
      'a thread',
      MESSAGES,
      messages('echo', { thread: { type: 'create' } }),
      400,
      { error: { details: { error_code: 'thread_unsupported_request' } } },
    ],
    ['an unknown path', '/v1/nope', {}, 404, { error: { code: 'not_found' } }],
    ['the wrong method', '/v1/models', {}, 405, { error: { code: 'method_not_allowed' } }],
    ['always: error-500', CHAT, chat('error-500'), 500, { error: { type: 'api_error' } }],
    [
      'always: error-500',
      MESSAGES,
      messages('error-500'),
      500,
      { type: 'error', error: { type: 'api_error' } },
    ],
    ['always: error-429', MESSAGES, messages('error-429'), 429, { error: { type: 'rate_limit_error' } }],
  ];
  test.each(cases)('%s (%s)', async (_, path, body, status, expected) => {
    const response = await post(await sim(), path, body);
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject(expected);
    expect(response.headers.get('retry-after')).toBe(status === 429 ? '2' : null);
  });

  it('survives a path that is no URL', async () => {
    const { url, key } = await sim();
    const { port, hostname: host } = new URL(url);
    const headers = { authorization: `Bearer ${key}` };
    const request = httpRequest({ port, host, path: '//', method: 'GET', headers }).end();
    const [response] = (await once(request, 'response')) as [{ statusCode: number }];
    expect(response.statusCode).toBe(404);
  });
});

describe('slow', () => {
  it('gives ten words, 200 ms apart', async () => {
    const clock = manualClock();
    const response = await post(await sim(clock), CHAT, chat('slow', { stream: true }));
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    let text = '';
    const readUntil = async (mark: string): Promise<void> => {
      while (!text.includes(mark)) {
        const { value, done } = await reader.read();
        if (done) throw new Error(`ended without ${mark}: ${text}`);
        text += Buffer.from(value).toString();
      }
    };
    await readUntil('one ');
    for (const word of ['two ', 'three ', 'four ', 'five ', 'six ', 'seven ', 'eight ', 'nine ', 'ten']) {
      expect(text).not.toContain(`"${word}"`);
      clock.advance(200);
      await readUntil(`"content":"${word}"`);
    }
    await readUntil('[DONE]');
  });

  it('stops where the client leaves', async () => {
    const clock = manualClock();
    const leaving = new AbortController();
    const { url, key } = await sim(clock);
    const response = await fetch(url + CHAT, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify(chat('slow', { stream: true })),
      signal: leaving.signal,
    });
    expect(response.status).toBe(200);
    while (clock.waiting === 0) await new Promise(setImmediate);
    leaving.abort();
    while (clock.waiting > 0) await new Promise(setImmediate);
  });
});

describe('failures of the connection', () => {
  it.each([CHAT, MESSAGES])('cut breaks a stream after the third piece (%s)', async (path) => {
    const response = await post(await sim(), path, messages('cut', { stream: true }));
    let text = '';
    const read = async (): Promise<void> => {
      for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
        text += Buffer.from(chunk).toString();
      }
    };
    await expect(read()).rejects.toThrow();
    expect(text).toContain('three ');
    expect(text).not.toMatch(/four|DONE|message_stop|finish_reason":"/);
  });

  it('cut breaks a stream that would be shorter too', async () => {
    const response = await post(await sim(), CHAT, chat('cut', { stream: true, max_tokens: 1 }));
    await expect(response.text()).rejects.toThrow();
  });

  it.each([CHAT, MESSAGES])('cut breaks a whole answer (%s)', async (path) => {
    const response = await post(await sim(), path, messages('cut'));
    await expect(response.text()).rejects.toThrow();
  });

  it('timeout holds the request until the client leaves', async () => {
    const { url, key } = await sim();
    const answer = fetch(url + CHAT, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify(chat('timeout')),
      signal: AbortSignal.timeout(50),
    });
    await expect(answer).rejects.toThrow();
  });
});

describe('standing in for a model', () => {
  it('says so in its first line, in each protocol and in streams, though it is in no list', async () => {
    expect(SIM_MODELS).not.toContain('stand-in');
    const server = await sim();
    const bodies: [string, object][] = [
      [CHAT, chat('stand-in')],
      [CHAT, chat('stand-in', { stream: true })],
      [MESSAGES, messages('stand-in')],
      ['/v1/responses', { model: 'stand-in', input: 'hello there' }],
    ];
    for (const [path, body] of bodies) {
      const response = await post(server, path, body);
      expect(response.status).toBe(200);
      const text = await response.text();
      // Each word is a delta of its own in a stream.
      expect(text).toContain('[This ');
      expect(text.indexOf('[This ')).toBeLessThan(text.lastIndexOf('hello '));
    }
  });
});
