// The canonical request as a body for a responses provider. Nothing is stored there: what the next turn needs comes back from the
// client, encrypted reasoning too. A pure function, with members in a fixed order, since prompt caches go by the bytes.
import type { JsonObject } from '../../../canonical/json.ts';
import type { GenerationRequest, NativeField } from '../../../canonical/request.ts';
import type { ReverseMapping } from '../../../canonical/reverse-mapping.ts';
import type { Traits } from '../../../canonical/traits.ts';
import type { EncodedRequest } from '../../interface/bodies.ts';
import { chooseEffort } from '../../shared/effort.ts';
import {
  cacheKeyFor,
  createEncodeContext,
  dropRefused,
  fitUser,
  type EncodeContext,
} from '../../shared/encode-context.ts';
import { refuse } from '../../shared/client.ts';
import { fieldAt } from '../fields.ts';
import { encodeInput } from './encode-input.ts';
import { encodeToolChoice, encodeTools, putFormat } from './encode-tools.ts';

export { historyRules } from './encode-input.ts';

/** Characters of an end user's id. */
const MAX_USER = 64;
const REFUSABLE = {
  list: 'input',
  needed: ['model', 'input', 'stream'],
  own: ['store', 'include', 'input[].type'],
  fieldAt,
};

export function encodeRequest(request: GenerationRequest, model: string, traits: Traits): EncodedRequest {
  const encoding = createEncodeContext({ protocol: 'responses', request, traits, toolIds: traits.toolIds });
  const body: JsonObject = { model, ...encodeInput(encoding) };
  putTools(body, encoding);
  const text: JsonObject = {};
  const structuredTool = putFormat(body, text, encoding);
  const others = putShared(body, text, encoding);
  if (Object.keys(text).length > 0) body.text = text;
  putLimit(body, encoding);
  putReasoning(body, encoding);
  putSampling(body, encoding);
  putIdentity(body, encoding);
  encoding.natives(others, body);
  body.store = false;
  body.include = includeOf(body);
  if (request.stream) body.stream = true;
  dropRefused(body, encoding, REFUSABLE);
  const stop = (request.stop ?? []).filter((sequence) => sequence !== '');
  if (stop.length > 0) encoding.warn('changed', 'stop', 'the gateway itself stops at them');
  const restore: ReverseMapping = { toolNames: encoding.toolNames, customTools: NO_TOOLS, stop };
  if (structuredTool !== undefined) restore.structuredTool = structuredTool;
  return { body, warnings: encoding.warnings, restore };
}

const NO_TOOLS: ReadonlySet<string> = new Set();

const ENCRYPTED = 'reasoning.encrypted_content';

function includeOf({ include }: JsonObject): string[] {
  const own = Array.isArray(include) ? include.filter((name) => typeof name === 'string') : [];
  return own.includes(ENCRYPTED) ? own : [...own, ENCRYPTED];
}

function putTools(body: JsonObject, encoding: EncodeContext): void {
  const { parallelToolCalls, legacyFunctions } = encoding.request;
  const tools = encodeTools(encoding);
  const choice = encodeToolChoice(tools, encoding);
  if (tools.length === 0) return;
  body.tools = tools;
  if (choice !== undefined) body.tool_choice = choice;
  // True is the default.
  if (parallelToolCalls === false || legacyFunctions === true) body.parallel_tool_calls = false;
}

/** Members of chat that this wire has as well. */
const OF_CHAT: Readonly<Record<string, 'text' | 'body' | undefined>> = {
  verbosity: 'text',
  prompt_cache_options: 'body',
  prompt_cache_retention: 'body',
  metadata: 'body',
};

const LOGPROBS = 'message.output_text.logprobs';

/** Log probabilities are asked for among what is included. */
function putLogprobs(body: JsonObject, native: readonly NativeField[]): boolean {
  const asked = native.some(
    (field) => field.protocol === 'chat' && field.path === 'logprobs' && field.value === true,
  );
  if (!asked) return false;
  body.include = [LOGPROBS];
  const top = native.find(({ path }) => path === 'top_logprobs');
  if (top !== undefined) body.top_logprobs = top.value;
  return true;
}

const OF_LOGPROBS: ReadonlySet<string> = new Set(['logprobs', 'top_logprobs']);

/** Returns the fields that have no like here. */
function putShared(body: JsonObject, text: JsonObject, { request }: EncodeContext): NativeField[] {
  const hasLogprobs = putLogprobs(body, request.native);
  return request.native.filter((field) => {
    const { path, value } = field;
    if (hasLogprobs && OF_LOGPROBS.has(path)) return false;
    const place = field.protocol === 'chat' && Object.hasOwn(OF_CHAT, path) ? OF_CHAT[path] : undefined;
    if (place === undefined) return true;
    (place === 'text' ? text : body)[path] = value;
    return false;
  });
}

function putLimit(body: JsonObject, encoding: EncodeContext): void {
  const { request, traits } = encoding;
  const asked = request.maxOutputTokens;
  if (asked === undefined) return;
  if (asked === 0) refuse('max_tokens', '0 (filling the cache alone) cannot be carried to this provider');
  const most = Math.min(asked, traits.maxOutput ?? asked);
  const limit = Math.max(most, traits.minOutput);
  if (limit < asked) encoding.warn('changed', 'maxOutputTokens', `lowered to the model's ${limit}`);
  if (limit > asked)
    encoding.warn('changed', 'maxOutputTokens', `raised to ${limit}, the least of this provider`);
  body.max_output_tokens = limit;
}

function putReasoning(body: JsonObject, encoding: EncodeContext): void {
  const { reasoning } = encoding.request;
  if (reasoning === undefined) return;
  const chosen = chooseEffort(reasoning, encoding.traits);
  if (reasoning.mode === 'between_tools')
    encoding.warn('changed', 'reasoning', 'thinking between tool calls alone was sent as none');
  if (chosen.say === 'nothing') return;
  if (chosen.say === 'impossible') {
    const why = 'this model does not think, or not on request';
    if (reasoning.mode !== undefined || reasoning.budgetTokens !== undefined)
      encoding.warn('dropped', 'reasoning', why);
    if (reasoning.effort !== undefined) encoding.warn('dropped', 'reasoning.effort', why);
    return;
  }
  const { effort } = chosen;
  if (chosen.changed) encoding.warn('changed', 'reasoning.effort', `sent as ${effort}`);
  if (reasoning.budgetTokens !== undefined && reasoning.effort === undefined)
    encoding.warn('changed', 'reasoning.budgetTokens', `sent as effort ${effort}`);
  // Its summary is all of the thinking that this protocol shows.
  const shown = effort !== 'none' && reasoning.hidden !== true;
  body.reasoning = shown ? { effort, summary: 'auto' } : { effort };
}

function putSampling(body: JsonObject, encoding: EncodeContext): void {
  const { temperature, topP, topK } = encoding.request;
  const { rejectsSampling, oneSamplingParameter } = encoding.traits;
  const why = 'this model takes no sampling parameters';
  if (temperature !== undefined) {
    // 1 is what the model does anyway.
    if (rejectsSampling) encoding.warn(temperature === 1 ? 'quiet' : 'dropped', 'temperature', why);
    else body.temperature = temperature;
  }
  if (topP !== undefined) {
    if (rejectsSampling) encoding.warn(topP === 1 ? 'quiet' : 'dropped', 'topP', why);
    else if (oneSamplingParameter && temperature !== undefined)
      encoding.warn('dropped', 'topP', 'this model takes temperature or top_p, not both');
    else body.top_p = topP;
  }
  if (topK !== undefined) encoding.warn('dropped', 'topK', 'the protocol has no top_k');
}

function putIdentity(body: JsonObject, encoding: EncodeContext): void {
  const { request, traits } = encoding;
  const { user, serviceTier } = request;
  if (user !== undefined) body[traits.userField] = fitUser(user, MAX_USER, encoding);
  if (serviceTier !== undefined) body.service_tier = serviceTier;
  const key = cacheKeyFor(encoding);
  if (key !== undefined) body.prompt_cache_key = key;
  if (request.cache !== undefined)
    encoding.warn('quiet', 'cache', 'the provider marks the end of the prompt by itself');
}
