// Whether memory stays where it is: a million requests of every sort, for ten minutes at least.
import { residentKib } from './accounting.ts';
import type { Bench } from './measure.ts';
import { WIRES, type Kind } from './replies.ts';
import { spread, type Spread } from './rows.ts';
import { startTarget } from './targets.ts';

export interface SoakLength {
  requests: number;
  minutes: number;
}

export interface Soak {
  requests: number;
  minutes: number;
  /** MiB, sampled after every slice: of the second quarter and of the last. */
  before: Spread | undefined;
  after: Spread | undefined;
  flat: boolean;
  fault?: string;
}

const SLICE_MS = 2000;
const CONNECTIONS = 32;
/** What the last quarter may have over the second: a heap breathes, a leak does not stop at a tenth. */
const GROWTH = 1.1;

const KINDS: readonly Kind[] = ['whole', 'whole', 'whole', 'burst'];
const ROUTES = KINDS.flatMap((kind) =>
  WIRES.flatMap((wire) => WIRES.map((provider) => ({ kind, wire, provider }))),
);

export async function soak(
  { requests, minutes }: SoakLength,
  { load, target: make, say }: Bench,
): Promise<Soak> {
  const gateway = await make('gateway');
  if (gateway === undefined) throw new Error('there is no gateway to measure');
  const { target, port, pid, stop } = await startTarget(gateway);
  const at = performance.now();
  const elapsed = (): number => (performance.now() - at) / 60_000;
  const samples: number[] = [];
  let done = 0;
  let fault: string | undefined;
  for (let slice = 0; (done < requests || elapsed() < minutes) && fault === undefined; slice += 1) {
    const { kind, wire, provider } = ROUTES[slice % ROUTES.length] ?? {
      kind: 'whole',
      wire: 'chat',
      provider: 'chat',
    };
    const route = {
      port,
      wire,
      size: 'small',
      kind,
      key: target.key,
      model: target.model(provider, kind),
    } as const;
    const result = await load.run({ do: 'closed', route, connections: CONNECTIONS, forMs: SLICE_MS });
    done += result.completed;
    fault = result.fault;
    const mib = residentKib(pid) / 1024;
    samples.push(mib);
    say(`soak: ${done} requests, ${elapsed().toFixed(1)} min, ${mib.toFixed(0)} MiB`);
  }
  const took = elapsed();
  await stop();
  const quarter = Math.floor(samples.length / 4);
  const before = spread(samples.slice(quarter, quarter * 2));
  const after = spread(samples.slice(quarter * 3));
  const flat = before !== undefined && after !== undefined && after.median <= before.median * GROWTH;
  return { requests: done, minutes: took, before, after, flat, ...(fault === undefined ? {} : { fault }) };
}
