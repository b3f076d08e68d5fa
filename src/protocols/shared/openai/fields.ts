// Members of requests and answers that chat and responses write in the same form, whatever path they have. What only one of them
// takes (`top_k`, a switch of thinking, the summary of it) stands in its own encoder.
import type { JsonObject } from '../../../canonical/json.ts';
import type { Effort, Reasoning } from '../../../canonical/request.ts';
import { mostOutput, type Traits } from '../../../canonical/traits.ts';
import { refuse } from '../client.ts';
import { chooseEffort } from '../effort.ts';
import { fitUser, type EncodeContext } from '../encode-context.ts';

/** `rejects`: the model takes neither of them in this request. */
export function putSampling(body: JsonObject, encoding: EncodeContext, rejects: boolean): void {
  const { temperature, topP } = encoding.request;
  const { oneSamplingParameter, maxTemperature } = encoding.traits;
  const why = 'this model takes no sampling parameters';
  if (temperature !== undefined) {
    // 1 is what the model does anyway.
    if (rejects) encoding.warn(temperature === 1 ? 'quiet' : 'dropped', 'temperature', why);
    else {
      body.temperature = Math.min(temperature, maxTemperature);
      if (temperature > maxTemperature)
        encoding.warn('changed', 'temperature', `${temperature} was sent as ${maxTemperature}`);
    }
  }
  if (topP !== undefined) {
    if (rejects) encoding.warn(topP === 1 ? 'quiet' : 'dropped', 'topP', why);
    else if (oneSamplingParameter && temperature !== undefined)
      encoding.warn('dropped', 'topP', 'this model takes temperature or top_p, not both');
    else body.top_p = topP;
  }
}

/** Tokens that the answer may have; undefined: the client set no limit. `least`: what the provider demands. */
export function outputLimit(encoding: EncodeContext, least: number): number | undefined {
  const asked = encoding.request.maxOutputTokens;
  if (asked === undefined) return undefined;
  if (asked === 0) refuse('max_tokens', '0 (filling the cache alone) cannot be carried to this provider');
  const limit = Math.max(least, Math.min(asked, mostOutput(encoding.traits)));
  if (limit < asked) encoding.warn('changed', 'maxOutputTokens', `lowered to the model's ${limit}`);
  if (limit > asked)
    encoding.warn('changed', 'maxOutputTokens', `raised to ${limit}, the least of this provider`);
  return limit;
}

/** Neither protocol can ask for it. */
export function reportThinkingBetweenTools({ mode }: Reasoning, encoding: EncodeContext): void {
  if (mode === 'between_tools')
    encoding.warn('changed', 'reasoning', 'thinking between tool calls alone was sent as none');
}

/** The effort to send, reported where the client asked for another; undefined: none is sent. */
export function effortToSend(
  reasoning: Reasoning,
  encoding: EncodeContext,
  traits: Traits = encoding.traits,
): Effort | undefined {
  const chosen = chooseEffort(reasoning, traits);
  if (chosen.say === 'nothing') return undefined;
  const { mode, effort: asked, budgetTokens } = reasoning;
  if (chosen.say === 'impossible') {
    const { why } = chosen;
    if (mode !== undefined || budgetTokens !== undefined) encoding.warn('dropped', 'reasoning', why);
    if (asked !== undefined) encoding.warn('dropped', 'reasoning.effort', why);
    return undefined;
  }
  const { effort } = chosen;
  if (chosen.changed) encoding.warn('changed', 'reasoning.effort', `sent as ${effort}`);
  if (budgetTokens !== undefined && asked === undefined)
    encoding.warn('changed', 'reasoning.budgetTokens', `sent as effort ${effort}`);
  return effort;
}

/** Characters of an end user's id. */
const MAX_USER = 64;

export function putIdentity(body: JsonObject, encoding: EncodeContext): void {
  const { user, serviceTier } = encoding.request;
  if (user !== undefined) body[encoding.traits.userField] = fitUser(user, MAX_USER, encoding);
  if (serviceTier !== undefined) body.service_tier = serviceTier;
}

const SERVICE_TIERS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    standard: 'default',
    default: 'default',
    priority: 'priority',
    auto: 'auto',
    flex: 'flex',
    scale: 'scale',
  }),
);

/** The tier that served, from any protocol's word for it; undefined: OpenAI has no such tier. */
export function encodeServiceTier(tier: string | undefined): string | undefined {
  return tier === undefined ? undefined : SERVICE_TIERS.get(tier);
}
