// Workers as processes of the system: here those that it does not start.
import { expect, it, onTestFinished } from 'vitest';
import { launchWorker, prepareWorkers } from '../../src/workers/cluster.ts';

it('a worker that the system cannot start has ended, with the reason: the pool starts it again', async () => {
  const { execPath } = process;
  process.execPath = '/nonexistent/node';
  onTestFinished(() => void (process.execPath = execPath));
  prepareWorkers(['serve']);
  const worker = launchWorker({}, {});
  await expect(worker.ready).rejects.toThrow(/^a worker could not be started: spawn .*ENOENT$/);
  expect(await worker.exited).toEqual({ code: null, signal: null });
  expect([worker.pid, worker.stderr === null || worker.stderr.readable]).toEqual([0, true]);
});
