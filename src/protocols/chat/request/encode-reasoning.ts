// The thinking of a chat request: whether the model may think beside what else is asked for, and the members that tell this server.
import type { JsonObject, JsonValue } from '../../../canonical/json.ts';
import type { Effort, Reasoning } from '../../../canonical/request.ts';
import type { Traits } from '../../../canonical/traits.ts';
import { askedEffort, BUDGETS } from '../../shared/effort.ts';
import type { EncodeContext } from '../../shared/encode-context.ts';
import { isForced } from '../../shared/tools/function-tools.ts';
import { effortToSend, reportThinkingBetweenTools } from '../../shared/openai/fields.ts';

/** What goes together in this request. */
export interface Thinking {
  mayForce: boolean;
  /** Why thinking is switched off without anybody asking for that. */
  off?: string;
}

/** `forcesFormat`: a forced call stands for structured output. */
export function planThinking({ request, traits }: EncodeContext, forcesFormat: boolean): Thinking {
  const { tools = [], toolChoice, reasoning } = request;
  const { forcedTools, toolsWhileThinking } = traits;
  const mayForce = forcedTools !== 'never';
  if (!isThinking(reasoning, traits)) return { mayForce };
  const hasTools = tools.length > 0 || forcesFormat;
  if (hasTools && toolsWhileThinking === 'not_on_chat' && canBeOff(traits)) {
    return { mayForce, off: 'this model takes no tools on chat while it thinks' };
  }
  // Where nothing is known of a model, it is not known to refuse that either.
  const isKnown = traits.thinking === true || traits.thinksByDefault;
  if (forcedTools !== 'not_thinking' || !isKnown) return { mayForce };
  const isFree = reasoning === undefined || askedEffort(reasoning) === undefined;
  if (isFree && canBeOff(traits) && (forcesFormat || (tools.length > 0 && isForced(toolChoice)))) {
    return { mayForce: true, off: 'this model takes no forced call while it thinks' };
  }
  return { mayForce: false };
}

function isThinking(reasoning: Reasoning | undefined, traits: Traits): boolean {
  if (traits.thinking === false) return false;
  const asked = reasoning && askedEffort(reasoning);
  if (asked === undefined) return traits.thinksByDefault;
  return asked !== 'none' || (traits.thinksByDefault && !canBeOff(traits));
}

function canBeOff({ thinkingForm, thinkingOff, efforts }: Traits): boolean {
  return thinkingOff !== 'never' && (thinkingForm !== 'effort' || efforts.includes('none'));
}

/** The member that switches thinking, by its form. */
const SWITCHES: Readonly<
  Record<Traits['thinkingForm'], ((on: boolean) => readonly [string, JsonValue]) | undefined>
> = {
  effort: undefined,
  type: (on) => ['thinking', { type: on ? 'enabled' : 'disabled' }],
  adaptive: (on) => ['thinking', { type: on ? 'adaptive' : 'disabled' }],
  enable_thinking: (on) => ['enable_thinking', on],
  reasoning_enabled: (on) => ['reasoning', { enabled: on }],
  template: (on) => ['chat_template_kwargs', { enable_thinking: on }],
};

/** The member that switches thinking, and its value; undefined: an effort alone does. */
export function thinkingSwitch(
  on: boolean,
  { thinkingForm }: Traits,
): readonly [string, JsonValue] | undefined {
  return SWITCHES[thinkingForm]?.(on);
}

function putSwitch(body: JsonObject, on: boolean, traits: Traits): void {
  const [name, value] = thinkingSwitch(on, traits) ?? ['reasoning_effort', 'none'];
  body[name] = value;
}

export function putReasoning(body: JsonObject, encoding: EncodeContext, { off }: Thinking): void {
  const { request, traits } = encoding;
  const { reasoning } = request;
  if (off !== undefined) {
    putSwitch(body, false, traits);
    const field = reasoning?.effort === undefined ? 'reasoning' : 'reasoning.effort';
    encoding.warn('changed', field, `${off}: switched off for this request`);
    return;
  }
  if (reasoning === undefined) return;
  const asked = askedEffort(reasoning);
  if (asked === undefined) return;
  reportThinkingBetweenTools(reasoning, encoding);
  if (SWITCHES[traits.thinkingForm] === undefined || traits.thinking === false) {
    putEffort(body, reasoning, encoding);
  } else if (traits.thinkingOff === 'never') putGrade(body, reasoning, encoding);
  else {
    putSwitch(body, asked !== 'none', traits);
    if (asked !== 'none') putGrade(body, reasoning, encoding);
  }
}

/** How much, beside a switch: of a model that has no grades the switch says all. */
function putGrade(body: JsonObject, reasoning: Reasoning, encoding: EncodeContext): void {
  const { effort, budgetTokens } = reasoning;
  const { budgetRange, efforts } = encoding.traits;
  const hasGrades = efforts.some((grade) => grade !== 'none');
  const isOff = askedEffort(reasoning) === 'none';
  if (budgetRange.length > 0 && !isOff && (budgetTokens ?? (hasGrades ? undefined : effort)) !== undefined) {
    return putBudget(body, reasoning, encoding);
  }
  if (hasGrades) {
    if (isOff || effort !== undefined || budgetTokens !== undefined) putEffort(body, reasoning, encoding);
  } else if (isOff) putEffort(body, reasoning, encoding);
  else if (effort !== undefined) encoding.warn('changed', 'reasoning.effort', UNGRADED);
  else if (budgetTokens !== undefined) encoding.warn('changed', 'reasoning.budgetTokens', UNGRADED);
}

const UNGRADED = 'this model thinks, and knows no grades';

/** The tokens of thinking that are nearest within what the server takes. */
export function fittedBudget(tokens: number, { budgetRange: [least = 1, most = Infinity] }: Traits): number {
  return Math.max(least, Math.min(most, tokens));
}

function putBudget(
  body: JsonObject,
  { effort = 'medium', budgetTokens }: Reasoning,
  encoding: EncodeContext,
): void {
  const tokens = budgetTokens ?? BUDGETS[effort];
  const fitted = fittedBudget(tokens, encoding.traits);
  body.thinking_budget = fitted;
  if (budgetTokens === undefined)
    encoding.warn('changed', 'reasoning.effort', `sent as a budget of ${fitted} tokens`);
  else if (fitted !== tokens) encoding.warn('changed', 'reasoning.budgetTokens', `sent as ${fitted}`);
}

function putEffort(body: JsonObject, reasoning: Reasoning, encoding: EncodeContext): void {
  const { traits } = encoding;
  const efforts: readonly Effort[] = traits.maxEffortOnChat
    ? traits.efforts
    : traits.efforts.filter((effort) => effort !== 'max');
  const effort = effortToSend(reasoning, encoding, { ...traits, efforts });
  if (effort !== undefined) body.reasoning_effort = effort;
}
