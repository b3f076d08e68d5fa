// The series of `GET /metrics`: their number stays bounded whatever clients send, and their text is valid.
import { describe, expect, it } from 'vitest';
import { Trace } from '../../src/gateway/trace.ts';
import { Histogram, labels, written } from '../../src/observe/metrics/exposition.ts';
import { createRequestSeries } from '../../src/observe/metrics/request-series.ts';
import { protocols } from '../../src/protocols/registry.ts';
import type { Target } from '../../src/routing/catalog.ts';
import { readMetrics } from '../helpers/prometheus.ts';

function finished(model: string, account = 'a', error: string | null = null): Trace {
  const key = { account } as Trace['key'];
  const trace = new Trace({
    requestId: 'req_1',
    key,
    endpoint: 'chat',
    modelAsked: model,
    streamed: true,
    startedAt: 0,
    passedOver: [],
    conversation: undefined,
    spans: undefined,
  });
  const target = { key: `p/${model}`, provider: { name: 'p' }, model } as Target;
  trace.contact = { target, protocol: protocols.chat, dropped: [], changed: [] };
  trace.firstByteMs = 20;
  trace.durationMs = 1020;
  trace.outcome = {
    status: 200,
    error,
    usage: { input: 1, cacheRead: 2, cacheWrite: 3, output: 51, reasoning: 10 },
  };
  return trace;
}

describe('the number of series is bounded', () => {
  it('for 10,000 names that clients invent', () => {
    const series = createRequestSeries({ accounts: false, isKnown: ({ model }) => model === 'known' });
    for (let number = 0; number < 10_000; number += 1) series.add(finished(`name-${number}`));
    series.add(finished('known'));
    const metrics = readMetrics(written(series.families()));
    expect(metrics.value('gateway_requests_total', { model: 'other' })).toBe(10_000);
    expect(metrics.value('gateway_requests_total', { model: 'known' })).toBe(1);
    expect(metrics.samples.length).toBeLessThan(300);
  });

  it('for 10,000 names that a provider lists, and 10,000 accounts', () => {
    const series = createRequestSeries({ accounts: true, isKnown: () => true });
    for (let number = 0; number < 10_000; number += 1)
      series.add(finished(`name-${number}`, `account-${number}`));
    const metrics = readMetrics(written(series.families()));
    expect(metrics.sum('gateway_requests_total')).toBe(10_000);
    expect(metrics.value('gateway_requests_total', { provider: 'other', model: 'other' })).toBe(9800);
    expect(metrics.sum('gateway_account_requests_total')).toBe(10_000);
    expect(metrics.value('gateway_account_requests_total', { account: 'other' })).toBe(9000);
  });

  it('for error kinds without end', () => {
    const series = createRequestSeries({ accounts: false, isKnown: () => true });
    for (let number = 0; number < 1000; number += 1) series.add(finished('m', 'a', `error-${number}`));
    const metrics = readMetrics(written(series.families()));
    expect(metrics.sum('gateway_requests_total')).toBe(1000);
    expect(metrics.samples.length).toBeLessThan(2500);
  });
});

it('tokens are counted by kind, and the pace after the first piece', () => {
  const series = createRequestSeries({ accounts: false, isKnown: () => true });
  series.add(finished('m'));
  const metrics = readMetrics(written(series.families()));
  const kinds = ['input', 'cache_read', 'cache_write', 'output', 'reasoning'];
  expect(kinds.map((kind) => metrics.value('gateway_tokens_total', { kind }))).toEqual([1, 2, 3, 51, 10]);
  expect(metrics.value('gen_ai_client_token_usage_sum', { gen_ai_token_type: 'input' })).toBe(6);
  expect(metrics.value('gateway_stream_output_tokens_per_second_sum')).toBeCloseTo(50);
  expect(metrics.value('gen_ai_server_time_to_first_token_seconds_sum')).toBeCloseTo(0.02);
});

it('labels are escaped, and hold no key', () => {
  const account = 'a"b\\c\nd';
  const text = labels({ account, key: `sk-gw-${'a'.repeat(43)}` });
  const samples = [[text, 1]] as const;
  const page = written([{ name: 'x', help: 'Help.', type: 'gauge', samples }]);
  expect(page).not.toContain('aaaaaa');
  expect(readMetrics(page).value('x', { account })).toBe(1);
});

it('a value on a bound is in the bucket of that bound', () => {
  const histogram = new Histogram([1, 2]);
  for (const value of [0, 1, 1.5, 2, 3]) histogram.observe(value);
  const samples = [['', histogram]] as const;
  const metrics = readMetrics(written([{ name: 'x_seconds', help: 'Help.', type: 'histogram', samples }]));
  expect(['1', '2', '+Inf'].map((le) => metrics.value('x_seconds_bucket', { le }))).toEqual([2, 4, 5]);
});
