// The harness's side of the load client: one job at a time.
import type { Job, Result } from './jobs.ts';
import { ownProgram, start } from './processes.ts';

export interface LoadClient {
  pid: number;
  run(job: Job): Promise<Result>;
  stop(): Promise<void>;
}

export function startLoad(): LoadClient {
  const running = start({ ...ownProgram('load'), ipc: true }, 'load');
  let waiting: { resolve: (result: Result) => void; reject: (error: Error) => void } | undefined;
  running.child.on('message', (result: Result) => waiting?.resolve(result));
  running.child.on('exit', () => waiting?.reject(new Error(`the load client ended: ${running.stderr()}`)));
  return {
    pid: running.pid,
    run: (job) =>
      new Promise((resolve, reject) => {
        waiting = { resolve, reject };
        running.child.send(job);
      }),
    stop: () => running.stop(),
  };
}
