// Decodes a request of Ollama's clients into the canonical form: a chat, or a prompt alone. What has no canonical name is a native field
// with the fate that the ledger gives it.
import { isObject, listed, type JsonObject, type JsonValue, stringOf } from '../../../canonical/json.ts';
import type {
  FunctionTool,
  GenerationRequest,
  Message,
  Reasoning,
  Tool,
} from '../../../canonical/request.ts';
import type { ReplyOptions } from '../../interface/answer.ts';
import type { BodyReading } from '../../interface/bodies.ts';
import { isReordered, keepSource, mayDiffer, type ArgumentsPath, type Source } from '../../json/raw-json.ts';
import { refuse } from '../../shared/client.ts';
import { isEffort } from '../../shared/effort.ts';
import { nativeFields } from '../fields.ts';
import { decodeMessages, imageParts, withText } from './decode-messages.ts';
import { isStream, limitIn, modelIn, optionsIn } from './envelope.ts';

export function decodeChat(value: JsonObject, source?: Source): GenerationRequest {
  if (source !== undefined) keepWritten(value, source);
  const { messages } = value;
  return decode(value, decodeMessages(Array.isArray(messages) ? messages : []));
}

export function decodeGenerate(value: JsonObject, source?: Source): GenerationRequest {
  if (source !== undefined) keepWritten(value, source);
  const messages: Message[] = [];
  const system = stringOf(value.system);
  if (system !== '') messages.push({ role: 'system', parts: [{ type: 'text', text: system }] });
  const parts = withText(imageParts(value.images, 'images'), stringOf(value.prompt));
  return decode(value, [...messages, { role: 'user', parts }]);
}

/** What answers depend on; never throws. */
export function readAsked({ value }: BodyReading): ReplyOptions {
  return askedIn(value);
}

function askedIn(value: JsonObject): ReplyOptions {
  const { model, name, think, format } = value;
  const asked: ReplyOptions = { includeUsage: true, asked: { model: stringOf(model) || stringOf(name) } };
  const reasoning = reasoningOf(think);
  if (reasoning !== undefined) asked.reasoning = reasoning;
  const responseFormat = formatOf(format);
  if (responseFormat !== undefined) asked.responseFormat = responseFormat;
  return asked;
}

function decode(value: JsonObject, messages: Message[]): GenerationRequest {
  const options = optionsIn(value);
  const { temperature, top_p: topP, top_k: topK, stop } = options;
  const request: GenerationRequest = {
    protocol: 'ollama',
    model: modelIn(value),
    stream: isStream(value),
    messages,
    native: nativeFields(value, options),
    ...askedIn(value),
    includeUsage: true,
  };
  const tools = decodeTools(value.tools);
  if (tools.length > 0) request.tools = tools;
  const limit = limitIn(options);
  if (limit !== undefined) request.maxOutputTokens = limit;
  if (typeof temperature === 'number') request.temperature = temperature;
  if (typeof topP === 'number') request.topP = topP;
  // 0 is none.
  if (typeof topK === 'number' && topK > 0) request.topK = topK;
  const stops = textsIn(stop);
  if (stops.length > 0) request.stop = stops;
  return request;
}

function textsIn(value: JsonValue | undefined): string[] {
  const list = Array.isArray(value) ? value : [value];
  return list.filter((text): text is string => typeof text === 'string' && text !== '');
}

function reasoningOf(think: JsonValue | undefined): Reasoning | undefined {
  if (typeof think === 'boolean') return { mode: think ? 'on' : 'off' };
  if (!isEffort(think)) return undefined;
  return think === 'none' ? { mode: 'off', effort: think } : { effort: think };
}

function formatOf(format: JsonValue | undefined): GenerationRequest['responseFormat'] {
  if (format === 'json') return { type: 'json_object' };
  return isObject(format) ? { type: 'json_schema', schema: format } : undefined;
}

function decodeTools(tools: JsonValue | undefined): Tool[] {
  if (!Array.isArray(tools)) return [];
  return tools.map((tool, at) => decodeTool(tool, `tools[${at}].function`));
}

function decodeTool(value: JsonValue, path: string): FunctionTool {
  const source = isObject(value) ? value.function : undefined;
  if (!isObject(source)) refuse(path, 'must be an object');
  const { name, description, parameters } = source;
  if (typeof name !== 'string' || name === '') refuse(`${path}.name`, 'must be a non-empty string');
  const tool: FunctionTool = { type: 'function', name };
  if (typeof description === 'string') tool.description = description;
  if (isObject(parameters)) tool.parameters = parameters;
  return tool;
}

/** Arguments and schemas stay as they were written. */
function keepWritten({ messages, tools, format }: JsonObject, source: Source): void {
  const places: ArgumentsPath[] = [];
  for (const [at, { tool_calls: calls }] of listed(messages)) {
    for (const [index, { function: called }] of listed(calls)) {
      if (!isObject(called) || !mayDiffer(called.arguments)) continue;
      places.push({
        holder: called,
        name: 'arguments',
        steps: ['messages', at, 'tool_calls', index, 'function'],
      });
    }
  }
  for (const [at, { function: func }] of listed(tools)) {
    if (!isObject(func) || !isReordered(func.parameters)) continue;
    places.push({ holder: func, name: 'parameters', steps: ['tools', at, 'function'] });
  }
  if (isReordered(format)) places.push({ holder: { format }, name: 'format', steps: [] });
  keepSource(source, places);
}
