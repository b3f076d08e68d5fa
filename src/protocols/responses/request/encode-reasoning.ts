// The thinking of a responses request: whether the model may think beside what else is asked for, and the effort that says so.
import type { JsonObject, JsonValue } from '../../../canonical/json.ts';
import type { Traits } from '../../../canonical/traits.ts';
import { askedEffort, asksToThink } from '../../shared/effort.ts';
import type { EncodeContext } from '../../shared/encode-context.ts';
import { effortToSend, reportThinkingBetweenTools } from '../../shared/openai/fields.ts';
import { isForced, isForcedFormat, mayForceCalls } from '../../shared/tools/function-tools.ts';

interface PlannedThinking {
  /** The member `reasoning`. */
  reasoning?: JsonObject;
  mayForce: boolean;
}

export function planThinking(encoding: EncodeContext): PlannedThinking {
  const asked = encodeReasoning(encoding);
  if (givesWay(asked, encoding)) return { reasoning: { effort: 'none' }, mayForce: true };
  const mayForce = mayForceCalls(thinks(asked?.effort, encoding), encoding);
  return asked === undefined ? { mayForce } : { reasoning: asked, mayForce };
}

/** On this wire `none` switches thinking off, whatever member does on chat. */
export function withNone(traits: Traits): Traits {
  const { thinking, thinkingForm, thinkingOff, efforts } = traits;
  const hasSwitch = thinking !== false && thinkingForm !== 'effort' && thinkingOff !== 'never';
  return hasSwitch && !efforts.includes('none') ? { ...traits, efforts: ['none', ...efforts] } : traits;
}

/** Servers whose model is not known to think are not held to refuse a forced call beside an effort. */
function thinks(effort: JsonValue | undefined, { traits }: EncodeContext): boolean {
  if (effort === undefined) return traits.thinksByDefault;
  return effort !== 'none' && (traits.thinking === true || traits.thinksByDefault);
}

/** Whether thinking that nobody asked for is switched off, since a call is forced that the model does not take beside it. */
function givesWay(reasoning: JsonObject | undefined, encoding: EncodeContext): boolean {
  const { request, traits } = encoding;
  const canBeOff =
    (traits.thinkingOff === 'always' || traits.thinkingOff === 'up_to_high') &&
    withNone(traits).efforts.includes('none');
  if (!canBeOff || traits.forcedTools !== 'not_thinking' || !thinks(reasoning?.effort, encoding))
    return false;
  const { toolChoice, tools = [] } = request;
  const forces = (isForced(toolChoice) && tools.length > 0) || isForcedFormat(encoding);
  if (!forces || asksToThink(request.reasoning)) return false;
  encoding.warn('changed', 'reasoning', 'switched off, since a call is forced');
  return true;
}

function encodeReasoning(encoding: EncodeContext): JsonObject | undefined {
  const { reasoning } = encoding.request;
  if (reasoning === undefined) return undefined;
  const traits = withNone(encoding.traits);
  reportThinkingBetweenTools(reasoning, encoding);
  if (isUngraded(traits) && askedEffort(reasoning) !== 'none') {
    if (reasoning.effort !== undefined) encoding.warn('changed', 'reasoning.effort', UNGRADED);
    if (reasoning.budgetTokens !== undefined) encoding.warn('changed', 'reasoning.budgetTokens', UNGRADED);
    return undefined;
  }
  const effort = effortToSend(reasoning, encoding, traits);
  if (effort === undefined) return undefined;
  // Its summary is all of the thinking that this protocol shows.
  const shown = effort !== 'none' && reasoning.hidden !== true;
  return shown ? { effort, summary: 'auto' } : { effort };
}

const UNGRADED = 'this model thinks, and knows no grades';

/** A model that has a switch alone. */
function isUngraded({ thinkingForm, thinksByDefault, efforts }: Traits): boolean {
  return thinkingForm !== 'effort' && thinksByDefault && efforts.every((effort) => effort === 'none');
}
