// The files of docs/deploy that cannot be run here: they are well formed, agree with the gateway and with each other.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import type { Config } from '../../src/config/config.ts';
import { load } from '../config/folder.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const read = (name: string): string => readFileSync(join(ROOT, 'docs/deploy', name), 'utf8');
const KEYS = { ANTHROPIC_API_KEY: 'a', OPENAI_API_KEY: 'o' };

const config = (): Config => load(read('config.yaml'), { env: KEYS });
const graceS = ({ limits }: Config): number => limits.shutdownGrace / 1000;

test('config.yaml is valid and whole', () => {
  const { warnings, routes, listen } = config();
  expect(warnings).toEqual([]);
  expect(routes.get('auto')?.targets).toHaveLength(2);
  // The same name as nginx has.
  for (const name of listen.names) expect(read('nginx.conf')).toContain(`server_name ${name};`);
});

describe('the unit', () => {
  const unit = read('systemd/gateway@.service');

  test('waits longer for the end than the grace', () => {
    expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1])).toBeGreaterThan(graceS(config()));
    expect(unit).toMatch(/^KillSignal=SIGTERM$/m);
  });

  const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;
  if (!hasSystemd)
    console.warn('LEFT OUT: systemd-analyze is not here, so the unit of docs/deploy is not verified');
  test.runIf(hasSystemd)('is accepted by systemd-analyze', () => {
    const folder = mkdtempSync(join(tmpdir(), 'gateway-unit-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, 'gateway@8787.service');
    // A program that every machine has.
    writeFileSync(file, unit.replace('/usr/local/bin/gateway', '/bin/sh'));
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file], {
      encoding: 'utf8',
    });
    expect(stderr.split('\n').filter((line) => line.includes('gateway@'))).toEqual([]);
    expect(status).toBe(0);
  });
});

describe('the Containerfile', () => {
  const text = read('Containerfile').replaceAll('\\\n', '');
  const copied = [...text.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, names = '']) =>
    names.split(' '),
  );

  test('copies what the package and its build need, and nothing that is missing', () => {
    const { files } = z
      .object({ files: z.array(z.string()) })
      .parse(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')));
    for (const name of copied) expect(existsSync(join(ROOT, name)), name).toBe(true);
    const folders = files.map((name) => name.split('/', 1)[0]).filter((name) => name !== 'dist');
    const build = ['package-lock.json', 'rolldown.config.js', 'README.md', 'LICENSE'];
    expect(copied).toEqual(expect.arrayContaining([...folders, ...build]));
  });

  test('does not run as root, and checks its health without a further program', () => {
    expect(text).toMatch(/^USER [1-9]\d*:[1-9]\d*$/m);
    expect(text).toMatch(
      /^HEALTHCHECK .*CMD \["node", "-e", "fetch\('http:\/\/127\.0\.0\.1:8787\/health'\)/m,
    );
  });
});

test('the compose file: two gateways at the addresses that nginx gets, a read-only root, time to end', () => {
  const service = z.object({
    read_only: z.literal(true),
    cap_drop: z.tuple([z.literal('ALL')]),
    stop_grace_period: z.string().regex(/^\d+s$/),
    networks: z.object({ inside: z.object({ ipv4_address: z.string() }) }),
    environment: z.object({ GATEWAY_DATABASE: z.string() }),
  });
  const compose = z
    .object({
      services: z.object({
        'gateway-1': service,
        'gateway-2': service,
        nginx: z.object({ command: z.tuple([z.string()]), volumes: z.array(z.string()) }),
        postgres: z.object({ healthcheck: z.object({}) }),
      }),
    })
    .parse(parse(read('compose.yaml'), { merge: true }));
  const { 'gateway-1': first, 'gateway-2': second, nginx } = compose.services;
  for (const { stop_grace_period, environment } of [first, second]) {
    expect(Number.parseInt(stop_grace_period)).toBeGreaterThan(graceS(config()));
    const { database } = load(read('config.yaml'), { env: { ...KEYS, ...environment } });
    expect(database).toBe('postgres://gateway@postgres/gateway');
  }
  let conf = read('nginx.conf');
  for (const [, from = '', to = ''] of nginx.command[0].matchAll(/s\/([^/]+)\/([^/]+)\//g)) {
    expect(conf.split(from)).toHaveLength(2);
    conf = conf.replace(from, to);
  }
  const servers = [...conf.matchAll(/^\s+server (\S+) max_fails=0;/gm)].map(([, address]) => address);
  expect(servers).toEqual([first, second].map(({ networks }) => `${networks.inside.ipv4_address}:8787`));
});

test('the Kubernetes manifests: two pods that drain, ready by /health, without rights', () => {
  const documents = parseAllDocuments(read('kubernetes.yaml'));
  for (const { errors } of documents) expect(errors).toEqual([]);
  const kinds = documents.map((document) => z.object({ kind: z.string() }).parse(document.toJS()).kind);
  const manifest = (kind: string): unknown => documents[kinds.indexOf(kind)]?.toJS();
  const own = load(
    z.object({ data: z.object({ 'gateway.yaml': z.string() }) }).parse(manifest('ConfigMap')).data[
      'gateway.yaml'
    ],
    { env: KEYS },
  );
  expect(own.warnings).toEqual([]);
  expect(own.listen.hosts).toEqual(['0.0.0.0']);

  const { spec } = DEPLOYMENT.parse(manifest('Deployment'));
  const [container] = spec.template.spec.containers;
  const drainS = Number(container.lifecycle.preStop.exec.command[1]);
  const { terminationGracePeriodSeconds } = spec.template.spec;
  expect(terminationGracePeriodSeconds).toBeGreaterThan(drainS + graceS(own));
  const labels = spec.template.metadata.labels;
  const service = z.object({ spec: z.object({ selector: z.unknown() }) }).parse(manifest('Service'));
  expect(service.spec.selector).toEqual(labels);
  const budget = BUDGET.parse(manifest('PodDisruptionBudget'));
  expect(budget.spec.selector.matchLabels).toEqual(labels);
  const secret = z.object({ stringData: z.record(z.string(), z.string()) }).parse(manifest('Secret'));
  expect(Object.keys(secret.stringData)).toEqual(expect.arrayContaining(Object.keys(KEYS)));
});

const DEPLOYMENT = z.object({
  spec: z.object({
    replicas: z.literal(2),
    strategy: z.object({ rollingUpdate: z.object({ maxUnavailable: z.literal(0) }) }),
    template: z.object({
      metadata: z.object({ labels: z.record(z.string(), z.string()) }),
      spec: z.object({
        terminationGracePeriodSeconds: z.number(),
        securityContext: z.object({ runAsNonRoot: z.literal(true) }),
        containers: z.tuple([
          z.object({
            readinessProbe: z.object({ httpGet: z.object({ path: z.literal('/health') }) }),
            lifecycle: z.object({
              preStop: z.object({ exec: z.object({ command: z.tuple([z.literal('sleep'), z.string()]) }) }),
            }),
            securityContext: z.object({
              allowPrivilegeEscalation: z.literal(false),
              readOnlyRootFilesystem: z.literal(true),
              capabilities: z.object({ drop: z.tuple([z.literal('ALL')]) }),
            }),
          }),
        ]),
      }),
    }),
  }),
});

const BUDGET = z.object({
  spec: z.object({
    minAvailable: z.literal(1),
    selector: z.object({ matchLabels: z.record(z.string(), z.string()) }),
  }),
});
