// `GET /metrics` of a whole gateway: what is counted, once each, and what never becomes a label.
import { request as httpRequest } from 'node:http';
import { describe, expect, it, vi } from 'vitest';
import { ask, send } from '../helpers/ask.ts';
import { manualClock } from '../helpers/clock.ts';
import { gateway, provider, rewrite, type TestGateway } from '../helpers/gateway.ts';
import { scrape, type ReadMetrics } from '../helpers/prometheus.ts';
import { CUT, gate, scriptedProvider } from '../helpers/scripted-provider.ts';
import { content, FINISH, START, streamOf, TERMINAL, wholeOf } from './wire.ts';

const PRICE = { input: 1_000_000, output: 2_000_000 };

async function metered(more: Record<string, unknown> = {}, tier?: string) {
  const upstream = await scriptedProvider();
  upstream.playAlways({ body: wholeOf('chat', 'hello') });
  const config = {
    providers: {
      maker: provider(`${upstream.url}/v1`, 'chat', [{ id: 'm', price: PRICE }]),
    },
    tiers: { enterprise: 100_000 },
    metrics: true,
    ...more,
  };
  return { upstream, server: await gateway({ config, tier }) };
}

/** Waits until this many requests are counted: a request is over a moment after its last byte. */
async function counted(server: TestGateway, requests: number): Promise<ReadMetrics> {
  return vi.waitFor(
    async () => {
      const metrics = await scrape(server.url);
      expect(metrics.sum('gateway_requests_total')).toBe(requests);
      expect(metrics.value('gateway_requests_in_flight')).toBe(0);
      return metrics;
    },
    { timeout: 10_000, interval: 20 },
  );
}

const MAKER = { provider: 'maker', model: 'm' };
const GEN_AI = {
  gen_ai_operation_name: 'chat',
  gen_ai_provider_name: 'maker',
  gen_ai_request_model: 'm',
  ...MAKER,
};

describe('off', () => {
  it('the path does not exist, in the words of any unknown path', async () => {
    const server = await gateway();
    const [metrics, unknown] = await Promise.all([
      fetch(`${server.url}/metrics`),
      fetch(`${server.url}/metricx`),
    ]);
    expect([metrics.status, unknown.status]).toEqual([404, 404]);
    const words = async (response: Response, path: string): Promise<string> =>
      (await response.text()).replaceAll(path, 'PATH');
    expect(await words(metrics, '/metrics')).toBe(await words(unknown, '/metricx'));
  });

  it('a change of the file turns nothing on, and the log says so', async () => {
    const clock = manualClock();
    const server = await gateway({ clock });
    rewrite(server, clock, { metrics: true });
    const line = 'metrics changes only with a restart';
    await vi.waitFor(() => expect(server.log()).toContain(line), { timeout: 10_000, interval: 20 });
    expect((await fetch(`${server.url}/metrics`)).status).toBe(404);
  });
});

describe('who may read it', () => {
  it('needs no key, takes GET and HEAD alone, and no foreign Host', async () => {
    const { server } = await metered();
    expect((await fetch(`${server.url}/metrics`, { method: 'HEAD' })).status).toBe(200);
    const post = await fetch(`${server.url}/metrics`, { method: 'POST' });
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    const foreign = await new Promise<number | undefined>((resolve, reject) => {
      httpRequest(`${server.url}/metrics`, { headers: { host: 'evil.example' } }, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on('error', reject)
        .end();
    });
    expect(foreign).toBe(403);
  });
});

describe('an answered request', () => {
  it('is counted with its tokens, cost and duration', async () => {
    const { server } = await metered();
    await ask(server, { model: 'm' });
    const metrics = await counted(server, 1);
    const labels = { ...MAKER, endpoint: 'chat', status: '200', error: 'none' };
    expect(metrics.value('gateway_requests_total', labels)).toBe(1);
    expect(metrics.value('gateway_tokens_total', { ...MAKER, kind: 'input' })).toBe(5);
    expect(metrics.value('gateway_tokens_total', { ...MAKER, kind: 'output' })).toBe(2);
    expect(metrics.value('gateway_cost_usd_total', MAKER)).toBe(9);
    const duration = 'gen_ai_client_operation_duration_seconds';
    expect(metrics.value(`${duration}_count`, GEN_AI)).toBe(1);
    const usage = { ...GEN_AI, gen_ai_token_type: 'input' };
    expect(metrics.value('gen_ai_client_token_usage_sum', usage)).toBe(5);
    expect(metrics.value('gen_ai_client_token_usage_bucket', { ...usage, le: '4' })).toBe(0);
    expect(metrics.value('gen_ai_client_token_usage_bucket', { ...usage, le: '16' })).toBe(1);
    expect(metrics.value('gateway_target_state', { ...MAKER, state: 'healthy' })).toBe(1);
    expect(metrics.value('gateway_database_up')).toBe(1);
    const admission = { operation: 'admission' };
    expect(metrics.value('gateway_database_duration_seconds_count', admission)).toBe(1);
    expect(metrics.value('gateway_build_info', { version: '1.2.3' })).toBe(1);
    expect(metrics.value('nodejs_eventloop_lag_seconds')).toBeGreaterThanOrEqual(0);
    expect(metrics.value('process_resident_memory_bytes')).toBeGreaterThan(1e7);
  });

  it.each(['chat', 'messages', 'responses'] as const)('counts under its endpoint: %s', async (protocol) => {
    const { server } = await metered();
    await ask(server, { protocol, model: 'm' });
    const metrics = await counted(server, 1);
    expect(metrics.value('gateway_requests_total', { endpoint: protocol })).toBe(1);
  });

  it('is under way until its last byte', async () => {
    const { server, upstream } = await metered();
    const rest = gate();
    upstream.play({ steps: [START.chat + content('chat', 'a'), rest.opened, streamOf('chat', 'b')] });
    const response = await send(server, { model: 'm', stream: true });
    const running = await scrape(server.url);
    expect(running.value('gateway_requests_in_flight')).toBe(1);
    expect(running.sum('gateway_requests_total')).toBe(0);
    rest.open();
    await response.text();
    await counted(server, 1);
  });
});

describe('a stream', () => {
  const CHUNKS = 'gen_ai_client_operation_time_per_output_chunk_seconds';
  const FIRST = 'gen_ai_client_operation_time_to_first_chunk_seconds';
  const rows = (['chat', 'messages', 'responses'] as const).flatMap((from) =>
    (['chat', 'messages', 'responses'] as const).map((to) => [from, to] as const),
  );

  it.each(rows)(
    'has the time to its first chunk, and that of each later one: %s clients, %s provider',
    async (protocol, to) => {
      const clock = manualClock();
      const upstream = await scriptedProvider();
      const [first, second, last] = [gate(), gate(), gate()];
      const end = FINISH[to] + TERMINAL[to];
      const steps = [first.opened, START[to] + content(to, 'a')];
      upstream.play({ steps: [...steps, second.opened, content(to, 'b'), last.opened, end] });
      const providers = { mistral: provider(`${upstream.url}/v1`, to, ['m']) };
      const server = await gateway({ config: { providers, metrics: true }, clock });
      const answer = send(server, { protocol, model: 'm', stream: true });
      await upstream.next();
      clock.advance(2000);
      first.open();
      const reader = (await answer).body?.pipeThrough(new TextDecoderStream()).getReader();
      let text = '';
      const until = async (piece: string): Promise<void> => {
        while (!text.includes(piece)) {
          const { value, done } = (await reader?.read()) ?? { done: true };
          if (done) throw new Error(`the answer ended: ${text}`);
          text += value ?? '';
        }
      };
      await until('"a"');
      clock.advance(3000);
      second.open();
      await until('"b"');
      clock.advance(500);
      last.open();
      while ((await reader?.read())?.done === false);
      const metrics = await counted(server, 1);
      const labels = {
        gen_ai_operation_name: 'chat',
        gen_ai_provider_name: 'mistral_ai',
        gen_ai_request_model: 'm',
        provider: 'mistral',
        model: 'm',
      };
      expect(metrics.value(`${FIRST}_sum`, labels)).toBe(2);
      // The chunks of the end come together: one of them took the time.
      expect(metrics.value(`${CHUNKS}_sum`, labels)).toBe(3.5);
      expect(metrics.value(`${CHUNKS}_count`, labels)).toBe(1 + end.split('\n\n').length - 1);
      expect(metrics.value(`${CHUNKS}_bucket`, { ...labels, le: '0.64' })).toBe(end.split('\n\n').length - 1);
    },
  );

  it.each(rows)(
    'that comes at once has each chunk behind the first in no time: %s clients, %s provider',
    async (protocol, to) => {
      const upstream = await scriptedProvider();
      const end = FINISH[to] + TERMINAL[to];
      upstream.play({ steps: [START[to] + content(to, 'a') + content(to, 'b') + end] });
      const providers = { mistral: provider(`${upstream.url}/v1`, to, ['m']) };
      const server = await gateway({ config: { providers, metrics: true } });
      await (await send(server, { protocol, model: 'm', stream: true })).text();
      const metrics = await counted(server, 1);
      expect(metrics.sum(`${CHUNKS}_count`)).toBe(1 + end.split('\n\n').length - 1);
      expect(metrics.sum(`${CHUNKS}_sum`)).toBe(0);
    },
  );

  it('of the built-in provider has chunks, too; a whole answer has none', async () => {
    const server = await gateway({ config: { metrics: true } });
    await ask(server, {});
    const whole = await counted(server, 1);
    expect([...whole.types.keys()].filter((name) => name.includes('chunk'))).toEqual([]);
    await ask(server, { stream: true });
    const metrics = await counted(server, 2);
    expect(metrics.sum(`${CHUNKS}_count`, { gen_ai_provider_name: 'sim' })).toBeGreaterThan(0);
    expect(metrics.sum(`${FIRST}_count`, { gen_ai_provider_name: 'sim' })).toBe(1);
  });
});

describe('target_info', () => {
  it('has the attributes of the environment, under names that labels can have', async () => {
    const env = {
      OTEL_SERVICE_NAME: 'team-gateway',
      OTEL_RESOURCE_ATTRIBUTES:
        'deployment.environment.name=prod%20%22eu%22,service.name=other,team=a%2Cb,2nd=x,__name__=y',
    };
    const server = await gateway({ config: { metrics: true }, env });
    const found = (await scrape(server.url)).samples.filter(({ name }) => name === 'target_info');
    expect(found).toEqual([
      {
        name: 'target_info',
        labels: {
          deployment_environment_name: 'prod "eu"',
          key_2nd: 'x',
          key___name__: 'y',
          service_name: 'team-gateway',
          service_version: '1.2.3',
          team: 'a,b',
        },
        value: 1,
      },
    ]);
  });

  it('stays what it is for a variable that cannot be read, and the log says so', async () => {
    const env = { OTEL_RESOURCE_ATTRIBUTES: 'team=a,secret%ZZ=sk-1' };
    const server = await gateway({ config: { metrics: true }, env });
    const found = (await scrape(server.url)).samples.find(({ name }) => name === 'target_info');
    expect(found?.labels).toEqual({ service_name: 'local-llm-gateway', service_version: '1.2.3' });
    expect(server.log()).toContain(
      'OTEL_RESOURCE_ATTRIBUTES is ignored: its attribute 2 is not percent-encoded',
    );
    expect(server.log()).not.toContain('sk-1');
  });
});

describe('what goes wrong is counted exactly once', () => {
  it("a provider's refusal, a failed target, a broken stream, a client that leaves", async () => {
    const { server, upstream } = await metered();
    upstream.play({ status: 400, body: { error: { message: 'no' } } });
    expect((await ask(server, { model: 'm' })).status).toBe(400);
    upstream.play({ status: 500, body: { error: { message: 'no' } } });
    expect((await ask(server, { model: 'm' })).status).toBe(502);
    upstream.play({ steps: [START.chat + content('chat', 'a'), CUT] });
    await ask(server, { model: 'm', stream: true });
    const never = gate();
    const leaving = new AbortController();
    upstream.play({ steps: [START.chat + content('chat', 'a'), never.opened] });
    const response = await send(server, { model: 'm', stream: true, signal: leaving.signal });
    leaving.abort();
    await response.text().catch(() => undefined);

    const metrics = await counted(server, 4);
    const requests = (labels: Record<string, string>) => metrics.value('gateway_requests_total', labels);
    expect(requests({ ...MAKER, status: '400', error: 'invalid_request' })).toBe(1);
    expect(requests({ ...MAKER, status: '502', error: 'upstream' })).toBe(1);
    expect(requests({ ...MAKER, status: '499', error: 'client_closed' })).toBe(1);
    expect(metrics.sum('gateway_requests_total', { status: '200' })).toBe(1);
    expect(metrics.sum('gateway_requests_total', { error: 'none' })).toBe(0);
    expect(metrics.sum('gen_ai_client_operation_duration_seconds_count')).toBe(4);
    expect(metrics.sum('gateway_requests_refused_total')).toBe(0);
    const failures = (error: string) => metrics.value('gateway_target_failures_total', { ...MAKER, error });
    expect([failures('invalid_request'), failures('failed')]).toEqual([1, 1]);
    expect(metrics.sum('gateway_tokens_total', { kind: 'output' })).toBe(0);
  });

  it('a refusal before admission, by its endpoint, status and kind', async () => {
    const { server } = await metered({ tiers: { one: 1 } }, 'one');
    expect((await ask(server, { model: 'm' })).status).toBe(200);
    expect((await ask(server, { model: 'm' })).status).toBe(429);
    expect((await ask(server, { model: 'unknown' })).status).toBe(400);
    expect((await ask({ ...server, key: 'sk-gw-wrong' }, { protocol: 'messages' })).status).toBe(401);
    expect((await fetch(`${server.url}/nowhere`)).status).toBe(404);
    const metrics = await counted(server, 1);
    const refused = (labels: Record<string, string>) =>
      metrics.value('gateway_requests_refused_total', labels);
    expect(refused({ endpoint: 'chat', status: '429', error: 'rate_limited' })).toBe(1);
    expect(refused({ endpoint: 'chat', status: '400', error: 'model_not_found' })).toBe(1);
    expect(refused({ endpoint: 'messages', status: '401', error: 'unauthenticated' })).toBe(1);
    expect(refused({ endpoint: 'other', status: '404', error: 'not_found' })).toBe(1);
    expect(metrics.sum('gateway_requests_refused_total')).toBe(4);
  });

  it('a target that fails has the state failing, and one that is limited cools', async () => {
    const { server, upstream } = await metered();
    upstream.play({ status: 429, headers: { 'retry-after': '60' }, body: { error: { message: 'slow' } } });
    await ask(server, { model: 'm' });
    const cooling = await counted(server, 1);
    expect(cooling.value('gateway_target_state', { ...MAKER, state: 'cooling' })).toBe(1);
    expect(cooling.sum('gateway_target_state', MAKER)).toBe(1);
    const broken = { status: 500, body: { error: { message: 'no' } } };
    upstream.play(broken, broken, broken);
    for (let times = 0; times < 3; times += 1) await ask(server, { model: 'm' });
    const failing = await counted(server, 4);
    expect(failing.value('gateway_target_state', { ...MAKER, state: 'failing' })).toBe(1);
  });
});

describe('names', () => {
  it('of accounts and keys are not shown', async () => {
    const { server } = await metered();
    await ask(server, { model: 'm' });
    await counted(server, 1);
    const text = await (await fetch(`${server.url}/metrics`)).text();
    expect(text).not.toMatch(/"test"|account|sk-|key_/);
  });

  it('of accounts are shown, escaped, if the file says so; keys never', async () => {
    const { server } = await metered({ metrics: { accounts: true } });
    const account = 'a "quoted" \\ name';
    const key = await server.newKey({ account });
    await ask({ ...server, key }, { model: 'm' });
    const metrics = await counted(server, 1);
    expect(metrics.value('gateway_account_requests_total', { account })).toBe(1);
    expect(metrics.value('gateway_account_tokens_total', { account, kind: 'output' })).toBe(2);
    expect(metrics.value('gateway_account_cost_usd_total', { account })).toBe(9);
    expect(metrics.value('gateway_account_errors_total', { account })).toBe(0);
    expect(await (await fetch(`${server.url}/metrics`)).text()).not.toMatch(/sk-gw|key_/);
  });

  it('of limits say what an account has used of each, where accounts are named', async () => {
    const tiers = { enterprise: 100_000, team: { cost: '90/month', requests: '4/hour' } };
    const { server } = await metered({ tiers, metrics: { accounts: true } }, 'team');
    await ask(server, { model: 'm' });
    const metrics = await counted(server, 1);
    expect(metrics.value('gateway_limit_used_ratio', { account: 'test', kind: 'cost', per: 'month' })).toBe(
      0.1,
    );
    expect(
      metrics.value('gateway_limit_used_ratio', { account: 'test', kind: 'requests', per: 'hour' }),
    ).toBe(0.25);
    const { server: nameless } = await metered({ tiers }, 'team');
    await ask(nameless, { model: 'm' });
    expect(await (await fetch(`${nameless.url}/metrics`)).text()).not.toContain('gateway_limit_used_ratio');
  });

  it('that clients invent share one label', async () => {
    const upstream = await scriptedProvider();
    upstream.playAlways({ body: wholeOf('chat', 'hello') });
    const providers = { any: { ...provider(`${upstream.url}/v1`, 'chat', []), models: undefined } };
    const server = await gateway({ config: { providers, metrics: true } });
    for (const model of ['any/alpha', 'any/beta', 'any/"gamma"']) {
      expect((await ask(server, { model })).status).toBe(200);
    }
    const metrics = await counted(server, 3);
    const other = { provider: 'any', model: 'other' };
    expect(metrics.value('gateway_requests_total', other)).toBe(3);
    expect(metrics.samples.flatMap(({ labels }) => Object.values(labels)).join()).not.toMatch(
      /alpha|beta|gamma/,
    );
  });
});
