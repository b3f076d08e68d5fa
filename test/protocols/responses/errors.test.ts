import type { LimitState } from '../../../src/limit-state.ts';
import { describe, expect, test } from 'vitest';
import { GatewayError, type ErrorKind, type ErrorOptions } from '../../../src/errors.ts';
import { responses } from '../../../src/protocols/responses/index.ts';

const { client } = responses;

function errorOf(kind: ErrorKind, options: ErrorOptions = {}, message = 'no'): unknown {
  return client.encodeError(new GatewayError(kind, message, options), 'r').error;
}

describe('an error body', () => {
  test.each<[ErrorKind, string, string | null]>([
    ['invalid_request', 'invalid_request_error', null],
    ['model_not_found', 'invalid_request_error', 'model_not_found'],
    ['context_overflow', 'invalid_request_error', 'context_length_exceeded'],
    ['unauthenticated', 'authentication_error', 'invalid_api_key'],
    ['forbidden_permission', 'permission_error', 'insufficient_permissions'],
    ['forbidden_model', 'permission_error', 'model_not_found'],
    ['not_found', 'invalid_request_error', 'not_found'],
    ['too_large', 'invalid_request_error', 'context_length_exceeded'],
    ['internal', 'server_error', null],
    ['upstream', 'server_error', 'server_error'],
    ['upstream_account', 'insufficient_quota', 'insufficient_quota'],
    ['unavailable', 'server_error', 'server_is_overloaded'],
  ])('of %s has the type and the code that Codex goes by', (kind, type, code) => {
    expect(errorOf(kind)).toEqual({ message: 'no', type, code, param: null });
  });

  test('of the hour that is used up says when it ends, so that Codex shows it and stops', () => {
    const admission = { limit: 10, used: 10, resetsAt: 1_790_000_000_001 };
    expect(errorOf('rate_limited', { admission })).toMatchObject({
      type: 'usage_limit_reached',
      resets_at: 1_790_000_001,
    });
  });

  test("has a provider's own code where none of ours is looked for", () => {
    expect(errorOf('invalid_request', { code: 'invalid_image', param: 'input' })).toMatchObject({
      code: 'invalid_image',
      param: 'input',
    });
    expect(errorOf('upstream', { code: 'strange' })).toMatchObject({ code: 'server_error' });
  });

  test('of an overflow has the words for which agents look', () => {
    expect(errorOf('context_overflow', { tokens: { sent: 9, limit: 8 } })).toMatchObject({
      message:
        "This model's maximum context length is 8 tokens. However, your messages resulted in 9 tokens.",
    });
  });

  test.each([
    ['too_large', { status: 400 }],
    ['unavailable', { retryAfter: 'milliseconds' }],
    ['upstream', {}],
    ['upstream_account', { status: 429 }],
    ['rate_limited', {}],
    ['forbidden_model', {}],
  ] as const)('of %s has the head %j', (kind, head) => {
    expect(client.errorHead?.(new GatewayError(kind, 'no'))).toEqual(head);
  });
});

test('limit headers carry the hour, also into the status line of Codex', () => {
  const resetsAt = 1_790_000_000_000;
  const hour = { kind: 'requests', per: 'hour', spent: 3, most: 8, resetsAt } as const;
  const headers = [
    ...client.limitHeaders({ limit: 8, used: 3, resetsAt }, resetsAt - 63_000),
    ...(client.screen?.headers([hour]) ?? []),
  ];
  expect(
    Object.fromEntries(headers.map((name, at) => [name, headers[at + 1]]).filter((_, at) => at % 2 === 0)),
  ).toEqual({
    'x-ratelimit-limit-requests': '8',
    'x-ratelimit-remaining-requests': '5',
    'x-ratelimit-reset-requests': '1m3s',
    'x-codex-primary-used-percent': '38',
    'x-codex-primary-window-minutes': '60',
    'x-codex-primary-reset-at': '1790000000',
  });
});

test("limits of money and tokens are in Codex's status line, the two fullest, that of the shorter window first", () => {
  const resetsAt = 1_790_000_000_000;
  const limit = (kind: LimitState['kind'], per: LimitState['per'], spent: number): LimitState => ({
    ...{ kind, per, spent, most: 100, resetsAt: resetsAt + spent * 1000 },
  });
  const limits = [limit('cost', 'month', 81.6), limit('requests', 'hour', 3), limit('tokens', 'day', 40)];
  expect(client.screen?.headers(limits)).toEqual([
    ...['x-codex-primary-used-percent', '40', 'x-codex-primary-window-minutes', '1440'],
    ...['x-codex-primary-reset-at', '1790000040'],
    ...['x-codex-secondary-used-percent', '82', 'x-codex-secondary-window-minutes', '43200'],
    ...['x-codex-secondary-reset-at', '1790000082'],
  ]);
  expect(client.screen?.headers([])).toEqual([]);
  const refused = new GatewayError('rate_limited', 'no', { limits });
  expect(client.errorHead?.(refused).headers).toEqual([
    ...(client.screen?.headers(limits) ?? []),
    ...['x-codex-promo-message', 'no'],
  ]);
});

test('a provider of this protocol gets what Codex says of its session, and nothing else', () => {
  const given = {
    'session-id': 's',
    'thread-id': 't',
    'x-codex-turn-state': 'x',
    'x-client-request-id': 'q',
    authorization: 'Bearer secret',
    'openai-beta': 'responses=experimental',
  };
  expect(client.forwardedHeaders(given, '?a=b')).toEqual({
    headers: ['session-id', 's', 'thread-id', 't', 'x-codex-turn-state', 'x'],
    query: '',
    longContext: false,
  });
  expect(client.forwardedHeaders({ 'session-id': 'x'.repeat(10_000) }, '').headers).toEqual([]);
});
