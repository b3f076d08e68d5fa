// Debian's Prometheus with what the documentation ships: promtool checks the page of metrics and the alert rules, a real server scrapes
// a gateway, each query of the dashboard has an answer, and alerts fire for what they are for.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { parse } from 'yaml';
import { ask, send } from '../helpers/ask.ts';
import { gateway, provider, type TestGateway } from '../helpers/gateway.ts';
import { scrape } from '../helpers/prometheus.ts';
import { freePort } from '../helpers/postgres.ts';
import { gate, type Script, scriptedProvider } from '../helpers/scripted-provider.ts';
import { content, FINISH, START, TERMINAL, wholeOf } from '../gateway/wire.ts';

const shipped = (name: string): string =>
  fileURLToPath(new URL(`../../docs/grafana/${name}`, import.meta.url));
const isThere = (program: string): boolean => spawnSync(program, ['--version']).status === 0;

const hasPrometheus = isThere('promtool') && isThere('prometheus');
if (!hasPrometheus)
  console.warn('LEFT OUT: prometheus is not installed, so the metrics are not checked by promtool');

/** The machine may be busy with other tests. */
const LONG = { timeout: 60_000, interval: 100 };

interface Used {
  server: TestGateway;
  /** Sends every kind of request that the dashboard shows: three that are admitted, one that is refused. */
  use: () => Promise<void>;
}

async function started(metrics: boolean | { accounts: true }, env = {}): Promise<Used> {
  const upstream = await scriptedProvider();
  upstream.playAlways({ status: 500, body: { error: { message: 'no' } } });
  const maker = provider(`${upstream.url}/v1`, 'messages', [{ id: 'm', price: { input: 1, output: 2 } }]);
  const server = await gateway({
    config: { providers: { maker }, metrics, tiers: { enterprise: 100_000 } },
    env,
  });
  async function use(): Promise<void> {
    upstream.play({ body: wholeOf('messages', 'hello') });
    await ask(server, { model: 'm' });
    // Streams that arrive at once have no pace.
    const rest = gate();
    const end = FINISH.messages + TERMINAL.messages;
    upstream.play({ steps: [START.messages + content('messages', 'a'), rest.opened, end] });
    const stream = await send(server, { model: 'm', stream: true });
    setTimeout(() => rest.open(), 100);
    await stream.text();
    await ask(server, { model: 'm' });
    await ask(server, { model: 'unknown' });
  }
  return { server, use };
}

interface Query {
  title: string;
  expression: string;
  legend: string;
}

/** Of the dashboard, with what Grafana puts in. */
function dashboardQueries(): Query[] {
  const { panels } = JSON.parse(readFileSync(shipped('dashboard.json'), 'utf8')) as {
    panels: { title?: string; targets?: { expr: string; legendFormat?: string }[] }[];
  };
  return panels.flatMap(({ title = '', targets = [] }) =>
    targets.map(({ expr, legendFormat: legend = '' }) => ({
      title,
      legend,
      expression: expr.replaceAll('$__rate_interval', '1m').replaceAll(/\$(provider|model)\b/g, '.*'),
    })),
  );
}

/** A server that scrapes the gateway five times a second. `rules`: in place of the file that is shipped. */
async function startPrometheus(target: string, rules?: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-prometheus-'));
  const port = await freePort();
  const config = {
    global: { scrape_interval: '200ms', evaluation_interval: '200ms' },
    rule_files: [rules === undefined ? shipped('alerts.yaml') : join(folder, 'rules.yaml')],
    scrape_configs: [{ job_name: 'gateway', static_configs: [{ targets: [new URL(target).host] }] }],
  };
  if (rules !== undefined) writeFileSync(join(folder, 'rules.yaml'), rules);
  // JSON is YAML.
  writeFileSync(join(folder, 'prometheus.yml'), JSON.stringify(config));
  const child = spawn(
    'prometheus',
    [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: 'ignore' },
  );
  const ended = once(child, 'exit');
  onTestFinished(async () => {
    child.kill();
    await ended;
    rmSync(folder, { recursive: true, force: true });
  });
  const url = `http://127.0.0.1:${port}`;
  await vi.waitFor(async () => expect((await fetch(`${url}/-/ready`)).status).toBe(200), LONG);
  return url;
}

async function queried(url: string, expression: string): Promise<{ value: [number, string] }[]> {
  const response = await fetch(
    `${url}/api/v1/query?${new URLSearchParams({ query: expression }).toString()}`,
  );
  const { data, error } = (await response.json()) as {
    data?: { result: { value: [number, string] }[] };
    error?: string;
  };
  if (data === undefined) throw new Error(`${expression}: ${error ?? ''}`);
  return data.result;
}

interface Rule {
  alert: string;
  expr: string;
  annotations: { summary: string };
}

function alertRules(): Rule[] {
  const { groups } = parse(readFileSync(shipped('alerts.yaml'), 'utf8')) as { groups: { rules: Rule[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

/** Labels that Prometheus itself adds, and those of a bucket. */
const ADDED = ['job', 'instance', 'le'];
const METRIC = /\b(?:gateway|gen_ai|process|nodejs)_\w+|\bup\b/g;

/** What a query names that no series has; `shown`: the labels that its text is written with. */
function unknownIn(
  { title, expression }: Query,
  shown: readonly string[],
  known: ReadonlyMap<string, ReadonlySet<string>>,
): string[] {
  const selectors = [...expression.matchAll(/(\w+)\{([^}]*)\}/g)].flatMap(([, name = '', body = '']) =>
    [...body.matchAll(/(\w+)\s*[!=]/g)].map(([, label = '']) => [name, label] as const),
  );
  const names = (expression.replaceAll(/\{[^}]*\}|\bby \([^)]*\)/g, '').match(METRIC) ?? []).filter(
    (name) => !known.has(name),
  );
  const inQuery = (expression.match(METRIC) ?? []).flatMap((name) => [...(known.get(name) ?? [])]);
  const grouped = [...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) =>
    list.split(/,\s*/),
  );
  return [
    ...names,
    ...selectors.filter(([name, label]) => !(known.get(name)?.has(label) ?? false)).map(String),
    ...[...grouped, ...shown].filter((label) => !inQuery.includes(label)),
  ].map((what) => `${title}: ${what}`);
}

/** A rule about a metric or a label that does not exist is valid, and silent for ever. */
it('the dashboard and the alert rules name metrics and labels that the gateway has', async () => {
  const { server, use } = await started(true);
  await use();
  const known = new Map([['up', new Set(ADDED)]]);
  for (const { name, labels } of (await scrape(server.url)).samples)
    known.set(name, new Set([...(known.get(name) ?? ADDED), ...Object.keys(labels)]));
  const queries = dashboardQueries();
  expect(queries.length).toBeGreaterThan(20);
  const rules = alertRules();
  expect(rules.length).toBeGreaterThan(5);
  const labelsIn = (text: string, pattern: RegExp): string[] =>
    [...text.matchAll(pattern)].map(([, label = '']) => label);
  const unknown = [
    ...queries.flatMap((query) => unknownIn(query, labelsIn(query.legend, /\{\{(\w+)\}\}/g), known)),
    ...rules.flatMap(({ alert: title, expr: expression, annotations: { summary } }) =>
      unknownIn({ title, expression, legend: '' }, labelsIn(summary, /\$labels\.(\w+)/g), known),
    ),
  ];
  expect(unknown).toEqual([]);
});

describe.skipIf(!hasPrometheus)('promtool', () => {
  it('finds nothing wrong with /metrics', async () => {
    const { server, use } = await started({ accounts: true });
    await use();
    const input = await (await fetch(`${server.url}/metrics`)).text();
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input });
    expect([status, `${stdout.toString()}${stderr.toString()}`]).toEqual([0, '']);
  });

  it('sees each alert fire for what it is for, and none for a few requests', () => {
    const cases = fileURLToPath(new URL('alerts.promtool.yaml', import.meta.url));
    const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', cases]);
    expect([status, stderr.toString()]).toEqual([0, '']);
    expect(stdout.toString()).toContain('SUCCESS');
    // None is left out.
    const text = readFileSync(cases, 'utf8');
    expect(alertRules().filter(({ alert }) => !text.includes(`alertname: ${alert}`))).toEqual([]);
  });

  it('finds nothing wrong with the alert rules', () => {
    const { status, stdout } = spawnSync('promtool', ['check', 'rules', shipped('alerts.yaml')]);
    expect([status, stdout.toString()]).toEqual([0, expect.stringMatching(/SUCCESS: \d+ rules found/)]);
  });
});

interface Evaluated {
  name: string;
  health: string;
  state: 'inactive' | 'pending' | 'firing';
  lastEvaluation: string;
  alerts: { labels: Record<string, string>; annotations: Record<string, string> }[];
}

async function evaluated(url: string): Promise<Evaluated[]> {
  const { data } = (await (await fetch(`${url}/api/v1/rules`)).json()) as {
    data: { groups: { rules: Evaluated[] }[] };
  };
  return data.groups.flatMap(({ rules }) => rules);
}

describe.skipIf(!hasPrometheus)('a Prometheus server', { timeout: 120_000 }, () => {
  it('scrapes the gateway, answers each query of the dashboard, and evaluates the alert rules', async () => {
    const { server, use } = await started(true, { OTEL_RESOURCE_ATTRIBUTES: 'team=a%2Cb' });
    const url = await startPrometheus(server.url);
    await use();
    await vi.waitFor(async () => {
      expect((await queried(url, 'up{job="gateway"}'))[0]?.value[1]).toBe('1');
      expect((await queried(url, 'sum(gateway_requests_total)'))[0]?.value[1]).toBe('3');
    }, LONG);
    // A rate needs two samples with a change between them.
    await use();
    await vi.waitFor(async () => {
      expect((await queried(url, 'sum(gateway_requests_total)'))[0]?.value[1]).toBe('6');
    }, LONG);
    // Two more in a row: the target fails.
    await ask(server, { model: 'm' });
    await ask(server, { model: 'm' });
    await vi.waitFor(async () => {
      const failing = await queried(url, 'gateway_target_state{state="failing"} == 1');
      expect(failing).toHaveLength(1);
    }, LONG);
    const queries = dashboardQueries();
    expect(queries.length).toBeGreaterThan(15);
    const empty: string[] = [];
    for (const { title, expression } of queries)
      if ((await queried(url, expression)).length === 0) empty.push(title);
    expect(empty).toEqual([]);
    const joined =
      'sum by (team) (gateway_requests_total * on (job, instance) group_left (team) target_info)';
    expect(await queried(url, joined)).toMatchObject([{ metric: { team: 'a,b' } }]);

    const rules = await vi.waitFor(async () => {
      const found = await evaluated(url);
      expect(found.every(({ health }) => health !== 'unknown')).toBe(true);
      return found;
    }, LONG);
    expect(rules.length).toBeGreaterThan(5);
    expect(rules.filter(({ health }) => health !== 'ok')).toEqual([]);
  });

  it('fires at a storm of failures, and not at one failure of a few requests', async () => {
    const upstream = await scriptedProvider();
    const providers = { maker: provider(`${upstream.url}/v1`, 'chat', ['m']) };
    const server = await gateway({ config: { providers, metrics: true, tiers: { enterprise: 100_000 } } });
    // The windows of a test; shares and the least number of requests are as they are shipped.
    const rules = readFileSync(shipped('alerts.yaml'), 'utf8');
    const url = await startPrometheus(
      server.url,
      rules.replaceAll('[10m]', '[2m]').replaceAll(/for: \d+m/g, 'for: 1s'),
    );
    const good = { body: wholeOf('chat', 'hello') };
    const bad = { status: 500, body: { error: { message: 'no' } } };
    let requests = 0;
    const play = async (...scripts: Script[]): Promise<void> => {
      upstream.play(...scripts);
      for (const _ of scripts) await ask(server, { model: 'm' });
      requests += scripts.length;
      await vi.waitFor(async () => {
        expect(Number((await queried(url, 'sum(gateway_requests_total)'))[0]?.value[1])).toBe(requests);
      }, LONG);
    };
    const errors = async (): Promise<Evaluated | undefined> =>
      (await evaluated(url)).find(({ name }) => name === 'GatewayErrors');
    // A rate needs a sample before.
    await play(good, bad);
    await play(good, bad, good, good);
    const share =
      'sum(rate(gateway_requests_total{error="upstream"}[2m])) / sum(rate(gateway_requests_total[2m]))';
    await vi.waitFor(async () => {
      expect(Number((await queried(url, share))[0]?.value[1])).toBeGreaterThan(0.05);
    }, LONG);
    const since = Date.now() + 2000;
    await vi.waitFor(async () => {
      const rule = await errors();
      expect(Date.parse(rule?.lastEvaluation ?? '')).toBeGreaterThan(since);
      expect(rule?.state).toBe('inactive');
    }, LONG);

    await play(...Array.from({ length: 24 }, () => [good, bad]).flat());
    await vi.waitFor(async () => {
      const rule = await errors();
      expect(rule?.state).toBe('firing');
      expect(rule?.alerts[0]?.labels).toMatchObject({ provider: 'maker', model: 'm', severity: 'warning' });
      expect(rule?.alerts[0]?.annotations['summary']).toMatch(/^\d.*% of the requests to maker\/m fail\.$/);
    }, LONG);
  });
});
