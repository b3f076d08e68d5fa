// The time of a request in steps, from its arrival to its last byte: what it waited, each attempt, the first byte, the rest of the answer.
import type { RequestJson } from '../../api.ts';

export interface Step {
  kind: 'waited' | 'failed' | 'thought' | 'answered';
  /** Of an attempt. */
  target: string | undefined;
  /** What failed. */
  error: string | undefined;
  ms: number;
}

type Timed = Pick<RequestJson, 'duration_ms' | 'first_byte_ms' | 'provider' | 'model' | 'error' | 'detail'>;

/** Less than this is rounding. */
const LEAST_MS = 1;

/** Empty: nothing is known of its time. Their sum is the whole time, but for rounding. */
export function stepsOf(request: Timed): Step[] {
  const { duration_ms: whole, first_byte_ms: first, provider, model, error, detail } = request;
  if (whole === null) return [];
  const only =
    provider === null ? [] : [{ target: `${provider}/${model ?? ''}`, ms: whole - (detail.waited_ms ?? 0) }];
  const attempts: readonly { target: string; ms: number; error?: string }[] = detail.attempts ?? only;
  const tried = attempts.reduce((sum, { ms }) => sum + ms, 0);
  const waited = Math.max(0, whole - tried);
  const steps: Step[] = [{ kind: 'waited', target: undefined, error: undefined, ms: waited }];
  for (const [at, { target, ms, error: fault }] of attempts.entries()) {
    const isLast = at === attempts.length - 1;
    const began = whole - ms;
    const isAnswer = fault === undefined && isLast;
    if (!isAnswer || (first === null && error !== null))
      steps.push({ kind: 'failed', target, error: fault ?? error ?? undefined, ms });
    else {
      const thought = Math.min(ms, Math.max(0, (first ?? whole) - began));
      steps.push({ kind: 'thought', target, error: undefined, ms: thought });
      steps.push({ kind: 'answered', target, error: error ?? undefined, ms: ms - thought });
    }
  }
  return steps.filter(({ ms }) => ms >= LEAST_MS);
}
