// Ends what a gateway holds against targets: cool-downs, open breakers, and what refusals taught. For a person who has mended the
// provider, and does not want to wait.
import type { Health } from './health.ts';
import type { Lessons } from './lessons.ts';
import type { ProviderKeys } from './provider-keys.ts';

/** A target that lost a cool-down, a breaker or a lesson. */
export interface ResetTarget {
  /** `provider/model`. */
  target: string;
  /** null: requests did not avoid it. */
  state: 'cooling' | 'failing' | null;
  /** Lessons that were forgotten. */
  learnt: number;
}

interface States {
  health: Health;
  lessons: Lessons;
  keys: ProviderKeys;
}

/** `target`: `provider/model`; undefined: all. */
export function resetTargets({ health, lessons, keys }: States, target: string | undefined): ResetTarget[] {
  const isMeant = (key: string): boolean => target === undefined || key === target;
  const found = new Map<string, ResetTarget>();
  for (const [key, { breaker, coolingMs }] of health.states()) {
    const state = breaker !== 'closed' ? 'failing' : coolingMs > 0 ? 'cooling' : null;
    if (state !== null && isMeant(key)) found.set(key, { target: key, state, learnt: 0 });
  }
  for (const { target: key } of lessons.list()) {
    if (!isMeant(key)) continue;
    const row = found.get(key) ?? { target: key, state: null, learnt: 0 };
    found.set(key, { ...row, learnt: row.learnt + 1 });
  }
  for (const key of keys.cooling())
    if (isMeant(key) && !found.has(key)) found.set(key, { target: key, state: 'cooling', learnt: 0 });
  health.reset(isMeant);
  lessons.forget(isMeant);
  keys.forget(isMeant);
  return [...found.values()];
}

/** What one process of a gateway answers to `gateway targets reset`. */
export interface ResetReply {
  targets: readonly ResetTarget[];
  /** Why the target is none, and what it may be. */
  unknown?: string;
}

/** The target in the body of the question; undefined: all. */
export function targetIn(body: unknown): string | undefined {
  const { target } = (body ?? {}) as { target?: unknown };
  return typeof target === 'string' ? target : undefined;
}

/** The answers of several processes as one: a target that any of them avoided was avoided. */
export function mergeResets(replies: readonly ResetReply[]): ResetReply {
  const found = new Map<string, ResetTarget>();
  for (const { target, state, learnt } of replies.flatMap(({ targets }) => targets)) {
    const before = found.get(target);
    found.set(target, {
      target,
      state: before?.state ?? state,
      learnt: Math.max(before?.learnt ?? 0, learnt),
    });
  }
  const unknown = replies.every((reply) => reply.unknown !== undefined) ? replies[0]?.unknown : undefined;
  return { targets: [...found.values()], ...(unknown !== undefined && { unknown }) };
}
