// Efforts of thinking: their budgets of tokens, in one table, and the effort for a model that takes efforts only.
import type { JsonValue } from '../../canonical/json.ts';
import { EFFORTS, type Effort, type Reasoning } from '../../canonical/request.ts';
import type { Traits } from '../../canonical/traits.ts';

/** Tokens of thinking. From a budget to an effort each value is a lower bound, so that a round trip is stable. */
export const BUDGETS = {
  none: 0,
  minimal: 1024,
  low: 4096,
  medium: 10_000,
  high: 24_000,
  xhigh: 32_000,
  max: 48_000,
} as const satisfies Record<Effort, number>;

export function effortOf(budget: number): Effort {
  return [...EFFORTS].reverse().find((effort) => effort !== 'none' && BUDGETS[effort] <= budget) ?? 'minimal';
}

export function isEffort(value: JsonValue | undefined): value is Effort {
  return (EFFORTS as readonly unknown[]).includes(value);
}

/** Whether temperature and its kin are refused. `effort`: as it is sent; OpenAI's models that think take them while they don't. */
export function refusesSampling(effort: JsonValue | undefined, traits: Traits): boolean {
  return traits.rejectsSampling && !(effort === 'none' && traits.efforts.includes('none'));
}

/** Thinking that nobody asked for may give way to a forced call. The effort of an answer (messages) asks for no thinking. */
export function asksToThink(reasoning: Reasoning | undefined): boolean {
  if (reasoning === undefined || reasoning.mode === 'off') return false;
  const { mode, effort, budgetTokens, ofAnswer } = reasoning;
  if (mode !== undefined || budgetTokens !== undefined) return true;
  return ofAnswer !== true && effort !== undefined && effort !== 'none';
}

/** The effort that is asked for, in whatever form; undefined: nothing that an effort can express. */
export function askedEffort(reasoning: Reasoning): Effort | undefined {
  const { mode, effort, budgetTokens } = reasoning;
  if (mode === 'off' || mode === 'between_tools') return 'none';
  if (effort !== undefined) return effort;
  if (budgetTokens !== undefined) return effortOf(budgetTokens);
  return mode === undefined ? undefined : 'medium';
}

export function nearestEffort(effort: Effort, efforts: readonly Effort[]): Effort | undefined {
  const at = EFFORTS.indexOf(effort);
  let best: Effort | undefined;
  for (const candidate of efforts) {
    if (candidate === 'none') continue;
    const distance = Math.abs(EFFORTS.indexOf(candidate) - at);
    if (best === undefined || distance < Math.abs(EFFORTS.indexOf(best) - at)) best = candidate;
  }
  return best;
}

type ChosenEffort =
  /** Nothing is asked for, or the default does the same. */
  | { say: 'nothing' }
  /** Thinking is asked for, and this model cannot do it, or the other way round. */
  | { say: 'impossible'; why: string }
  | { say: 'effort'; effort: Effort; changed: boolean };

const NOT_ON_REQUEST = 'this model does not think, or not on request';
const NOT_OFF = 'this model cannot be kept from thinking';

/** The effort to send to a model that takes efforts only. */
export function chooseEffort(reasoning: Reasoning, traits: Traits): ChosenEffort {
  const asked = askedEffort(reasoning);
  if (asked === undefined) return { say: 'nothing' };
  const { efforts } = traits;
  if (traits.thinking === false || efforts.length === 0) {
    if (asked !== 'none') return { say: 'impossible', why: NOT_ON_REQUEST };
    const thinks = traits.thinking !== false && traits.thinksByDefault;
    return thinks ? { say: 'impossible', why: NOT_OFF } : { say: 'nothing' };
  }
  const always = traits.thinkingOff === 'never';
  if (efforts.includes(asked) && !(asked === 'none' && always)) {
    return { say: 'effort', effort: asked, changed: false };
  }
  if (asked === 'none' && !traits.thinksByDefault) return { say: 'nothing' };
  const effort = asked === 'none' ? least(efforts, always) : nearestEffort(asked, efforts);
  return effort === undefined
    ? { say: 'impossible', why: NOT_ON_REQUEST }
    : { say: 'effort', effort, changed: true };
}

/** The effort nearest to no thinking; `low` if thinking cannot be switched off. */
function least(efforts: readonly Effort[], always: boolean): Effort | undefined {
  return always && efforts.includes('low') ? 'low' : efforts.find((candidate) => candidate !== 'none');
}
