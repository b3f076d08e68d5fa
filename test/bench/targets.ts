// What is measured: the two references and a gateway, ours or any other, each started the same way.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openConnection, requestBytes } from './connection.ts';
import type { Route } from './jobs.ts';
import { freePort, ownProgram, start, type Program, type Running } from './processes.ts';
import { KINDS, WIRES, type Kind, type Wire } from './replies.ts';

export const TARGET_NAMES = ['bare', 'floor', 'gateway'] as const;
export type TargetName = (typeof TARGET_NAMES)[number];

export interface Target {
  name: TargetName;
  key: string;
  program(port: number): Program;
  /** What a client sends as `model` to be answered by a provider of that protocol. */
  model(provider: Wire, kind: Kind): string;
}

export interface Gateway {
  /** `{port}` and `{stub}` (the providers' base URL, which ends in /v1) are filled in. */
  command: string;
  key: string;
  /** `{kind}` is filled in. */
  models: Record<Wire, string>;
}

export interface Workplace {
  targets: Record<TargetName, Target>;
  stubPort: number;
  dispose: () => Promise<void>;
}

const START_MS = 20_000;
const AGAIN_MS = 3;
const LIMIT = 1_000_000_000;

/** A folder for the databases, the stub, and the targets, none of which is started. */
export async function createWorkplace(other: Gateway | undefined): Promise<Workplace> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-bench-'));
  const stubPort = await freePort();
  const stub = start(ownProgram('stub', String(stubPort)), 'load');
  const origin = `http://127.0.0.1:${stubPort}`;
  const model = (provider: Wire, kind: Kind): string => `${provider}/${kind}`;
  let floors = 0;
  const bare: Target = {
    name: 'bare',
    key: 'none',
    model,
    program: (port) => ownProgram('bare', String(port), origin),
  };
  const floor: Target = {
    name: 'floor',
    key: 'none',
    model,
    program: (port) => ownProgram('floor', String(port), origin, join(folder, `floor-${(floors += 1)}.db`)),
  };
  const gateway = other === undefined ? ownGateway(folder, origin) : otherGateway(other, origin);
  return {
    targets: { bare, floor, gateway },
    stubPort,
    async dispose() {
      await stub.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function ownGateway(folder: string, origin: string): Target {
  const bin = join(process.cwd(), 'bin', 'gateway.js');
  const config = join(folder, 'gateway.yaml');
  const provider = (protocol: Wire): object => ({
    protocol,
    base_url: `${origin}/v1`,
    api_key: 'stub-key',
    models: KINDS,
  });
  writeFileSync(
    config,
    JSON.stringify({
      database: join(folder, 'gateway.db'),
      providers: Object.fromEntries(WIRES.map((wire) => [wire, provider(wire)])),
      tiers: { bench: LIMIT },
    }),
  );
  const create = ['keys', 'create', '--account', 'bench', '--tier', 'bench', '--config', config, '--json'];
  const made = spawnSync(process.execPath, [bin, ...create], { encoding: 'utf8' });
  if (made.status !== 0) throw new Error(`no key could be made: ${made.stderr}`);
  const { key } = JSON.parse(made.stdout) as { key: string };
  return {
    name: 'gateway',
    key,
    model: (protocol, kind) => `${protocol}/${kind}`,
    program: (port) => ({
      file: process.execPath,
      args: [...profiling(), bin, 'serve', '--config', config, '--port', String(port), '--log', 'off'],
    }),
  };
}

/** Options for the measured node process, such as `--cpu-prof`. */
function profiling(): string[] {
  return (process.env.BENCH_NODE_OPTIONS ?? '').split(' ').filter((option) => option !== '');
}

function otherGateway({ command, key, models }: Gateway, origin: string): Target {
  return {
    name: 'gateway',
    key,
    model: (provider, kind) => models[provider].replaceAll('{kind}', kind),
    program: (port) => {
      const filled = command.replaceAll('{port}', String(port)).replaceAll('{stub}', `${origin}/v1`);
      return { file: 'sh', args: ['-c', `exec ${filled}`] };
    },
  };
}

export interface Started {
  target: Target;
  running: Running;
  port: number;
  /** Milliseconds from the start of the process to its first 200. */
  firstAnswerMs: number;
}

export async function startTarget(target: Target): Promise<Started> {
  const port = await freePort();
  const at = performance.now();
  const running = start(target.program(port), 'measured');
  const route: Route = {
    port,
    wire: 'chat',
    size: 'small',
    kind: 'whole',
    key: target.key,
    model: target.model('chat', 'whole'),
  };
  const request = requestBytes(route);
  let fault = '';
  while (performance.now() - at < START_MS) {
    if (running.child.exitCode !== null) break;
    try {
      const connection = await openConnection(route, 'end');
      await connection.send(request).finally(() => connection.close());
      return { target, running, port, firstAnswerMs: performance.now() - at };
    } catch (error) {
      fault = error instanceof Error ? error.message : String(error);
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
  await running.stop();
  throw new Error(`${target.name} gave no first answer: ${fault} ${running.stderr()}`);
}
