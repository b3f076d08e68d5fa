// How many requests one provider takes at once, and how many wait for it how long.
import type { ConfigFault, LineConfig } from '../config.ts';
import type { FileProvider } from '../schema/schema.ts';

const SIZE = 100;
/** 10 minutes. */
const WAIT = 600_000;

export function lineOf({ max_concurrent: maxConcurrent, queue }: FileProvider): {
  config?: LineConfig;
  faults: ConfigFault[];
} {
  if (maxConcurrent !== undefined)
    return { config: { maxConcurrent, size: queue?.size ?? SIZE, wait: queue?.wait ?? WAIT }, faults: [] };
  if (queue === undefined) return { faults: [] };
  return { faults: [{ path: ['queue'], message: 'has no effect without max_concurrent; write that, too' }] };
}
