// The canonical request as a body for a responses provider. Nothing is stored there: what the next turn needs comes back from the
// client, encrypted reasoning too. A pure function, with members in a fixed order, since prompt caches go by the bytes.
import type { JsonObject, JsonValue } from '../../../canonical/json.ts';
import type { GenerationRequest, NativeField } from '../../../canonical/request.ts';
import type { ReverseMapping } from '../../../canonical/reverse-mapping.ts';
import type { Traits } from '../../../canonical/traits.ts';
import type { EncodedRequest } from '../../interface/bodies.ts';
import { asksToThink } from '../../shared/effort.ts';
import { isForced } from '../../shared/tools/function-tools.ts';
import { cacheKeyFor } from '../../shared/cache-key.ts';
import {
  createEncodeContext,
  dropRefused,
  type EncodeContext,
} from '../../shared/encode-context.ts';
import {
  effortToSend,
  outputLimit,
  putIdentity,
  putSampling,
  reportThinkingBetweenTools,
} from '../../shared/openai/fields.ts';
import { fieldAt } from '../fields.ts';
import { encodeInput } from './encode-input.ts';
import { encodeToolChoice, encodeTools, putFormat } from './encode-tools.ts';

export { historyRules } from './encode-input.ts';

const REFUSABLE = {
  list: 'input',
  needed: ['model', 'input', 'stream'],
  own: ['store', 'include', 'input[].type'],
  fieldAt,
};

export function encodeRequest(request: GenerationRequest, model: string, traits: Traits): EncodedRequest {
  const encoding = createEncodeContext({
    protocol: 'responses',
    request,
    traits,
    toolIds: traits.toolIds,
    toolsInPlace: traits.additionalTools,
  });
  const body: JsonObject = { model, ...encodeInput(encoding) };
  const reasoning = encodeReasoning(encoding);
  const effort = givingWay(reasoning, encoding) ? 'none' : reasoning?.effort;
  putTools(body, thinks(effort, encoding), encoding);
  const text: JsonObject = {};
  const structuredTool = putFormat(body, text, encoding);
  const others = putShared(body, text, encoding);
  if (Object.keys(text).length > 0) body.text = text;
  const limit = outputLimit(encoding, traits.minOutput);
  if (limit !== undefined) body.max_output_tokens = limit;
  if (effort === 'none') body.reasoning = { effort };
  else if (reasoning !== undefined) body.reasoning = reasoning;
  putSampling(body, encoding, traits.rejectsSampling);
  if (request.topK !== undefined) encoding.warn('dropped', 'topK', 'the protocol has no top_k');
  putIdentity(body, encoding);
  putCacheKey(body, encoding);
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

/** Servers whose model is not known to think are not held to refuse a forced call beside an effort. */
function thinks(effort: JsonValue | undefined, { traits }: EncodeContext): boolean {
  if (effort === undefined) return traits.thinksByDefault;
  return effort !== 'none' && (traits.thinking === true || traits.thinksByDefault);
}

/** Whether thinking that nobody asked for is switched off, since a call is forced that the model does not take beside it. */
function givingWay(reasoning: JsonObject | undefined, encoding: EncodeContext): boolean {
  const { request, traits } = encoding;
  const canBeOff =
    (traits.thinkingOff === 'always' || traits.thinkingOff === 'up_to_high') &&
    (traits.efforts.includes('none') || traits.thinkingForm !== 'effort');
  if (!canBeOff || traits.forcedTools !== 'not_thinking' || !thinks(reasoning?.effort, encoding))
    return false;
  const { toolChoice, tools = [] } = request;
  if (!isForced(toolChoice) || tools.length === 0 || asksToThink(request.reasoning)) return false;
  encoding.warn('changed', 'reasoning', 'switched off, since a call is forced');
  return true;
}

function putTools(body: JsonObject, thinking: boolean, encoding: EncodeContext): void {
  const { parallelToolCalls, legacyFunctions } = encoding.request;
  const tools = encodeTools(encoding);
  const { choice, words } = encodeToolChoice(tools, thinking, encoding);
  if (tools.length === 0) return;
  if (words !== undefined)
    body.instructions = typeof body.instructions === 'string' ? `${body.instructions}\n\n${words}` : words;
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

function encodeReasoning(encoding: EncodeContext): JsonObject | undefined {
  const { reasoning } = encoding.request;
  if (reasoning === undefined) return undefined;
  reportThinkingBetweenTools(reasoning, encoding);
  const effort = effortToSend(reasoning, encoding);
  if (effort === undefined) return undefined;
  // Its summary is all of the thinking that this protocol shows.
  const shown = effort !== 'none' && reasoning.hidden !== true;
  return shown ? { effort, summary: 'auto' } : { effort };
}

function putCacheKey(body: JsonObject, encoding: EncodeContext): void {
  const key = cacheKeyFor(encoding);
  if (key !== undefined) body.prompt_cache_key = key;
  if (encoding.request.cache !== undefined)
    encoding.warn('quiet', 'cache', 'the provider marks the end of the prompt by itself');
}
