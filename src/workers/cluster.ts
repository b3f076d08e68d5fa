// Starts a worker as a process, with Node's cluster module. SCHED_NONE: the supervisor opens the port once and accepts nothing; each
// worker accepts for itself, so that no connection waits for a process that was killed (docs/decisions/0020).
import { spawn } from 'node:child_process';
import cluster from 'node:cluster';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import {
  createChannel,
  type Calls,
  type Channel,
  type Streams,
  type Wire,
  type Failed,
  type Ready,
  type Stopped,
} from './channel.ts';
import type { Exit, Launched } from './pool.ts';

export interface WorkerProcess extends Launched<Ready> {
  readonly channel: Channel;
  /** Lines of its log, and what Node writes when it crashes. */
  readonly stderr: Readable | null;
  /** After its end: the number of usage rows that it could not write, and its last metrics. */
  readonly unwritten: number;
  readonly metrics: string;
}

/** A worker that cannot serve. */
export class WorkerFailure extends Error {
  override readonly name = 'WorkerFailure';
  readonly failed: Failed;
  constructor(failed: Failed) {
    super(failed.lines.join('; '));
    this.failed = failed;
  }
}

/** `words`: the command line of a worker. */
export function prepareWorkers(words: readonly string[]): void {
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  cluster.setupPrimary({
    exec: process.argv[1],
    execArgv: process.execArgv,
    args: [...words],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    serialization: 'advanced',
    windowsHide: true,
  });
}

/** `calls` and `streams`: those that the worker may use. If the system cannot start a process, its worker counts as ended. */
export function launchWorker(calls: Calls, streams: Streams): WorkerProcess {
  const worker = cluster.fork();
  const { process: child } = worker;
  const wire: Wire = {
    // Sending to a worker that ends fails; `exited` reports its end.
    send: (message) => void (child.connected && child.send(message, () => undefined)),
    onMessage: (listener) => void child.on('message', listener),
  };
  const exited = new Promise<Exit>((resolve) => {
    // Its last message can arrive after its end.
    child.once('exit', (code, signal) => setImmediate(() => resolve({ code, signal })));
    // Of a process: it could not be started. Of a channel: `exit` reports the end of the worker.
    worker.on('error', (error) => {
      if (child.pid !== undefined) return;
      const lines = [`a worker could not be started: ${error.message}`];
      settle.reject(new WorkerFailure({ lines, exitCode: 1 }));
      resolve({ code: null, signal: null });
    });
  });
  let stopped: Stopped = { unwritten: 0, metrics: '' };
  let settle: { resolve: (ready: Ready) => void; reject: (error: Error) => void };
  const ready = new Promise<Ready>((resolve, reject) => {
    settle = { resolve, reject };
  });
  // The promise may reject when nobody waits for it.
  ready.catch(() => undefined);
  const own: Calls = {
    ready: (value) => settle.resolve(value as Ready),
    failed: (value) => settle.reject(new WorkerFailure(value as Failed)),
    stopped: (value) => void (stopped = value as Stopped),
  };
  const started: WorkerProcess = {
    pid: child.pid ?? 0,
    ready,
    exited,
    // Missing where the process could not be started.
    stderr: child.stderr ?? null,
    channel: createChannel(wire, { ...own, ...calls }, streams),
    get unwritten() {
      return stopped.unwritten;
    },
    get metrics() {
      return stopped.metrics;
    },
    async stop(how) {
      await started.channel.call('stop', how);
    },
    lead: () => void started.channel.call('lead').catch(() => undefined),
    beat: () => started.channel.call('beat'),
    kill: () => void child.kill('SIGKILL'),
  };
  void exited.then(({ code, signal }) => {
    const how = signal === null ? `with ${code}` : `by ${signal}`;
    settle.reject(new WorkerFailure({ lines: [`a worker ended ${how} before it served`], exitCode: 1 }));
    started.channel.close();
  });
  return started;
}

export interface Guard {
  /** Watches the worker until it has ended. */
  add(worker: { readonly pid: number; readonly exited: Promise<unknown> }): void;
  /** To be called when the time that workers have for their end has changed. */
  refresh(): void;
}

/** Each line of the input has the seconds that workers have for their end, and the pids of all. A pid that is free is forgotten: the
 *  system may give it to another program. Signals of a terminal are for the supervisor. */
const SCRIPT = `trap '' INT TERM HUP
left=0 pids=
while read -r seconds line; do left=$seconds pids=$line; done
while :; do
  alive=
  for pid in $pids; do kill -0 "$pid" && alive="$alive $pid"; done
  pids=$alive
  test -z "$pids" && exit
  test "$left" -le 0 && break
  sleep 1
  left=$((left - 1))
done
kill -9 $pids`;
/** What `ps` shows. */
const NAME = 'gateway: waits for the end of the supervisor';

/** Ends the workers of a supervisor that was killed. A worker whose supervisor is gone ends its requests and itself, but one in an
 *  endless loop would hold the port for ever. A shell waits for the end of its input, which only the supervisor holds: it costs the
 *  requests nothing. `endMs`: the time that a worker has for its end. A system without /bin/sh has no guard. */
export function startGuard(endMs: () => number): Guard {
  const pids = new Set<number>();
  const shell = spawn('/bin/sh', ['-c', SCRIPT, NAME], { stdio: ['pipe', 'ignore', 'ignore'] });
  const { stdin } = shell;
  shell.on('error', () => undefined);
  stdin.on('error', () => undefined);
  shell.unref();
  (stdin as Socket).unref();
  const write = (): void => {
    if (stdin.writable) stdin.write(`${Math.ceil(endMs() / 1000)} ${[...pids].join(' ')}\n`);
  };
  return {
    refresh: write,
    add({ pid, exited }) {
      if (pid === 0) return;
      pids.add(pid);
      write();
      void exited.then(() => {
        pids.delete(pid);
        write();
      });
    },
  };
}
