// What is measured: the two references and a gateway, ours or any other, each started the same way.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../helpers/postgres.ts';
import { openConnection, requestBytes } from './connection.ts';
import { ownGateways } from './own-gateways.ts';
import { ownProgram, start, type Core, type Program, type Running } from './processes.ts';
import type { Kind, Wire } from './replies.ts';
import type { Route } from './jobs.ts';

/** `gateway` has a SQLite file. `observed`: with metrics, the admin API, and one who looks at its page. */
export type TargetName =
  'bare' | 'floor' | 'gateway' | 'postgres' | 'observed' | 'one worker' | 'two workers';

/** Every run has them. */
export const USUAL = ['bare', 'floor', 'gateway'] as const satisfies readonly TargetName[];

export interface Target {
  name: TargetName;
  key: string;
  program(port: number): Program;
  /** `measured`, where it is not given. */
  core?: Core;
  /** What a client sends as `model` to be answered by a provider of that protocol. */
  model(provider: Wire, kind: Kind): string;
  /** Begins what goes on beside the requests; the returned function ends it. */
  accompany?(port: number): Promise<() => void>;
}

export interface Gateway {
  /** `{port}` and `{stub}` (the providers' base URL, which ends in /v1) are filled in. */
  command: string;
  key: string;
  /** `{kind}` is filled in. */
  models: Record<Wire, string>;
}

export interface Workplace {
  /** undefined: there is none here; why was said. */
  target: (name: TargetName) => Promise<Target | undefined>;
  /** What one commit of a row takes in the database of the target `postgres`, in milliseconds. */
  commit: () => Promise<number>;
  stubPort: number;
  stubPid: number;
  dispose: () => Promise<void>;
}

const START_MS = 20_000;
const AGAIN_MS = 3;

/** A folder for the databases, the stub, and the targets, none of which is started. */
export async function createWorkplace(
  other: Gateway | undefined,
  say: (what: string) => void,
): Promise<Workplace> {
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
  const own = ownGateways(folder, origin);

  async function make(name: TargetName): Promise<Target | undefined> {
    if (name === 'bare') return bare;
    if (name === 'floor') return floor;
    if (other !== undefined) return name === 'gateway' ? otherGateway(other, origin) : undefined;
    try {
      return await own.make(name);
    } catch (error) {
      if (name === 'gateway') throw error;
      say(`${name} is left out: ${error instanceof Error ? error.message : String(error)}`);
      return undefined;
    }
  }

  const made = new Map<TargetName, Promise<Target | undefined>>();
  return {
    target(name) {
      const target = made.get(name) ?? make(name);
      made.set(name, target);
      return target;
    },
    commit: () => own.commit(),
    stubPort,
    stubPid: stub.pid,
    async dispose() {
      await stub.stop();
      await own.dispose();
      rmSync(folder, { recursive: true, force: true });
    },
  };
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
  port: number;
  pid: number;
  /** Milliseconds from the start of the process to its first 200. */
  firstAnswerMs: number;
  stop: () => Promise<void>;
}

/** Those that exist here, in order. */
export async function startTargets(
  names: readonly TargetName[],
  { target }: Pick<Workplace, 'target'>,
): Promise<Started[]> {
  const started: Started[] = [];
  for (const name of names) {
    const found = await target(name);
    if (found !== undefined) started.push(await startTarget(found));
  }
  return started;
}

export async function startTarget(target: Target): Promise<Started> {
  const port = await freePort();
  const at = performance.now();
  const running = start(target.program(port), target.core ?? 'measured');
  const fault = await firstAnswer(target, running, port);
  const firstAnswerMs = performance.now() - at;
  if (fault !== undefined) {
    await running.stop();
    throw new Error(`${target.name} gave no first answer: ${fault} ${running.stderr()}`);
  }
  const leave = await target.accompany?.(port);
  return {
    target,
    port,
    pid: running.pid,
    firstAnswerMs,
    stop() {
      leave?.();
      return running.stop();
    },
  };
}

/** Gives the last fault, if there was no answer in time. */
async function firstAnswer(target: Target, running: Running, port: number): Promise<string | undefined> {
  const route: Route = {
    port,
    wire: 'chat',
    size: 'small',
    kind: 'whole',
    key: target.key,
    model: target.model('chat', 'whole'),
  };
  const request = requestBytes(route);
  const end = performance.now() + START_MS;
  let fault = '';
  while (performance.now() < end && running.child.exitCode === null) {
    try {
      const connection = await openConnection(route, 'end');
      await connection.send(request).finally(() => connection.close());
      return undefined;
    } catch (error) {
      fault = error instanceof Error ? error.message : String(error);
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
  return fault;
}
