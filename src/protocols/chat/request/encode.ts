// The canonical request as a body for a chat provider, shaped by what its model and server take. A pure function: the same
// conversation gives the same bytes, on which prompt caches depend. Members stand in a fixed order.
import type { JsonObject } from '../../../canonical/json.ts';
import type { GenerationRequest, NativeField, SharedMember } from '../../../canonical/request.ts';
import type { Traits } from '../../../canonical/traits.ts';
import type { ReverseMapping } from '../../../canonical/reverse-mapping.ts';
import type { EncodedRequest } from '../../interface/bodies.ts';
import { cacheKeyFor, leaveOutCacheKey } from '../../shared/cache-key.ts';
import { createEncodeContext, dropRefused, type EncodeContext } from '../../shared/encode-context.ts';
import { refusesSampling } from '../../shared/effort.ts';
import { encodeMessages } from './encode-messages.ts';
import { putFormat } from './encode-format.ts';
import { planThinking, putReasoning, type Thinking } from './encode-reasoning.ts';
import { encodeToolChoice, encodeTools } from './encode-tools.ts';
import { addSystemText } from './server-rules.ts';
import { fieldAt } from '../fields.ts';
import { isForcedFormat, isWebSearch } from '../../shared/tools/function-tools.ts';
import { outputLimit, putIdentity, putSampling } from '../../shared/openai/fields.ts';

const REFUSABLE = {
  list: 'messages',
  needed: ['model', 'messages', 'stream'],
  own: ['stream_options'],
  fieldAt,
};

export function encodeRequest(request: GenerationRequest, model: string, traits: Traits): EncodedRequest {
  const encoding = createEncodeContext({ protocol: 'chat', request, traits, toolIds: traits.toolIds });
  const body: JsonObject = { model, messages: encodeMessages(encoding) };
  const thinking = planThinking(encoding, isForcedFormat(encoding));
  putTools(body, encoding, thinking);
  const structuredTool = putFormat(body, encoding, thinking);
  putLimit(body, encoding);
  putReasoning(body, encoding, thinking);
  const rejectsSampling = refusesSampling(body.reasoning_effort, traits);
  putSampling(body, encoding, rejectsSampling);
  putTopK(body, rejectsSampling, encoding);
  const stop = putStop(body, encoding);
  putIdentity(body, encoding);
  putCacheKey(body, encoding);
  putWebSearch(body, encoding);
  putStream(body, encoding);
  encoding.natives(putShared(body, encoding), body);
  dropRefused(body, encoding, REFUSABLE);
  const restore: ReverseMapping = { toolNames: encoding.toolNames, customTools: standIns(encoding), stop };
  if (structuredTool !== undefined) restore.structuredTool = structuredTool;
  return { body, warnings: encoding.warnings, restore };
}

const NO_TOOLS: ReadonlySet<string> = new Set();

/** Tools of free text that were sent as functions. */
function standIns({ request: { tools }, traits }: EncodeContext): ReadonlySet<string> {
  if (traits.customTools || tools === undefined) return NO_TOOLS;
  return new Set(tools.filter(({ type }) => type === 'custom').map(({ name = '' }) => name));
}

function putTools(body: JsonObject, encoding: EncodeContext, { mayForce }: Thinking): void {
  const { tools: given, toolChoice } = encoding.request;
  if (given === undefined && toolChoice === undefined) return;
  const { tools, choice, inWords } = encodeToolChoice(encodeTools(encoding), encoding, mayForce);
  if (tools.length === 0) return;
  body.tools = tools;
  if (choice !== undefined) body.tool_choice = choice;
  if (inWords !== undefined) addSystemText(body, inWords, encoding.traits);
  // True is the default, and some servers know no such member.
  if (encoding.request.parallelToolCalls === false) body.parallel_tool_calls = false;
}

function putLimit(body: JsonObject, encoding: EncodeContext): void {
  const limit = outputLimit(encoding, 1);
  if (limit !== undefined) body[encoding.traits.maxTokensField] = limit;
}

function putTopK(body: JsonObject, rejectsSampling: boolean, encoding: EncodeContext): void {
  const { topK } = encoding.request;
  if (topK === undefined) return;
  if (rejectsSampling || !encoding.traits.topK)
    encoding.warn('dropped', 'topK', 'this provider takes no top_k');
  else body.top_k = topK;
}

/** What the server can't take is cut by the gateway itself. */
function putStop(body: JsonObject, encoding: EncodeContext): string[] {
  const all = (encoding.request.stop ?? []).filter((text) => text !== '');
  const sent = all.slice(0, encoding.traits.maxStop);
  if (sent.length > 0) body.stop = sent;
  const rest = all.slice(sent.length);
  if (rest.length > 0) encoding.warn('changed', 'stop', 'the gateway itself stops at some of them');
  return rest;
}

function putCacheKey(body: JsonObject, encoding: EncodeContext): void {
  const { request, traits } = encoding;
  const key = traits.cacheKey ? cacheKeyFor(encoding) : undefined;
  if (key !== undefined) body.prompt_cache_key = key;
  else leaveOutCacheKey(encoding, 'the provider takes no cache key');
  if (request.cache && traits.cacheMarks !== 'cache_control')
    encoding.warn('quiet', 'cache', 'chat providers cache by themselves');
}

function putWebSearch(body: JsonObject, encoding: EncodeContext): void {
  const { webSearch, tools = [] } = encoding.request;
  if (!webSearch) return;
  if (!encoding.traits.webSearchOptions) {
    // A tool that stands for it has been reported with the tools.
    if (!tools.some(isWebSearch)) encoding.warn('dropped', 'webSearch', 'the provider does not search');
    return;
  }
  const options: JsonObject = {};
  if (webSearch.contextSize !== undefined) options.search_context_size = webSearch.contextSize;
  const { location } = webSearch;
  if (location) {
    const isFlat = encoding.traits.webSearchOptions === 'flat_location';
    options.user_location = isFlat ? location : { type: 'approximate', approximate: location };
  }
  body.web_search_options = options;
}

function putStream(body: JsonObject, { request, traits }: EncodeContext): void {
  if (!request.stream) return;
  body.stream = true;
  if (traits.streamUsage) body.stream_options = { include_usage: true };
}

/** Members that OpenAI's own chat has, and other servers refuse. */
const OF_OPENAI: ReadonlySet<SharedMember> = new Set([
  'verbosity',
  'prompt_cache_options',
  'prompt_cache_retention',
]);

/** Members of other protocols that this one has too. Returns the rest. */
function putShared(body: JsonObject, encoding: EncodeContext): NativeField[] {
  const { request, traits } = encoding;
  const takesLogprobs = !traits.rejectFields.includes('logprobs');
  // OpenAI itself takes them only of answers that it stores.
  const takesMetadata = !traits.customTools && !traits.rejectFields.includes('metadata');
  return request.native.filter((field) => {
    const shared = encoding.shared(field);
    if (shared === undefined) return true;
    if (shared === 'logprobs' || shared === 'top_logprobs') {
      if (!takesLogprobs) return true;
      body.logprobs = true;
      if (shared === 'top_logprobs') body.top_logprobs = field.value;
      return false;
    }
    if (shared === 'metadata' ? !takesMetadata : !traits.customTools || !OF_OPENAI.has(shared)) return true;
    body[shared] = field.value;
    return false;
  });
}
