// Errors both ways: ours as this protocol writes them, and every body that a provider is known to send.
import { describe, expect, it } from 'vitest';
import { GatewayError, type ErrorKind, type ProviderFailure } from '../../../src/errors.ts';
import { messages } from '../../../src/protocols/messages/index.ts';
import { dataOf } from './support.ts';

const NO_HEADERS = new Map<string, string>();

function decode(status: number, body: unknown, headers: Record<string, string> = {}): ProviderFailure {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return messages.provider.decodeError(status, new Map(Object.entries(headers)), text);
}

describe('an error of the gateway', () => {
  it.each<[ErrorKind, string]>([
    ['invalid_request', 'invalid_request_error'],
    ['model_not_found', 'invalid_request_error'],
    ['unauthenticated', 'authentication_error'],
    ['forbidden_permission', 'permission_error'],
    ['forbidden_model', 'permission_error'],
    ['not_found', 'not_found_error'],
    ['method_not_allowed', 'invalid_request_error'],
    ['too_large', 'request_too_large'],
    ['rate_limited', 'rate_limit_error'],
    ['internal', 'api_error'],
    ['upstream', 'api_error'],
    ['upstream_account', 'api_error'],
    ['unavailable', 'overloaded_error'],
  ])('of kind %s is a %s', (kind, type) => {
    expect(messages.client.encodeError(new GatewayError(kind, 'why'), 'req_1')).toEqual({
      type: 'error',
      error: { type, message: 'why' },
      request_id: 'req_1',
    });
  });

  it('keeps details, which the official SDK acts on, and is not_found_error with 404', () => {
    const error = new GatewayError('model_not_found', 'why', { status: 404, details: { error_code: 'x' } });
    expect(messages.client.encodeError(error, 'r').error).toEqual({
      type: 'not_found_error',
      message: 'why',
      details: { error_code: 'x' },
    });
  });

  it.each([
    ['full', { sent: 5, limit: 4 }, 'prompt is too long: 5 tokens > 4 maximum'],
    ['prompt is too long: 5 tokens > 4 maximum', undefined, 'prompt is too long: 5 tokens > 4 maximum'],
    [
      'both',
      { sent: 15_000, output: 8000, limit: 20_000 },
      'input length and `max_tokens` exceed context limit: 15000 + 8000 > 20000, decrease input length or `max_tokens` and try again',
    ],
    [
      'hardly any room',
      { sent: 11_500, output: 4000, limit: 12_000 },
      'prompt is too long: 15500 tokens > 12000 maximum',
    ],
    ['the window is full', { limit: 4 }, 'prompt is too long: the window is full'],
  ])('of a context overflow is in the words that agents look for (%s)', (message, tokens, expected) => {
    const error = new GatewayError('context_overflow', message, { tokens });
    expect(messages.client.encodeError(error, 'r').error).toEqual({
      type: 'invalid_request_error',
      message: expected,
    });
  });

  it('is an error event in a stream', () => {
    const text = messages.client.encodeStreamError(new GatewayError('unavailable', 'line\nbreak'), 'r', 0);
    expect(text.startsWith('event: error\ndata: ')).toBe(true);
    expect(dataOf(text)).toEqual([
      { type: 'error', error: { type: 'overloaded_error', message: 'line\nbreak' }, request_id: 'r' },
    ]);
  });
});

describe("a provider's error", () => {
  it.each([
    [400, 'invalid_request'],
    [401, 'provider_key'],
    [402, 'billing'],
    [403, 'provider_key'],
    [404, 'not_found'],
    [408, 'timeout'],
    [409, 'failed'],
    [413, 'too_large'],
    [422, 'invalid_request'],
    [429, 'rate_limited'],
    [500, 'failed'],
    [502, 'failed'],
    [503, 'overloaded'],
    [504, 'timeout'],
    [529, 'overloaded'],
    [302, 'failed'],
  ])('with status %i is %s', (status, kind) => {
    const failure = decode(status, { type: 'error', error: { type: 'api_error', message: 'why' } });
    expect(failure).toMatchObject({ kind, status, message: 'why' });
  });

  it.each<[string, unknown, Partial<ProviderFailure>]>([
    ['a string', { error: 'no model loaded' }, { message: 'no model loaded' }],
    ['in an array', [{ error: { message: 'bad', code: 400 } }], { message: 'bad', code: '400' }],
    [
      'at top level',
      { object: 'error', message: 'bad', type: 't', code: 'c' },
      { message: 'bad', code: 'c' },
    ],
    ['a detail', { detail: 'bad' }, { message: 'bad' }],
    [
      'a list of details',
      { detail: [{ loc: ['body', 'messages', 0, 'role'], msg: 'bad' }, { msg: 'x' }] },
      { message: 'messages[0].role: bad; x', param: 'messages[0].role' },
    ],
    [
      'with param and details',
      { error: { message: 'm', param: 'p', details: { a: 1 } } },
      { param: 'p', details: { a: 1 } },
    ],
    [
      'HTML',
      '<html><head><title>Bad Gateway</title></head><body>x</body></html>',
      { message: 'Bad Gateway' },
    ],
    ['plain text', 'upstream fell over', { message: 'upstream fell over' }],
    ['empty', '', { message: 'the provider answered with an error (HTTP 400)' }],
    ['null', 'null', { message: 'the provider answered with an error (HTTP 400)' }],
    ['no credit', { error: { message: 'Your credit balance is too low' } }, { kind: 'billing' }],
    [
      'a model that is not there',
      { error: { message: 'x', code: 'model_not_found' } },
      { kind: 'not_found' },
    ],
  ])('is read where it is %s', (_, body, expected) => {
    expect(decode(400, body)).toMatchObject(expected);
  });

  it.each<[string, ProviderFailure['kind']]>([
    ['invalid_request_error', 'invalid_request'],
    ['authentication_error', 'provider_key'],
    ['permission_error', 'provider_key'],
    ['billing_error', 'billing'],
    ['not_found_error', 'not_found'],
    ['request_too_large', 'too_large'],
    ['rate_limit_error', 'rate_limited'],
    ['timeout_error', 'timeout'],
    ['overloaded_error', 'overloaded'],
    ['conflict_error', 'failed'],
    ['api_error', 'failed'],
    ['constructor', 'failed'],
  ])('of type %s is %s where no status says it', (type, kind) => {
    expect(decode(200, { type: 'error', error: { type, message: 'x' } }).kind).toBe(kind);
  });

  it('inside a 200 is of the kind of the status in its code', () => {
    expect(decode(200, { error: { code: 429, message: 'x' } }).kind).toBe('rate_limited');
    expect(decode(200, { error: { code: 503, message: 'x' } }).kind).toBe('overloaded');
  });

  it('tells no quota from too many requests', () => {
    expect(decode(429, { error: { message: 'x', code: 'insufficient_quota' } }).kind).toBe('billing');
  });

  it('is bounded before its secrets are taken out', () => {
    expect(decode(400, { error: { message: 'x'.repeat(50_000) } }).message).toHaveLength(16_384);
  });

  it.each([
    [{ 'retry-after': '3' }, 3000],
    [{ 'retry-after': '0.2' }, 200],
    [{ 'retry-after-ms': '1500', 'retry-after': '9' }, 1500],
    [{ 'retry-after': 'Wed, 21 Oct 2026 07:28:10 GMT', date: 'Wed, 21 Oct 2026 07:28:00 GMT' }, 10_000],
    [{ 'retry-after': 'Wed, 21 Oct 2026 07:28:10 GMT' }, undefined],
    [{ 'retry-after': 'soon' }, undefined],
    [{ 'retry-after': '9'.repeat(400) }, undefined],
    [{ 'retry-after': '9'.repeat(30) }, undefined],
    [{ 'retry-after-ms': 'Infinity' }, undefined],
    [{ 'retry-after': '-1' }, undefined],
    [{}, undefined],
  ] as [Record<string, string>, number | undefined][])('reads the wait of %o', (headers, expected) => {
    expect(decode(429, '{}', headers).retryAfterMs).toBe(expected);
  });

  it.each<[name: string, status: number, body: unknown, tokens: ProviderFailure['tokens']]>([
    [
      'the real service',
      400,
      { error: { message: 'prompt is too long: 210,000 tokens > 200,000 maximum' } },
      { sent: 210_000, limit: 200_000 },
    ],
    [
      'vLLM',
      400,
      {
        error: {
          message:
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
          code: 'context_length_exceeded',
        },
      },
      { sent: 9000, limit: 8192 },
    ],
    [
      'llama.cpp, with its counts',
      500,
      { error: { type: 'exceed_context_size_error', message: 'x', n_prompt_tokens: 50, n_ctx: 40 } },
      { sent: 50, limit: 40 },
    ],
    ['llama.cpp', 400, { error: 'the request exceeds the available context size' }, undefined],
    ['a proxy', 413, { error: { message: 'input is too long for this model' } }, undefined],
    ['others', 422, { error: { message: 'Please reduce the length of the messages' } }, undefined],
  ])('is a context overflow in the words of %s (%i)', (_, status, body, tokens) => {
    const failure = decode(status, body);
    expect(failure.kind).toBe('context_overflow');
    expect(failure.tokens).toEqual(tokens);
  });

  it.each<[name: string, status: number, body: unknown, expected: Partial<ProviderFailure>]>([
    [
      'an overflow within a wrapped error',
      400,
      {
        error: {
          message: 'Provider returned error',
          metadata: { raw: 'prompt is too long: 9 tokens > 8 maximum' },
        },
      },
      { kind: 'context_overflow', tokens: { sent: 9, limit: 8 } },
    ],
    [
      'a text in place of an error object',
      400,
      { error: 'Bad Request', message: 'why' },
      { kind: 'invalid_request', message: 'why' },
    ],
    [
      'insufficient_quota',
      429,
      { error: { type: 'insufficient_quota', message: 'no' } },
      { kind: 'billing' },
    ],
    ['an empty balance', 429, { error: { message: 'Insufficient Balance' } }, { kind: 'billing' }],
    [
      'overloaded_error of another status',
      500,
      { error: { type: 'overloaded_error', message: 'later' } },
      { kind: 'overloaded' },
    ],
    [
      'context_length_exceeded of another status',
      502,
      { error: { code: 'context_length_exceeded', message: 'full' } },
      { kind: 'context_overflow' },
    ],
  ])('of other servers: %s (%i)', (_, status, body, expected) => {
    expect(decode(status, body)).toMatchObject(expected);
  });

  it.each(['rate_limit_error', 'overloaded_error'])('of type %s is no overflow, whatever it says', (type) => {
    const message = 'Too many tokens in flight';
    expect(decode(200, { type: 'error', error: { type, message } }).kind).not.toBe('context_overflow');
  });

  it('is no overflow because it speaks of tokens', () => {
    expect(decode(429, { error: { message: 'too many tokens per minute' } }).kind).toBe('rate_limited');
    expect(
      messages.provider.decodeError(400, NO_HEADERS, '{"error":{"message":"max_tokens is wrong"}}').kind,
    ).toBe('invalid_request');
  });
});
