// Debian's Prometheus with what the documentation ships: promtool checks the page of metrics and the alert rules, a real server scrapes
// a gateway, and each query of the dashboard has an answer.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { ask, send } from '../helpers/ask.ts';
import { gateway, provider, type TestGateway } from '../helpers/gateway.ts';
import { freePort } from '../helpers/postgres.ts';
import { gate, scriptedProvider } from '../helpers/scripted-provider.ts';
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

async function started(metrics: boolean | { accounts: true }): Promise<Used> {
  const upstream = await scriptedProvider();
  upstream.playAlways({ status: 500, body: { error: { message: 'no' } } });
  const maker = provider(`${upstream.url}/v1`, 'messages', [{ id: 'm', price: { input: 1, output: 2 } }]);
  const server = await gateway({
    config: { providers: { maker }, metrics, tiers: { enterprise: 100_000 } },
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
}

/** Of the dashboard, with what Grafana puts in. */
function dashboardQueries(): Query[] {
  const { panels } = JSON.parse(readFileSync(shipped('dashboard.json'), 'utf8')) as {
    panels: { title?: string; targets?: { expr: string }[] }[];
  };
  return panels.flatMap(({ title = '', targets = [] }) =>
    targets.map(({ expr }) => ({
      title,
      expression: expr.replaceAll('$__rate_interval', '1m').replaceAll(/\$(provider|model)\b/g, '.*'),
    })),
  );
}

/** A server that scrapes the gateway five times a second. */
async function startPrometheus(target: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-prometheus-'));
  const port = await freePort();
  const config = {
    global: { scrape_interval: '200ms', evaluation_interval: '200ms' },
    rule_files: [shipped('alerts.yaml')],
    scrape_configs: [{ job_name: 'gateway', static_configs: [{ targets: [new URL(target).host] }] }],
  };
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

/** A rule about a metric that does not exist is valid, and silent for ever. */
it('the dashboard and the alert rules name metrics that the gateway has', async () => {
  const { server, use } = await started(true);
  await use();
  const text = await (await fetch(`${server.url}/metrics`)).text();
  const known = new Set([...text.matchAll(/^([a-z]\w*)(?:\{| )/gm)].map(([, name]) => name));
  const labels = new Set([...text.matchAll(/[{,](\w+)="/g)].map(([, name]) => name));
  for (const file of ['dashboard.json', 'alerts.yaml']) {
    const named = readFileSync(shipped(file), 'utf8').match(/\b(?:gateway|gen_ai|process|nodejs)_\w+/g) ?? [];
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((name) => !known.has(name) && !labels.has(name))).toEqual([]);
  }
});

describe.skipIf(!hasPrometheus)('promtool', () => {
  it('finds nothing wrong with /metrics', async () => {
    const { server, use } = await started({ accounts: true });
    await use();
    const input = await (await fetch(`${server.url}/metrics`)).text();
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input });
    expect([status, `${stdout.toString()}${stderr.toString()}`]).toEqual([0, '']);
  });

  it('finds nothing wrong with the alert rules', () => {
    const { status, stdout } = spawnSync('promtool', ['check', 'rules', shipped('alerts.yaml')]);
    expect([status, stdout.toString()]).toEqual([0, expect.stringMatching(/SUCCESS: \d+ rules found/)]);
  });
});

describe.skipIf(!hasPrometheus)('a Prometheus server', { timeout: 120_000 }, () => {
  it('scrapes the gateway, answers each query of the dashboard, and evaluates the alert rules', async () => {
    const { server, use } = await started(true);
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

    const rules = await vi.waitFor(async () => {
      const { data } = (await (await fetch(`${url}/api/v1/rules`)).json()) as {
        data: { groups: { rules: { name: string; health: string; lastError?: string }[] }[] };
      };
      const found = data.groups.flatMap((group) => group.rules);
      expect(found.every(({ health }) => health !== 'unknown')).toBe(true);
      return found;
    }, LONG);
    expect(rules.length).toBeGreaterThan(5);
    expect(rules.filter(({ health }) => health !== 'ok')).toEqual([]);
  });
});
