// What is asked of a model's thinking on the chat wire, in any of its forms.
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import type { Effort, Reasoning } from '../../../canonical/request.ts';
import { isEffort } from '../../shared/effort.ts';

/** The thinking that a chat client asks for, in any of the known forms. `rest`: members that were not understood, by wire path. */
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
  if (included === false) found.hidden = true;
  else if (included !== true) keep('include_reasoning', included);
  return Object.keys(found).length > 0 ? { reasoning: found, rest } : { rest };
}

/** The words of OpenRouter and Groq: their clients read `reasoning`, others `reasoning_content`. */
export function readsReasoning({
  reasoning,
  include_reasoning: included,
  reasoning_format: format,
}: JsonObject): boolean {
  return isObject(reasoning) || included === true || format === 'parsed';
}

type Keep = (path: string, value: JsonValue | undefined) => void;

function setEffort(found: Reasoning, effort: Effort): void {
  found.effort ??= effort;
  if (found.effort === 'none') found.mode ??= 'off';
}

/** The form of the responses protocol, which some clients send here. The messages protocol has no field for the kind of summary. */
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
  if (exclude === true) found.hidden = true;
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
