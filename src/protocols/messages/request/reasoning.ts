// Thinking towards a model of this protocol: one table between efforts and budgets, and what each model takes.
import type { JsonObject } from '../../../canonical/json.ts';
import { EFFORTS, type Effort, type Reasoning } from '../../../canonical/request.ts';
import type { Traits } from '../../../canonical/traits.ts';
import { asksToThink, BUDGETS, effortOf } from '../../shared/effort.ts';
import type { EncodeContext } from '../../shared/encode-context.ts';
import { isForced } from '../../shared/tools/function-tools.ts';

const LEAST_BUDGET = 1024;
/** What stays for the answer itself where thinking takes nearly all of the client's limit. */
const ANSWER_ROOM = 512;

export interface Thinking {
  /** The wire's `thinking`; absent: not sent. */
  thinking?: JsonObject;
  /** `output_config.effort`. */
  effort?: string;
  /** The model thinks, as far as is known: it then refuses sampling parameters and most forced calls. */
  on: boolean;
}

/** The nearest effort that the model takes. Above `high` a higher one is nearer in meaning; else a lower one, else the lowest. */
function nearestEffort(effort: Effort, taken: readonly Effort[]): Effort | undefined {
  if (effort === 'xhigh' && !taken.includes('xhigh') && taken.includes('max')) return 'max';
  const rank = EFFORTS.indexOf(effort);
  return taken.filter((item) => EFFORTS.indexOf(item) <= rank).at(-1) ?? taken[0];
}

/** Undefined: the field is not sent. */
function fitEffort(effort: Effort, encoding: EncodeContext): Effort | undefined {
  const taken = EFFORTS.filter(
    (item) => item !== 'none' && item !== 'minimal' && encoding.traits.efforts.includes(item),
  );
  const fitted = nearestEffort(effort, taken);
  if (fitted !== undefined && fitted !== effort) {
    encoding.warn('changed', 'reasoning.effort', `${effort} was sent as ${fitted}`);
  }
  return fitted;
}

function withEffort(result: Thinking, effort: Effort | undefined, encoding: EncodeContext): Thinking {
  const fitted = effort === undefined ? undefined : fitEffort(effort, encoding);
  return fitted === undefined ? result : { ...result, effort: fitted };
}

/** Thinking switched off, in the way that the model takes. */
function thinkingOff(effort: Effort | undefined, encoding: EncodeContext): Thinking {
  const { traits } = encoding;
  if (traits.thinking === false) return { on: false };
  if (traits.thinkingOff === 'never') {
    const result = withEffort({ on: traits.thinksByDefault }, 'low', encoding);
    const isLowest = result.effort !== undefined;
    encoding.warn(isLowest ? 'changed' : 'dropped', 'reasoning', 'this model cannot be kept from thinking');
    return result;
  }
  const limit = traits.thinkingOff !== 'always' && (effort === 'xhigh' || effort === 'max');
  const most = limit ? 'high' : effort;
  if (limit) encoding.warn('changed', 'reasoning.effort', `without thinking ${effort} was sent as high`);
  if (traits.thinkingOff === 'between_tools') {
    encoding.warn('changed', 'reasoning', 'this model can be kept from thinking before its first call alone');
    const least = most === undefined || most === 'none' ? 'low' : most;
    return withEffort({ thinking: { type: 'between_tools' }, on: true }, least, encoding);
  }
  const off: Thinking = { thinking: { type: 'disabled' }, on: false };
  return most === undefined || most === 'none' ? off : withEffort(off, most, encoding);
}

/** Off although it was asked for: where the effort was the budget, nothing of it is left without. */
export function thinkingTakenOff({ thinking }: Thinking, encoding: EncodeContext): Thinking {
  const { reasoning } = encoding.request;
  const wasBudget = reasoning?.ofAnswer !== true && thinking?.type === 'enabled';
  return thinkingOff(wasBudget ? undefined : reasoning?.effort, encoding);
}

/** All of it, and not between tool calls alone. */
export function canBeOff({ thinkingOff }: Traits): boolean {
  return thinkingOff === 'always' || thinkingOff === 'up_to_high';
}

/** Thinking that nobody asked for is switched off where the model takes no forced call beside it. */
export function givingWay(thinking: Thinking, encoding: EncodeContext): Thinking {
  const { request, traits } = encoding;
  const { reasoning, toolChoice, tools = [] } = request;
  if (!thinking.on || !canBeOff(traits) || traits.forcedTools !== 'not_thinking') return thinking;
  if (!isForced(toolChoice) || tools.length === 0 || asksToThink(reasoning)) return thinking;
  encoding.warn('changed', 'reasoning', 'switched off, since a call is forced');
  return thinkingOff(reasoning?.effort, encoding);
}

function display({ display }: Reasoning): JsonObject {
  return display === undefined ? {} : { display };
}

function withBudget(
  reasoning: Reasoning,
  wanted: number,
  maxTokens: number,
  encoding: EncodeContext,
): Thinking {
  if (maxTokens <= LEAST_BUDGET) {
    encoding.warn('dropped', 'reasoning', `max_tokens ${maxTokens} leaves no room to think`);
    return thinkingOff(undefined, encoding);
  }
  const budget = Math.min(wanted, Math.max(LEAST_BUDGET, Math.floor(maxTokens) - ANSWER_ROOM));
  if (reasoning.budgetTokens !== undefined && budget !== reasoning.budgetTokens) {
    encoding.warn('changed', 'reasoning.budgetTokens', `${reasoning.budgetTokens} was sent as ${budget}`);
  } else if (reasoning.effort !== undefined && budget < wanted) {
    encoding.warn('changed', 'reasoning.effort', `the limit of ${maxTokens} leaves a budget of ${budget}`);
  }
  return { thinking: { type: 'enabled', budget_tokens: budget, ...display(reasoning) }, on: true };
}

/** Providers refuse a fraction. */
function wantedBudget({ mode, effort, budgetTokens }: Reasoning): number {
  if (budgetTokens !== undefined) return Math.max(LEAST_BUDGET, Math.floor(budgetTokens));
  return BUDGETS[effort ?? (mode === 'adaptive' ? 'high' : 'medium')];
}

/** The request only sets whether thinking is shown. */
function isSilent({ mode, effort, budgetTokens }: Reasoning): boolean {
  return mode === undefined && effort === undefined && budgetTokens === undefined;
}

/** Tokens that thinking may take where nobody set a limit: the answer's own default comes on top. */
export function thinkingRoom({ request, traits }: EncodeContext): number {
  const { reasoning } = request;
  const thinks = reasoning?.mode === 'on' || (reasoning?.mode === undefined && reasoning?.ofAnswer !== true);
  if (
    reasoning === undefined ||
    isSilent(reasoning) ||
    !thinks ||
    traits.thinking === false ||
    !traits.thinkingBudget
  )
    return 0;
  return wantedBudget(reasoning);
}

function thinkingOn(reasoning: Reasoning, maxTokens: number, encoding: EncodeContext): Thinking {
  const { traits } = encoding;
  const { budgetTokens } = reasoning;
  const effort = reasoning.effort ?? (budgetTokens === undefined ? undefined : effortOf(budgetTokens));
  const asked = reasoning.mode === 'on' && budgetTokens !== undefined;
  const takesBudget = asked && traits.thinkingBudget;
  if (traits.thinkingForm === 'adaptive' || (traits.thinkingAdaptive && !takesBudget)) {
    if (asked && traits.efforts.length > 0)
      encoding.warn('changed', 'reasoning.budgetTokens', 'sent as an effort');
    else if (asked)
      encoding.warn('dropped', 'reasoning.budgetTokens', 'this model thinks as much as it sees fit');
    return withEffort({ thinking: { type: 'adaptive', ...display(reasoning) }, on: true }, effort, encoding);
  }
  if (traits.thinkingBudget) {
    const result = withBudget(reasoning, wantedBudget(reasoning), maxTokens, encoding);
    // The budget says all that an effort of the thinking does.
    return reasoning.ofAnswer === true ? withEffort(result, reasoning.effort, encoding) : result;
  }
  return withEffort({ on: true }, effort ?? 'medium', encoding);
}

/**
 * `maxTokens`: the limit that is sent; on both wires it holds thinking and answer together. `lostThinking`: the open tool turn
 * lacks the thinking that must stand at its beginning.
 */
export function encodeReasoning(maxTokens: number, lostThinking: boolean, encoding: EncodeContext): Thinking {
  const { traits } = encoding;
  const { reasoning } = encoding.request;
  const silent: Thinking = { on: traits.thinksByDefault };
  if (reasoning === undefined || isSilent(reasoning)) return silent;
  const { mode, effort } = reasoning;
  if (mode === 'off' || (mode === undefined && effort === 'none')) return thinkingOff(effort, encoding);
  if (traits.thinking === false) {
    encoding.warn('dropped', 'reasoning', 'this model does not think');
    return { on: false };
  }
  if (mode === 'between_tools') return withEffort({ thinking: { type: mode }, on: true }, effort, encoding);
  if (mode === undefined && reasoning.ofAnswer === true) return withEffort(silent, effort, encoding);
  const result = thinkingOn(reasoning, maxTokens, encoding);
  if (!lostThinking || result.thinking?.type !== 'enabled') return result;
  if (traits.thinkingAdaptive) {
    encoding.warn(
      'changed',
      'reasoning',
      'sent as adaptive: the thinking of the open tool turn did not come back',
    );
    return { ...result, thinking: { type: 'adaptive', ...display(reasoning) } };
  }
  encoding.warn('suspended', 'reasoning', 'the thinking of the open tool turn did not come back');
  return thinkingTakenOff(result, encoding);
}
