// What is asked of a model's thinking on the chat wire, in any of its forms; and efforts against budgets (PROTOCOL 6).
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import { EFFORTS, type Effort, type Reasoning } from '../../../canonical/request.ts';
import type { Traits } from '../../../canonical/traits.ts';

export function isEffort(value: JsonValue | undefined): value is Effort {
  return (EFFORTS as readonly unknown[]).includes(value);
}

/** A budget in tokens as the effort whose table value it reaches (PROTOCOL 6.1). */
const LOWER_BOUNDS: readonly (readonly [tokens: number, effort: Effort])[] = [
  [48_000, 'max'],
  [32_000, 'xhigh'],
  [24_000, 'high'],
  [10_000, 'medium'],
  [4096, 'low'],
];

function effortOfBudget(tokens: number): Effort {
  return LOWER_BOUNDS.find(([bound]) => tokens >= bound)?.[1] ?? 'minimal';
}

/** The effort that is asked for, whatever its form; undefined: nothing that chat could say. */
function askedEffort(reasoning: Reasoning): Effort | undefined {
  const { mode, effort, budgetTokens } = reasoning;
  if (mode === 'off' || mode === 'between_tools') return 'none';
  if (effort !== undefined) return effort;
  if (budgetTokens !== undefined) return effortOfBudget(budgetTokens);
  return mode === undefined ? undefined : 'medium';
}

function nearest(effort: Effort, efforts: readonly Effort[]): Effort | undefined {
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
  /** Nothing is asked, or nothing need be said. */
  | { say: 'nothing' }
  /** It was asked for, and this model has no such thing. */
  | { say: 'impossible' }
  | { say: 'effort'; effort: Effort; changed: boolean };

/** What `reasoning_effort` says to this model. */
export function chooseEffort(reasoning: Reasoning, traits: Traits): ChosenEffort {
  const asked = askedEffort(reasoning);
  if (asked === undefined) return { say: 'nothing' };
  const { efforts } = traits;
  if (traits.thinking === false || efforts.length === 0) {
    return asked === 'none' ? { say: 'nothing' } : { say: 'impossible' };
  }
  const always = traits.thinkingOff === 'never';
  if (efforts.includes(asked) && !(asked === 'none' && always)) {
    return { say: 'effort', effort: asked, changed: false };
  }
  if (asked === 'none' && !traits.thinksByDefault) return { say: 'nothing' };
  const effort = asked === 'none' ? least(efforts, always) : nearest(asked, efforts);
  return effort === undefined ? { say: 'impossible' } : { say: 'effort', effort, changed: true };
}

/** What comes nearest to no thinking; `low` where it can't be switched off (PROTOCOL 6.1). */
function least(efforts: readonly Effort[], always: boolean): Effort | undefined {
  return always && efforts.includes('low') ? 'low' : efforts.find((candidate) => candidate !== 'none');
}

/** What chat clients say of thinking, in any of its forms. `rest`: members that were not understood, by wire path. */
export function decodeReasoning(root: JsonObject): {
  reasoning?: Reasoning;
  rest: [path: string, value: JsonValue][];
} {
  const found: Reasoning = {};
  const rest: [string, JsonValue][] = [];
  const keep = (path: string, value: JsonValue | undefined) => {
    if (value !== undefined && value !== null) rest.push([path, value]);
  };
  const {
    reasoning_effort: effort,
    reasoning,
    thinking,
    enable_thinking: enabled,
    chat_template_kwargs: kwargs,
    thinking_budget: budget,
    think,
    include_reasoning: included,
  } = root;
  if (isEffort(effort)) setEffort(found, effort);
  else if (isObject(effort) && isEffort(effort.effort)) readEffortObject(effort.effort, effort, found, keep);
  else keep('reasoning_effort', effort);
  if (isObject(reasoning)) readReasoningOption(reasoning, found, keep);
  else keep('reasoning', reasoning);
  if (isObject(thinking)) readThinkingOption(thinking, found, keep);
  else keep('thinking', thinking);
  if (typeof enabled === 'boolean') found.mode ??= enabled ? 'on' : 'off';
  else keep('enable_thinking', enabled);
  if (isObject(kwargs)) {
    const { enable_thinking: inner, ...others } = kwargs;
    if (typeof inner === 'boolean') found.mode ??= inner ? 'on' : 'off';
    if (Object.keys(others).length > 0) keep('chat_template_kwargs', others);
  } else keep('chat_template_kwargs', kwargs);
  if (isEffort(think)) setEffort(found, think);
  else if (typeof think === 'boolean') found.mode ??= think ? 'on' : 'off';
  else keep('think', think);
  // Qwen's members stand side by side: switched off, it has no budget.
  if (found.mode !== 'off' && !setBudget(found, budget)) keep('thinking_budget', budget);
  if (included === false) found.display = 'omitted';
  else if (included !== true) keep('include_reasoning', included);
  return Object.keys(found).length > 0 ? { reasoning: found, rest } : { rest };
}

type Keep = (path: string, value: JsonValue | undefined) => void;

function setEffort(found: Reasoning, effort: Effort): void {
  found.effort ??= effort;
  if (found.effort === 'none') found.mode ??= 'off';
}

/** The form of the responses protocol, which some clients send here. What a summary holds no model of messages can be told. */
function readEffortObject(
  effort: Effort,
  { effort: _, ...others }: JsonObject,
  found: Reasoning,
  keep: Keep,
): void {
  setEffort(found, effort);
  for (const name in others) keep(`reasoning_effort.${name}`, others[name]);
}

function setBudget(found: Reasoning, tokens: JsonValue | undefined): boolean {
  if (typeof tokens !== 'number' || !(tokens > 0 && tokens < Infinity)) return false;
  found.budgetTokens ??= tokens;
  found.mode ??= 'on';
  return true;
}

/** OpenRouter's form. */
function readReasoningOption(option: JsonObject, found: Reasoning, keep: Keep): void {
  const { effort, max_tokens: budget, enabled, exclude, ...others } = option;
  if (isEffort(effort)) setEffort(found, effort);
  else keep('reasoning.effort', effort);
  if (!setBudget(found, budget)) keep('reasoning.max_tokens', budget);
  if (enabled === false) found.mode ??= 'off';
  else if (enabled === true && found.effort === undefined) found.mode ??= 'on';
  if (exclude === true) found.display = 'omitted';
  for (const name in others) keep(`reasoning.${name}`, others[name]);
}

const THINKING_MODES: Readonly<Record<string, Reasoning['mode']>> = {
  enabled: 'on',
  disabled: 'off',
  adaptive: 'adaptive',
  auto: 'adaptive',
};

/** The messages protocol's form, which DeepSeek (with an effort inside), GLM and others take on chat. */
function readThinkingOption(option: JsonObject, found: Reasoning, keep: Keep): void {
  const { type, budget_tokens: budget, reasoning_effort: effort, ...others } = option;
  const mode = typeof type === 'string' ? THINKING_MODES[type] : undefined;
  if (mode) found.mode ??= mode;
  else keep('thinking.type', type);
  if (isEffort(effort)) {
    if (found.mode !== 'off') setEffort(found, effort);
  } else keep('thinking.reasoning_effort', effort);
  if (found.mode !== 'off' && !setBudget(found, budget)) keep('thinking.budget_tokens', budget);
  for (const name in others) keep(`thinking.${name}`, others[name]);
}
