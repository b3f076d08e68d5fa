// The canonical request as a body for a responses provider. Nothing is stored there: what the next turn needs comes back from the
// client, encrypted reasoning too. A pure function, with members in a fixed order, since prompt caches go by the bytes.
import type { JsonObject } from '../../../canonical/json.ts';
import type { GenerationRequest, NativeField, SharedMember } from '../../../canonical/request.ts';
import type { ReverseMapping } from '../../../canonical/reverse-mapping.ts';
import type { Traits } from '../../../canonical/traits.ts';
import type { EncodedRequest } from '../../interface/bodies.ts';
import { cacheKeyFor } from '../../shared/cache-key.ts';
import { refusesSampling } from '../../shared/effort.ts';
import { createEncodeContext, dropRefused, type EncodeContext } from '../../shared/encode-context.ts';
import { outputLimit, putIdentity, putSampling } from '../../shared/openai/fields.ts';
import { fieldAt } from '../fields.ts';
import { encodeInput } from './encode-input.ts';
import { putFormat } from './encode-format.ts';
import { planThinking } from './encode-reasoning.ts';
import { encodeToolChoice, encodeTools } from './encode-tools.ts';
import { addInstructions } from './server-rules.ts';

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
  const { reasoning, mayForce } = planThinking(encoding);
  putTools(body, mayForce, encoding);
  const text: JsonObject = {};
  const structuredTool = putFormat(body, text, mayForce, encoding);
  const others = putShared(body, text, encoding);
  if (Object.keys(text).length > 0) body.text = text;
  const limit = outputLimit(encoding, traits.minOutput);
  if (limit !== undefined) body.max_output_tokens = limit;
  if (reasoning !== undefined) body.reasoning = reasoning;
  putSampling(body, encoding, refusesSampling(reasoning?.effort, traits));
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

function putTools(body: JsonObject, mayForce: boolean, encoding: EncodeContext): void {
  const { parallelToolCalls, legacyFunctions } = encoding.request;
  const tools = encodeTools(encoding);
  const { choice, words } = encodeToolChoice(tools, mayForce, encoding);
  if (tools.length === 0) return;
  if (words !== undefined) addInstructions(body, words);
  body.tools = tools;
  if (choice !== undefined) body.tool_choice = choice;
  // True is the default.
  if (parallelToolCalls === false || legacyFunctions === true) body.parallel_tool_calls = false;
}

/** Where the members stand that this wire has too. */
const SHARED_PLACES = {
  verbosity: 'text',
  prompt_cache_options: 'body',
  prompt_cache_retention: 'body',
  metadata: 'body',
} as const satisfies Record<Exclude<SharedMember, 'logprobs' | 'top_logprobs'>, string>;

const LOGPROBS = 'message.output_text.logprobs';

/** Log probabilities are asked for among what is included. */
function putLogprobs(body: JsonObject, encoding: EncodeContext): boolean {
  const { native } = encoding.request;
  if (!native.some((field) => encoding.shared(field) === 'logprobs' && field.fate !== 'quiet')) return false;
  body.include = [LOGPROBS];
  const top = native.find((field) => encoding.shared(field) === 'top_logprobs');
  if (top !== undefined) body.top_logprobs = top.value;
  return true;
}

/** Members of other protocols that this one has too. Returns the rest. */
function putShared(body: JsonObject, text: JsonObject, encoding: EncodeContext): NativeField[] {
  const hasLogprobs = putLogprobs(body, encoding);
  return encoding.request.native.filter((field) => {
    const shared = encoding.shared(field);
    if (shared === undefined) return true;
    if (shared === 'logprobs' || shared === 'top_logprobs') return !hasLogprobs;
    (SHARED_PLACES[shared] === 'text' ? text : body)[shared] = field.value;
    return false;
  });
}

function putCacheKey(body: JsonObject, encoding: EncodeContext): void {
  const key = cacheKeyFor(encoding);
  if (key !== undefined) body.prompt_cache_key = key;
  if (encoding.request.cache !== undefined)
    encoding.warn('quiet', 'cache', 'the provider marks the end of the prompt by itself');
}
