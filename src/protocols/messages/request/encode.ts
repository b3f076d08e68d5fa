// The canonical request as the body for a provider of this protocol, after the history was repaired: members in a fixed order,
// the same bytes for the same request, since prompt caches go by them.
import type { JsonObject } from '../../../canonical/json.ts';
import type { GenerationRequest } from '../../../canonical/request.ts';
import type { ReverseMapping } from '../../../canonical/reverse-mapping.ts';
import { mostOutput, type Traits } from '../../../canonical/traits.ts';
import type { EncodedRequest } from '../../interface/bodies.ts';
import { cacheControl, placeCacheMarks } from './cache.ts';
import { leaveOutCacheKey } from '../../shared/cache-key.ts';
import {
  answerInWords,
  createEncodeContext,
  fitUser,
  type EncodeContext,
} from '../../shared/encode-context.ts';
import { isRecursive, sanitise } from './json-schema.ts';
import type { WireTurn } from '../wire-types.ts';
import {
  canBeOff,
  encodeReasoning,
  givingWay,
  thinkingRoom,
  thinkingTakenOff,
  type Thinking,
} from './reasoning.ts';
import { asksToThink } from '../../shared/effort.ts';
import { isForced, mayForceCalls } from '../../shared/tools/function-tools.ts';
import { encodeTools, forceStructuredTool, type EncodedTools } from './encode-tools.ts';
import { encodeMessages, finishTurns, lacksThinking, stripLastThinking } from './encode-messages.ts';

/** Where neither the client nor the model's facts give a limit: the field is required. */
const DEFAULT_MAX_TOKENS = 4096;

function encodeMaxTokens(encoding: EncodeContext): number {
  const { request, traits } = encoding;
  const most = mostOutput(traits);
  const asked = request.maxOutputTokens;
  if (asked === undefined) {
    const limit = traits.maxOutput ?? DEFAULT_MAX_TOKENS + thinkingRoom(encoding);
    encoding.warn('changed', 'maxOutputTokens', `none was given: sent as ${limit}`);
    return limit;
  }
  if (asked <= most) return asked;
  encoding.warn('changed', 'maxOutputTokens', `${asked} was sent as ${most}, the most of this model`);
  return most;
}

function encodeSampling(body: JsonObject, thinkingOn: boolean, encoding: EncodeContext): void {
  const { request, traits } = encoding;
  const { temperature, topP, topK } = request;
  if (traits.rejectsSampling || (thinkingOn && !traits.samplingWhileThinking)) {
    const reason = traits.rejectsSampling
      ? 'this model takes no sampling parameters'
      : 'not taken while thinking';
    // 1 is what the model does anyway.
    if (temperature !== undefined)
      encoding.warn(temperature === 1 ? 'quiet' : 'dropped', 'temperature', reason);
    if (topP !== undefined) encoding.warn(topP === 1 ? 'quiet' : 'dropped', 'topP', reason);
    if (topK !== undefined) encoding.warn('dropped', 'topK', reason);
    return;
  }
  if (temperature !== undefined) {
    const most = Math.min(1, traits.maxTemperature);
    body.temperature = Math.min(most, temperature);
    if (temperature > most) encoding.warn('changed', 'temperature', `${temperature} was sent as ${most}`);
  }
  if (topP !== undefined) {
    if (traits.oneSamplingParameter && temperature !== undefined) {
      encoding.warn(
        topP === 1 ? 'quiet' : 'dropped',
        'topP',
        'this model takes only one of temperature and top_p',
      );
    } else body.top_p = topP;
  }
  if (topK !== undefined) body.top_k = topK;
}

const NO_STOPS: readonly string[] = [];

/** Returns the stop sequences that the gateway must cut at: blank ones are refused, and servers take only so many. */
function encodeStop(body: JsonObject, encoding: EncodeContext): readonly string[] {
  if (encoding.request.stop === undefined) return NO_STOPS;
  const stops = encoding.request.stop.filter((stop) => stop !== '');
  const taken = stops.filter((stop) => stop.trim() !== '').slice(0, encoding.traits.maxStop);
  if (taken.length > 0) body.stop_sequences = taken;
  const sent = new Set(taken);
  return stops.filter((stop) => !sent.has(stop));
}

const TIERS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    auto: 'auto',
    priority: 'auto',
    default: 'standard_only',
    standard_only: 'standard_only',
  }),
);

/** The longest `metadata.user_id`. */
const MAX_USER = 256;

function encodeIdentity(body: JsonObject, encoding: EncodeContext): void {
  const { user, serviceTier } = encoding.request;
  if (user !== undefined) body.metadata = { user_id: fitUser(user, MAX_USER, encoding) };
  if (serviceTier !== undefined) {
    const tier = TIERS.get(serviceTier);
    if (tier === undefined) encoding.warn('dropped', 'serviceTier', `no such tier here: ${serviceTier}`);
    else body.service_tier = tier;
  }
  leaveOutCacheKey(encoding, 'prompt caches have no key here');
}

interface Output {
  /** `output_config.format`. */
  format?: JsonObject;
  /** The tool that stands for it. */
  structuredTool?: string;
  thinking: Thinking;
}

/** This protocol's formats have no description of their own. */
function described({ schema, description }: { schema: JsonObject; description?: string }): JsonObject {
  return description === undefined ? schema : { description, ...schema };
}

/** How the answer's form is asked for: by the provider's own means, by a forced tool, or in words. */
function encodeFormat(
  system: JsonObject[],
  tools: EncodedTools,
  thinking: Thinking,
  encoding: EncodeContext,
): Output {
  const { request, traits } = encoding;
  const { responseFormat: format } = request;
  if (format === undefined) return { thinking };
  const inWords = (): Output => {
    encoding.warn('changed', 'responseFormat', 'asked for in words');
    system.push({ type: 'text', text: answerInWords(format) });
    return { thinking };
  };
  if (format.type === 'json_object') return inWords();
  const takesSchemas = traits.structuredOutput !== false && traits.responseFormats.includes('json_schema');
  const besideTools = traits.formatsWithTools || tools.tools.length === 0;
  if (takesSchemas && besideTools && !isRecursive(format.schema)) {
    const schema = format.strict === 'open' ? format.schema : sanitise(described(format));
    return { format: { type: 'json_schema', schema }, thinking };
  }
  if (isForced(request.toolChoice) && tools.choice !== undefined) {
    encoding.warn('dropped', 'responseFormat', 'a call of another tool is forced');
    return { thinking };
  }
  const mayForce = mayForceCalls(thinking.on, encoding);
  if (traits.tools === false || !(mayForce || mayForceCalls(!canBeOff(traits), encoding))) return inWords();
  const structuredTool = forceStructuredTool(format, tools, encoding);
  if (mayForce) return { structuredTool, thinking };
  encoding.warn(
    asksToThink(request.reasoning) ? 'dropped' : 'changed',
    'reasoning',
    'a structured answer is forced, which this model does not take while thinking',
  );
  return { structuredTool, thinking: thinkingTakenOff(thinking, encoding) };
}

/** Providers refuse thinking in a last assistant turn if the model does not think, or if the request turns thinking off. */
function refusesLastThinking({ thinking, on }: Thinking, turns: readonly WireTurn[]): boolean {
  return thinking?.type === 'disabled' || (!on && turns.at(-1)?.role === 'assistant');
}

export function encodeRequest(request: GenerationRequest, model: string, traits: Traits): EncodedRequest {
  const encoding = createEncodeContext({ protocol: 'messages', request, traits, toolIds: 'messages' });
  encoding.leaveOut(request.native);
  const { system, turns } = encodeMessages(encoding);
  const maxTokens = encodeMaxTokens(encoding);
  const asked = givingWay(encodeReasoning(maxTokens, lacksThinking(turns), encoding), encoding);
  const tools = encodeTools(asked.on, encoding);
  if (tools.words !== undefined) system.push({ type: 'text', text: tools.words });
  const { format, structuredTool, thinking } = encodeFormat(system, tools, asked, encoding);
  if (refusesLastThinking(thinking, turns)) stripLastThinking(turns, encoding);
  // Providers refuse a prefill beside thinking, and beside a form of their own for the answer.
  const prefill = traits.prefill && !thinking.on && format === undefined;
  finishTurns(turns, prefill, encoding);
  placeCacheMarks({ tools: tools.tools, system, turns }, encoding);

  const body: JsonObject = { model, max_tokens: maxTokens };
  if (system.length > 0) body.system = system;
  body.messages = turns;
  if (tools.tools.length > 0) body.tools = tools.tools;
  if (tools.choice !== undefined) body.tool_choice = tools.choice;
  encodeSampling(body, thinking.on, encoding);
  const stop = encodeStop(body, encoding);
  if (thinking.thinking !== undefined) body.thinking = thinking.thinking;
  if (format !== undefined || thinking.effort !== undefined) {
    const output: JsonObject = {};
    if (thinking.effort !== undefined) output.effort = thinking.effort;
    if (format !== undefined) output.format = format;
    body.output_config = output;
  }
  encodeIdentity(body, encoding);
  if (request.cache !== undefined) body.cache_control = cacheControl(request.cache);
  encoding.natives(request.native, body);
  body.stream = request.stream;

  const restore: ReverseMapping = { toolNames: encoding.toolNames, customTools: customTools(request), stop };
  if (structuredTool !== undefined) restore.structuredTool = structuredTool;
  return { body, warnings: encoding.warnings, restore };
}

const NO_TOOLS: ReadonlySet<string> = new Set();

function customTools({ tools }: GenerationRequest): ReadonlySet<string> {
  if (tools === undefined) return NO_TOOLS;
  return new Set(tools.filter((tool) => tool.type === 'custom').map((tool) => tool.name));
}
