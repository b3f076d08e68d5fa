// The series of `GET /metrics`: their number stays bounded whatever clients send, and their text is valid; how long the database
// takes, with each engine, calls that fail included.
import { describe, expect, it, onTestFinished } from 'vitest';
import type { EndpointName } from '../../src/canonical/request.ts';
import { Trace } from '../../src/gateway/trace.ts';
import { Histogram } from '../../src/histogram.ts';
import { labels, written } from '../../src/observe/metrics/exposition.ts';
import { DURATION_S } from '../../src/observe/metrics/operation-series.ts';
import { createRequestSeries } from '../../src/observe/metrics/request-series.ts';
import { protocols } from '../../src/protocols/registry.ts';
import type { Target } from '../../src/routing/catalog.ts';
import { readMetrics } from '../helpers/prometheus.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/clock.ts';
import { timeStore } from '../../src/observe/metrics/metrics.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import { manualClock } from '../helpers/clock.ts';
import { createDatabase } from '../helpers/postgres.ts';
import { HOUR, newKey, usageRow } from '../store/support.ts';
import type { Identity } from '../../src/conversations/identity.ts';
import { identity } from '../helpers/identity.ts';

interface Ended {
  account?: string;
  error?: string | null;
  who?: Partial<Identity>;
  endpoint?: EndpointName;
  streamed?: boolean;
}

function finished(
  model: string,
  { account = 'a', error = null, who, endpoint = 'chat', streamed = true }: Ended = {},
): Trace {
  const key = { account } as Trace['key'];
  const trace = new Trace({
    requestId: 'req_1',
    key,
    endpoint,
    modelAsked: model,
    streamed,
    startedAt: 0,
    passedOver: [],
    rule: undefined,
    identity: identity('conv_one', who),
    spans: undefined,
    held: false,
  });
  const provider = { name: 'p', preset: 'mistral', baseUrls: {} };
  const target = { key: `p/${model}`, provider, model, upstream: `maker-${model}` } as Target;
  trace.contact = { target, protocol: protocols.chat, dropped: [], changed: [] };
  trace.firstByteMs = 20;
  trace.firstByteAt = 20;
  trace.contactedAt = 5;
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
      series.add(finished(`name-${number}`, { account: `account-${number}` }));
    const metrics = readMetrics(written(series.families()));
    expect(metrics.sum('gateway_requests_total')).toBe(10_000);
    expect(metrics.value('gateway_requests_total', { provider: 'other', model: 'other' })).toBe(9800);
    expect(metrics.sum('gateway_account_requests_total')).toBe(10_000);
    expect(metrics.value('gateway_account_requests_total', { account: 'other' })).toBe(9000);
  });

  it('for kinds of work and types of agents that clients invent; no id of a conversation is shown', () => {
    const series = createRequestSeries({ accounts: false, isKnown: () => true });
    for (let number = 0; number < 1000; number += 1) {
      series.add(
        finished('m', {
          who: { agent: `id-${number}`, class: `class-${number}`, agentType: `type-${number}` },
        }),
      );
    }
    series.add(finished('m', { who: { class: 'subagent', agentType: 'Explore' } }));
    series.add(finished('m'));
    const text = written(series.families());
    const metrics = readMetrics(text);
    expect(metrics.sum('gateway_work_requests_total')).toBe(1001);
    expect(metrics.value('gateway_work_requests_total', { class: 'other', agent_type: 'other' })).toBe(1000);
    expect(metrics.value('gateway_work_tokens_total', { agent_type: 'Explore', kind: 'input' })).toBe(6);
    expect(text).not.toMatch(/conv_|id-/);
  });

  it('for error kinds without end', () => {
    const series = createRequestSeries({ accounts: false, isKnown: () => true });
    for (let number = 0; number < 1000; number += 1) series.add(finished('m', { error: `error-${number}` }));
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
  // From the request to the provider, not from that to the gateway.
  const first = 'gen_ai_client_operation_time_to_first_chunk_seconds_sum';
  expect(metrics.value(first)).toBeCloseTo(0.015);
});

describe('under the names of the conventions', () => {
  it('a target has those of its provider and its model, and those of the configuration beside them', () => {
    const series = createRequestSeries({ accounts: false, isKnown: () => true });
    series.add(finished('m'));
    const { samples } = readMetrics(written(series.families()));
    const duration = samples.find(({ name }) => name === 'gen_ai_client_operation_duration_seconds_count');
    expect(duration?.labels).toEqual({
      gen_ai_operation_name: 'chat',
      gen_ai_provider_name: 'mistral_ai',
      gen_ai_request_model: 'maker-m',
      provider: 'p',
      model: 'm',
    });
  });

  it('what one target does in several ways is apart, and its tokens and cost are one series', () => {
    const series = createRequestSeries({ accounts: false, isKnown: () => true });
    for (const endpoint of ['chat', 'completions', 'embeddings', 'responses'] as const)
      series.add(finished('m', { endpoint }));
    const metrics = readMetrics(written(series.families()));
    const counted = (gen_ai_operation_name: string) =>
      metrics.value('gen_ai_client_operation_duration_seconds_count', { gen_ai_operation_name });
    expect(['chat', 'text_completion', 'embeddings'].map(counted)).toEqual([2, 1, 1]);
    expect(metrics.value('gateway_tokens_total', { kind: 'output' })).toBe(204);
  });

  it('a chunk that came is counted, however its stream ended; what is no stream has no chunks', () => {
    const series = createRequestSeries({ accounts: false, isKnown: () => true });
    const stream = (error: string | null, gaps: readonly number[], written: number): void => {
      const trace = finished('m', { error });
      const histogram = new Histogram(DURATION_S);
      for (const gap of gaps) histogram.observe(gap);
      trace.progress.gaps = histogram;
      trace.progress.written = written;
      series.add(trace);
    };
    stream(null, [0.015, 0.03], 100);
    stream('upstream', [0.03], 50);
    // Nothing came of it.
    stream('upstream', [], 0);
    const metrics = readMetrics(written(series.families()));
    const name = 'gen_ai_client_operation_time_';
    expect(metrics.value(`${name}to_first_chunk_seconds_count`)).toBe(2);
    const bucket = (le: string) => metrics.value(`${name}per_output_chunk_seconds_bucket`, { le });
    expect(['0.01', '0.02', '0.04', '+Inf'].map(bucket)).toEqual([0, 1, 3, 3]);
    const whole = createRequestSeries({ accounts: false, isKnown: () => true });
    whole.add(finished('m', { streamed: false }));
    expect(written(whole.families())).not.toContain('chunk');
  });
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

const DURATION = 'gateway_database_duration_seconds';
const read = (timed: ReturnType<typeof timeStore>) => readMetrics(written([timed.family()]));

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'gateway-database-series-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

async function database(): Promise<string> {
  const created = await createDatabase();
  onTestFinished(() => created.drop());
  return created.url;
}

it.each([
  ['SQLite', () => join(folder(), 'gateway.db')],
  ['PostgreSQL', database],
])(
  'counts each admission, batch of usage and check: %s',
  async (_, locate: () => string | Promise<string>) => {
    const store = await openStore(await locate());
    onTestFinished(() => store.close());
    const timed = timeStore(store, systemClock);
    expect(written([timed.family()])).toBe('');
    const key = await timed.store.createKey(newKey());
    for (let request = 0; request < 3; request += 1) await timed.store.admit(key, 10, HOUR);
    await timed.store.recordUsage([usageRow({ accountId: key.accountId })]);
    await timed.store.ping();
    const metrics = read(timed);
    const counts = ['admission', 'usage', 'check', 'items'].map((operation) =>
      metrics.value(`${DURATION}_count`, { operation }),
    );
    expect(counts).toEqual([3, 1, 1, undefined]);
    expect(metrics.value(`${DURATION}_sum`, { operation: 'admission' })).toBeGreaterThan(0);
    expect(timed.store.location).toBe(store.location);
  },
);

it('measures until the database answers, also if it fails', async () => {
  const clock = manualClock();
  let createdAt = 1;
  const store = {
    async admit(_: unknown, limit: number) {
      await Promise.resolve();
      clock.advance(limit);
      if (limit > 500) throw new Error('gone');
    },
    get createdAt() {
      return createdAt;
    },
  } as unknown as Store;
  const timed = timeStore(store, clock);
  const key = { id: 'key_one', accountId: 1, tier: 'free' };
  await timed.store.admit(key, 300, HOUR);
  await expect(timed.store.admit(key, 1000, HOUR)).rejects.toThrow('gone');
  const bucket = (le: string) => read(timed).value(`${DURATION}_bucket`, { operation: 'admission', le });
  expect(['0.25', '0.5', '1', '+Inf'].map(bucket)).toEqual([0, 1, 2, 2]);
  // Another file that takes the path of the database has another time.
  createdAt = 2;
  expect(timed.store.createdAt).toBe(2);
});
