// The keys of a provider that has several: a request takes the first that does not cool down. A key that is refused, out of quota or rate
// limited cools by itself, for each model; the next one is asked at once, and no request is lost.
import type { Clock } from '../../clock.ts';
import type { FailureKind, ProviderFailure } from '../../errors.ts';
import type { Target } from '../targets.ts';
import { createHealth, type HealthTicket, type SharedHealth } from './health.ts';

/** A request with one of its provider's keys. The first of its ends counts. */
export interface KeyUse {
  /** From 1 on, in the order of the configuration. */
  readonly number: number;
  readonly key: string;
  succeeded(): void;
  /** The next key to ask with; undefined: the failure is not the key's, or no other key can help. */
  failed(failure: ProviderFailure): KeyUse | undefined;
  /** Where every key failed: the failure of the one that can be asked again first. */
  lastOf(failure: ProviderFailure): ProviderFailure;
  abandoned(): void;
}

export interface ProviderKeys {
  /** undefined: the provider has no more than one key. */
  use(target: Target): KeyUse | undefined;
  /** Targets with a key that cools down. */
  cooling(): string[];
  adopt(id: string, shared: SharedHealth): void;
  /** Ends the cool-downs of targets that pass `test`. Returns their keys. */
  forget(test: (target: string) => boolean): void;
}

const OF_THE_KEY: ReadonlySet<FailureKind> = new Set(['rate_limited', 'provider_key', 'billing']);

export function createProviderKeys(
  clock: Clock,
  onChange?: (id: string, shared: SharedHealth) => void,
): ProviderKeys {
  const health = createHealth(clock, onChange);
  const coolingMs = (id: string): number => health.state(id).coolingMs;

  function begin({ key: target }: Target, keys: readonly string[], failures: readonly ProviderFailure[]) {
    const ids = keys.map((_, at) => idOf(target, at));
    return start(0, failures);

    /** The first key from `from` on that does not cool; the first request finds one in any case. */
    function start(from: number, before: readonly ProviderFailure[]): KeyUse | undefined {
      const ready = ids.findIndex((id, at) => at >= from && coolingMs(id) === 0);
      const at = ready >= 0 ? ready : before.length === 0 ? soonest(ids.map(coolingMs)) : -1;
      const [id, key] = [ids[at], keys[at]];
      if (id === undefined || key === undefined) return undefined;
      return useOf({ at, key, ticket: health.begin(id, true), before });
    }

    function useOf(found: {
      at: number;
      key: string;
      ticket: HealthTicket | undefined;
      before: readonly ProviderFailure[];
    }): KeyUse {
      const { at, key, ticket, before } = found;
      return {
        number: at + 1,
        key,
        succeeded: () => {
          ticket?.succeeded(0);
          ticket?.ended();
        },
        abandoned: () => ticket?.abandoned(),
        failed(failure) {
          if (!OF_THE_KEY.has(failure.kind)) {
            ticket?.abandoned();
            return undefined;
          }
          // A key without quota is tried again now and then, as after a rate limit.
          ticket?.failed({ ...failure, kind: 'rate_limited' });
          return start(at + 1, [...before, failure]);
        },
        lastOf(failure) {
          const limited = [...before, failure].find(({ kind }) => kind === 'rate_limited');
          if (!OF_THE_KEY.has(failure.kind) || limited === undefined) return failure;
          return { ...limited, retryAfterMs: Math.max(1, Math.min(...ids.map(coolingMs))) };
        },
      };
    }
  }

  return {
    use: (target) => {
      const { apiKeys } = target.provider;
      return apiKeys === undefined ? undefined : begin(target, apiKeys, []);
    },
    adopt: (id, shared) => health.adopt(id, shared),
    cooling: () => health.states().flatMap(([id, { coolingMs }]) => (coolingMs > 0 ? [targetOf(id)] : [])),
    forget: (test) => health.forget((id) => test(targetOf(id))),
  };
}

/** Names of models hold no space. */
const idOf = (target: string, at: number): string => `${target} ${at + 1}`;

const targetOf = (id: string): string => id.slice(0, id.lastIndexOf(' '));

function soonest(waits: readonly number[]): number {
  return waits.indexOf(Math.min(...waits));
}
