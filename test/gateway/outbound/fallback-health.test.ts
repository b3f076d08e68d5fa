// What forwarding owes to a target's health, however an attempt ends.
import { expect, it } from 'vitest';
import { NEVER_CANCELLED } from '../../../src/cancellation.ts';
import { FailureError } from '../../../src/errors.ts';
import { protocols } from '../../../src/protocols/registry.ts';
import type { Trace } from '../../../src/gateway/trace.ts';
import { askTargets } from '../../../src/gateway/outbound/fallback.ts';
import type { AskOptions } from '../../../src/gateway/outbound/asking.ts';
import type { AskDeps } from '../../../src/gateway/outbound/asking.ts';

it('an attempt is over when the request with less output cannot be prepared', async () => {
  const told: string[] = [];
  const health = {
    begin: () => ({
      succeeded: () => told.push('succeeded'),
      failed: () => told.push('failed'),
      abandoned: () => told.push('abandoned'),
    }),
  };
  const tokens = { sent: 5000, limit: 20_000, output: 19_000 };
  const open = (): never => {
    throw new FailureError({ kind: 'context_overflow', message: 'too long', status: 400, tokens });
  };
  const target = { key: 'p/m', provider: { timeout: 1000, headers: {} } };
  const fault = new RangeError('a fault of our own');
  const options = {
    first: { target, protocol: protocols.chat, crossing: true },
    rest: [],
    lone: true,
    cancellation: NEVER_CANCELLED,
    inbound: {
      stream: false,
      estimate: () => 5000,
      get protocol(): never {
        throw fault;
      },
    },
  };
  const trace = { attempts: 0, failures: [] as Trace['failures'] } as Trace;
  const clock = { monotonic: () => 0 };
  const deps = { client: { open }, routing: { health, keys: { use: () => undefined } }, clock };
  await expect(askTargets(options as unknown as AskOptions, trace, deps as unknown as AskDeps)).rejects.toBe(
    fault,
  );
  expect(told).toEqual(['abandoned']);
});
