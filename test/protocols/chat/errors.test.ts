import { describe, expect, test } from 'vitest';
import { STATUS, FailureError, GatewayError, type ErrorKind, type FailureKind } from '../../../src/errors.ts';
import { failureOf } from '../../../src/protocols/chat/errors.ts';
import { chat } from '../../../src/protocols/chat/index.ts';

const encode = (kind: ErrorKind, options = {}) =>
  chat.client.encodeError(new GatewayError(kind, 'what happened', options), 'req_1').error;

describe('what chat clients read', () => {
  test.each<[ErrorKind, string, string | null]>([
    ['invalid_request', 'invalid_request_error', null],
    ['model_not_found', 'invalid_request_error', 'model_not_found'],
    ['context_overflow', 'invalid_request_error', 'context_length_exceeded'],
    ['unauthenticated', 'authentication_error', 'invalid_api_key'],
    ['forbidden_permission', 'permission_error', 'insufficient_permissions'],
    ['forbidden_model', 'permission_error', 'model_not_allowed'],
    ['forbidden_host', 'permission_error', 'insufficient_permissions'],
    ['not_found', 'invalid_request_error', 'not_found'],
    ['method_not_allowed', 'invalid_request_error', 'method_not_allowed'],
    ['too_large', 'invalid_request_error', 'request_too_large'],
    ['rate_limited', 'rate_limit_error', 'rate_limit_exceeded'],
    ['internal', 'api_error', null],
    ['upstream', 'upstream_error', 'upstream_error'],
    ['upstream_account', 'upstream_error', 'upstream_error'],
    ['unavailable', 'overloaded_error', 'service_unavailable'],
  ])('%s', (kind, type, code) => {
    expect(STATUS[kind]).toBeGreaterThan(0);
    expect(encode(kind)).toEqual({ message: 'what happened', type, param: null, code });
  });
  test("a provider's param, code and details are in the error", () => {
    expect(encode('invalid_request', { param: 'n', code: 'unsupported', details: { a: 1 } })).toEqual({
      message: 'what happened',
      type: 'invalid_request_error',
      param: 'n',
      code: 'unsupported',
      details: { a: 1 },
    });
  });
  test('the code that agents match is never replaced', () => {
    expect(encode('context_overflow', { code: '1210' })).toHaveProperty('code', 'context_length_exceeded');
  });
  test('an overflow says its numbers in the words that agents know', () => {
    expect(encode('context_overflow', { tokens: { sent: 9000, limit: 8192 } })).toHaveProperty(
      'message',
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
    );
  });
  test('input and output that are too long only together are recognised', () => {
    expect(
      encode('context_overflow', { tokens: { sent: 9000, output: 4000, limit: 12_000 } }),
    ).toHaveProperty(
      'message',
      "This model's maximum context length is 12000 tokens. However, you requested 13000 tokens (9000 in the messages, 4000 in the completion).",
    );
  });
  test('in mid-stream it is one data frame', () => {
    const written = chat.client.encodeStreamError(new GatewayError('upstream', 'a\nb'), 'req_1', 0);
    expect(written).toMatch(/^data: \{.*\}\n\n$/);
    expect(JSON.parse(written.slice(6))).toHaveProperty('error.message', 'a\nb');
  });
});

const decode = (status: number, body: unknown, headers: Record<string, string> = {}) =>
  chat.provider.decodeError(
    status,
    new Map(Object.entries(headers)),
    typeof body === 'string' ? body : JSON.stringify(body),
  );

describe("a provider's status", () => {
  test.each<[number, FailureKind]>([
    [400, 'invalid_request'],
    [422, 'invalid_request'],
    [401, 'provider_key'],
    [403, 'provider_key'],
    [402, 'billing'],
    [404, 'not_found'],
    [413, 'too_large'],
    [429, 'rate_limited'],
    [503, 'overloaded'],
    [529, 'overloaded'],
    [408, 'timeout'],
    [504, 'timeout'],
    [500, 'failed'],
    [502, 'failed'],
    [409, 'failed'],
    [302, 'failed'],
  ])('%d is %s', (status, kind) => {
    expect(decode(status, { error: { message: 'x' } })).toEqual({ kind, status, message: 'x' });
  });
});

describe('the shapes of a body', () => {
  test.each<[string, unknown, object]>([
    [
      'OpenAI',
      { error: { message: 'm', type: 't', param: 'p', code: 'c' } },
      { message: 'm', param: 'p', code: 'c' },
    ],
    ['a string (LM Studio)', { error: 'm' }, { message: 'm' }],
    [
      'an array around it (Gemini)',
      [{ error: { code: 400, message: 'm', status: 'INVALID_ARGUMENT' } }],
      { message: 'm' },
    ],
    [
      'top level (Mistral)',
      { object: 'error', message: 'm', type: 't', code: 'c' },
      { message: 'm', code: 'c' },
    ],
    ['FastAPI, text', { detail: 'm' }, { message: 'm' }],
    [
      'FastAPI, a list',
      { detail: [{ loc: ['body', 'messages', 0, 'role'], msg: 'bad' }] },
      { message: 'messages[0].role: bad', param: 'messages[0].role' },
    ],
    ['FastAPI, an object', { detail: { message: 'm', code: 'c' } }, { message: 'm', code: 'c' }],
    ['a message alone', { message: 'm' }, { message: 'm' }],
    [
      'OpenRouter',
      { error: { code: 400, message: 'Provider returned error', metadata: { raw: 'why' } } },
      { message: 'Provider returned error: why' },
    ],
    [
      'details',
      { error: { message: 'm', details: { error_code: 'x' } } },
      { message: 'm', details: { error_code: 'x' } },
    ],
    ['a numeric code', { error: { message: 'm', code: 400 } }, { message: 'm' }],
    ['a JSON string', '"m"', { message: 'm' }],
    ['plain text', 'm', { message: 'm' }],
    [
      'HTML',
      '<html><head><title>Bad Gateway</title>',
      { message: 'The provider answered 400 with a page of HTML: Bad Gateway.' },
    ],
    ['nothing', '', { message: 'The provider answered 400 without a message.' }],
    ['no message', { error: {} }, { message: '{"error":{}}' }],
  ])('%s', (_what, body, expected) => {
    expect(decode(400, body)).toEqual({ kind: 'invalid_request', status: 400, ...expected });
  });
  test('a message is capped', () => {
    expect(decode(400, { error: { message: 'x'.repeat(50_000) } }).message).toHaveLength(16_384);
    expect(decode(500, 'y'.repeat(50_000)).message).toHaveLength(16_384);
  });
});

describe('words that say more than the status', () => {
  test.each<[name: string, kind: FailureKind, status: number, error: object]>([
    ['429 with insufficient_quota', 'billing', 429, { code: 'insufficient_quota', message: 'x' }],
    [
      '400 whose message says that the balance is too low',
      'billing',
      400,
      { message: 'Your credit balance is too low' },
    ],
    ['400 with model_not_found', 'not_found', 400, { code: 'model_not_found', message: 'x' }],
    ['500 with overloaded_error', 'overloaded', 500, { type: 'overloaded_error', message: 'x' }],
    ['200 with code 429', 'rate_limited', 200, { code: 429, message: 'x' }],
    ['200 with code 503', 'overloaded', 200, { code: 503, message: 'x' }],
    ['200 with authentication_error', 'provider_key', 200, { type: 'authentication_error', message: 'x' }],
    [
      '200 with invalid_request_error',
      'invalid_request',
      200,
      { type: 'invalid_request_error', message: 'x' },
    ],
    ['200 with a message alone', 'failed', 200, { message: 'x' }],
    ['200 with server_error', 'failed', 200, { type: 'server_error', message: 'x' }],
  ])('%s is %s', (_, kind, status, error) => {
    expect(decode(status, { error }).kind).toBe(kind);
  });
});

describe('where no status says it, the word does', () => {
  test.each<[name: string, kind: FailureKind, words: string[]]>([
    [
      'words for a bad request',
      'invalid_request',
      ['invalid_request_error', 'INVALID_ARGUMENT', 'bad_request', 'BadRequestError'],
    ],
    [
      'words for a key that may not',
      'provider_key',
      ['authentication_error', 'permission_error', 'PERMISSION_DENIED', 'UNAUTHENTICATED'],
    ],
    ['words for a wrong key', 'provider_key', ['invalid_api_key']],
    ['words for an empty balance', 'billing', ['billing_error', 'insufficient_quota']],
    ['words for an unknown model', 'not_found', ['not_found_error', 'NOT_FOUND', 'model_not_found']],
    ['words for a body that is too large', 'too_large', ['request_too_large']],
    [
      'words for too many requests',
      'rate_limited',
      ['rate_limit_error', 'rate_limit_exceeded', 'RESOURCE_EXHAUSTED'],
    ],
    ['words for an overload', 'overloaded', ['overloaded_error', 'service_unavailable', 'UNAVAILABLE']],
    ['words for a time-out', 'timeout', ['timeout_error', 'DEADLINE_EXCEEDED']],
    ['words that are unknown, also those of Object.prototype,', 'failed', ['constructor', 'some_new_word']],
  ])('%s are %s', (_, kind, words) => {
    for (const word of words) {
      for (const error of [{ type: word }, { code: word }, { status: word }]) {
        const kindOf = decode(200, { error: { ...error, message: 'x' } }).kind;
        expect([word, kindOf]).toEqual([word, kind]);
      }
    }
  });
  test('a model that is missed behind a gateway that broke is a broken gateway', () => {
    expect(decode(502, { error: { message: 'x', code: 'model_not_found' } }).kind).toBe('failed');
  });
});

describe('a context overflow', () => {
  test.each<[string, number, unknown, object | undefined]>([
    [
      'OpenAI',
      400,
      {
        error: {
          code: 'context_length_exceeded',
          message:
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens. Please reduce the length of the messages.",
        },
      },
      { sent: 9001, limit: 8192 },
    ],
    [
      'vLLM',
      400,
      {
        object: 'error',
        message:
          "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the completion).",
      },
      { sent: 4000, output: 1000, limit: 4096 },
    ],
    [
      'llama.cpp',
      500,
      {
        error: {
          type: 'exceed_context_size_error',
          message: 'the request exceeds the available context size',
          n_prompt_tokens: 5000,
          n_ctx: 4096,
        },
      },
      { sent: 5000, limit: 4096 },
    ],
    [
      'Anthropic',
      400,
      { error: { message: 'prompt is too long: 210000 tokens > 200000 maximum' } },
      { sent: 210_000, limit: 200_000 },
    ],
    [
      'LM Studio, inside a 200',
      200,
      { error: 'The number of tokens to keep is greater than the context length' },
      undefined,
    ],
    ['words alone', 413, { error: 'input is too long' }, undefined],
  ])('%s', (_who, status, body, tokens) => {
    const failure = decode(status, body);
    expect(failure.kind).toBe('context_overflow');
    expect(failure.tokens).toEqual(tokens);
  });
  test('a rate limit in tokens is no context overflow', () => {
    expect(decode(429, { error: { message: 'Too many tokens, please wait' } }).kind).toBe('rate_limited');
  });
});

describe('how long to wait', () => {
  test.each<[number | undefined, Record<string, string>]>([
    [1500, { 'retry-after-ms': '1500', 'retry-after': '9' }],
    [3000, { 'retry-after': '3' }],
    [500, { 'retry-after': '0.5' }],
    [5000, { 'retry-after': 'Sat, 21 Nov 2026 10:00:05 GMT', date: 'Sat, 21 Nov 2026 10:00:00 GMT' }],
    [0, { 'retry-after': 'Sat, 21 Nov 2026 09:00:05 GMT', date: 'Sat, 21 Nov 2026 10:00:00 GMT' }],
    [undefined, { 'retry-after': 'soon' }],
    [undefined, { 'retry-after': '9'.repeat(400) }],
    [undefined, { 'retry-after': '9'.repeat(30) }],
    [undefined, { 'retry-after-ms': 'Infinity' }],
    [undefined, {}],
  ])('%s', (ms, headers) => {
    expect(decode(429, '{}', headers).retryAfterMs).toBe(ms);
  });
  test.each([
    ['Please try again in 20s.', 20_000],
    ['Please try again in 6.2s. Visit https://a.example', 6200],
    ['Please try again in 120ms.', 120],
    ['Please try again in 1m12.5s.', 72_500],
    ['Please try again in 1h0m.', 3_600_000],
    ['Please try again in a while.', undefined],
    ['Please try again in 20 seasons.', undefined],
  ])('in the words: %s', (message, ms) => {
    const body = { error: { message, type: 'tokens', code: 'rate_limit_exceeded' } };
    expect(decode(429, body).retryAfterMs).toBe(ms);
    expect(failureOf(body).retryAfterMs).toBe(ms);
  });
  test('a header is more exact than the words', () => {
    const body = { error: { message: 'Please try again in 20s.' } };
    expect(decode(429, body, { 'retry-after': '3' }).retryAfterMs).toBe(3000);
    expect(decode(400, body).retryAfterMs).toBeUndefined();
  });
  test("Google's delay stands in the body", () => {
    const body = [
      { error: { code: 429, message: 'x', details: [{ '@type': 'RetryInfo', retryDelay: '37s' }] } },
    ];
    expect(decode(429, body).retryAfterMs).toBe(37_000);
  });
});

function failureFrom(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    return error instanceof FailureError ? error.failure : error;
  }
}

test.each([
  [1002, 'rate limit', 'rate_limited', 'rate limit (1002)'],
  [1004, 'login fail', 'provider_key', 'login fail (1004)'],
  [1008, 'insufficient balance', 'billing', 'insufficient balance (1008)'],
  [
    2013,
    'invalid params, context window exceeds limit (2013)',
    'context_overflow',
    'invalid params, context window exceeds limit (2013)',
  ],
  [
    2013,
    'invalid params, chat content is empty',
    'invalid_request',
    'invalid params, chat content is empty (2013)',
  ],
  [1000, 'unknown error, please try again', 'failed', 'unknown error, please try again (1000)'],
])('an error that MiniMax writes inside a 200 keeps its words: %i', (code, words, kind, message) => {
  const base_resp = { status_code: code, status_msg: words };
  const reply = { id: '1', choices: null, created: 0, model: '', usage: null, base_resp };
  expect(failureFrom(() => chat.provider.decodeReply(reply))).toMatchObject({
    kind,
    message,
  });
  expect(failureFrom(() => chat.relay.inspectReply(reply))).toMatchObject({ kind });
});
