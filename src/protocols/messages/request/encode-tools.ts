// Tools and the choice among them, as a provider of this protocol takes them.
import type { JsonObject } from '../../../canonical/json.ts';
import type { FunctionTool, GenerationRequest, Tool, ToolChoice } from '../../../canonical/request.ts';
import {
  callInWords,
  isForced,
  mayForceCalls,
  isStrictSchema,
  isWebSearch,
  withObjectRoot,
  functionForCustom,
} from '../../shared/tools/function-tools.ts';
import { cacheControl } from './cache.ts';
import type { EncodeContext } from '../../shared/encode-context.ts';
import { refuse } from '../../shared/client.ts';
import { isRecursive, sanitise } from './json-schema.ts';

/** By default its newer versions are called by code that the model writes, which older models and chat clients know nothing of. */
const WEB_SEARCH = { type: 'web_search_20260318', name: 'web_search', allowed_callers: ['direct'] } as const;

function inputSchema(parameters: JsonObject | undefined): JsonObject {
  if (parameters === undefined || Object.keys(parameters).length === 0)
    return { type: 'object', properties: {} };
  return parameters.type === 'object' ? parameters : { ...parameters, type: 'object' };
}

function encodeFunction(given: FunctionTool, encoding: EncodeContext): JsonObject {
  const tool = withObjectRoot(given, encoding, () => true);
  const schema = inputSchema(tool.parameters);
  const asked = tool.strict === true || tool.strict === 'open';
  const strict = asked && encoding.traits.structuredOutput !== false && !isRecursive(schema);
  if (asked && !strict)
    encoding.warn('dropped', 'tools.strict', 'this model does not hold to a schema strictly');
  // Providers take few strict tools: those that nobody asked for would use them up.
  if (tool.strict === 'default' && isStrictSchema(tool.parameters))
    encoding.warn('changed', 'tools.strict', 'here a tool is strict only if the client asks for it');
  const result: JsonObject = { name: encoding.toolName(tool.name) };
  if (tool.description !== undefined) result.description = tool.description;
  result.input_schema = strict && tool.strict !== 'open' ? sanitise(schema) : schema;
  if (strict) result.strict = true;
  encoding.natives(tool.native, result, 'tools[].');
  if (tool.cache !== undefined) result.cache_control = cacheControl(tool.cache);
  return result;
}

function encodeTool(tool: Tool, encoding: EncodeContext): JsonObject | undefined {
  switch (tool.type) {
    case 'function':
      return encodeFunction(tool, encoding);
    case 'custom':
      encoding.warn('changed', 'tools', 'a free text tool was sent as a function with one string');
      return encodeFunction(functionForCustom(tool), encoding);
    case 'native':
      if (tool.protocol === 'messages') return structuredClone(tool.value);
      // What becomes of it, `webSearchTool` reports.
      if (isWebSearch(tool) && encoding.request.webSearch !== undefined) return undefined;
      encoding.warn('dropped', 'tools', `a tool of type "${tool.kind}" is not known to this provider`);
      return undefined;
  }
}

/** Calls in a history are refused where no tool is declared: their names are, with no arguments known. */
function fromHistory(request: GenerationRequest, encoding: EncodeContext): EncodedTools {
  let names: Set<string> | undefined;
  for (const message of request.messages) {
    for (const part of message.parts) if (part.type === 'tool_call') (names ??= new Set()).add(part.name);
  }
  if (names === undefined) return { tools: [] };
  const tools = [...names].map((name) => ({
    name: encoding.toolName(name),
    input_schema: { type: 'object', properties: {} },
  }));
  return { tools, choice: { type: 'none' } };
}

function webSearchTool(request: GenerationRequest, encoding: EncodeContext): JsonObject[] {
  const { webSearch } = request;
  const present = request.tools?.some((tool) => tool.type === 'native' && tool.protocol === 'messages');
  if (webSearch === undefined || present === true) return [];
  if (!encoding.traits.serverTools) {
    encoding.warn('dropped', 'webSearch', 'this provider does not search the web');
    return [];
  }
  if (webSearch.contextSize !== undefined)
    encoding.warn('dropped', 'webSearch.contextSize', 'not known to this provider');
  if (request.tools?.some((tool) => tool.name === WEB_SEARCH.name)) {
    encoding.warn('dropped', 'webSearch', 'a tool of the client has its name');
    return [];
  }
  const tool: JsonObject = { ...WEB_SEARCH, allowed_callers: [...WEB_SEARCH.allowed_callers] };
  if (webSearch.location !== undefined) tool.user_location = { type: 'approximate', ...webSearch.location };
  return [tool];
}

export interface EncodedTools {
  tools: JsonObject[];
  choice?: JsonObject;
  /** What the choice demands and the model does not take as one. */
  words?: string;
}

/** Where words alone are taken, a tool that must be called is the only one of the list. */
function offersOne({ request, traits }: EncodeContext): boolean {
  return request.toolChoice?.type === 'tool' && !traits.namedToolChoice;
}

function encodeChoice(choice: ToolChoice, encoding: EncodeContext): JsonObject {
  if (offersOne(encoding)) return { type: 'any' };
  switch (choice.type) {
    case 'auto':
    case 'none':
      return { type: choice.type };
    case 'required':
      return { type: 'any' };
    case 'tool':
      return { type: 'tool', name: encoding.toolName(choice.name) };
    case 'allowed':
      return { type: choice.mode === 'required' ? 'any' : 'auto' };
  }
}

/** At most one call a turn is a member of the tool choice, so a choice is added if the request has none; `none` has no such member. */
function single(choice: JsonObject | undefined): JsonObject | undefined {
  if (choice?.type === 'none') return choice;
  return { ...(choice ?? { type: 'auto' }), disable_parallel_tool_use: true };
}

function offered(request: GenerationRequest, encoding: EncodeContext): Tool[] {
  const { tools = [], toolChoice } = request;
  if (toolChoice?.type === 'tool' && offersOne(encoding)) {
    encoding.warn('changed', 'toolChoice', 'the one tool to call was sent alone');
    return tools.filter((tool) => tool.name === toolChoice.name);
  }
  if (toolChoice?.type !== 'allowed') return tools;
  encoding.warn('changed', 'toolChoice', 'the tools that are not allowed were left out of the list');
  const names = new Set(toolChoice.names);
  return tools.filter((tool) => tool.name !== undefined && names.has(tool.name));
}

export function encodeTools(thinkingOn: boolean, encoding: EncodeContext): EncodedTools {
  const { request } = encoding;
  if (request.tools === undefined && request.toolChoice === undefined && request.webSearch === undefined) {
    return fromHistory(request, encoding);
  }
  const tools = offered(request, encoding)
    .map((tool) => encodeTool(tool, encoding))
    .filter((tool) => tool !== undefined);
  tools.push(...webSearchTool(request, encoding));
  const { toolChoice } = request;
  if (tools.length === 0 && toolChoice?.type === 'allowed' && toolChoice.mode === 'required') {
    refuse('tool_choice', 'none of the tools can be carried to this provider');
  }
  if (tools.length === 0) return fromHistory(request, encoding);
  const encoded: EncodedTools = { tools };
  if (toolChoice !== undefined && isForced(toolChoice) && !mayForceCalls(thinkingOn, encoding)) {
    encoding.warn(
      'changed',
      'toolChoice',
      'this model takes no forced call, at least while it thinks: asked for in words',
    );
    encoded.choice = { type: 'auto' };
    encoded.words = callInWords(toolChoice, encoding);
  } else if (toolChoice !== undefined) encoded.choice = encodeChoice(toolChoice, encoding);
  if (request.parallelToolCalls === false || request.legacyFunctions === true)
    encoded.choice = single(encoded.choice);
  return encoded;
}

/**
 * A tool that stands for a structured answer: the model must call it, or, where it has real tools too, any of them. Returns its
 * name on the wire.
 */
export function forceStructuredTool(
  format: { name?: string; description?: string; schema: JsonObject },
  encoded: EncodedTools,
  encoding: EncodeContext,
): string {
  const { choice } = encoded;
  const taken = new Set(encoded.tools.map((tool) => tool.name));
  let name = encoding.toolName(format.name ?? 'structured_output');
  while (taken.has(name)) name = `${name}_`;
  const others = encoded.tools.length > 0 && choice?.type !== 'none';
  encoded.tools.push({
    name,
    description: format.description ?? 'Give the final answer with this tool.',
    input_schema: inputSchema(format.schema),
  });
  const named = encoding.traits.namedToolChoice ? { type: 'tool', name } : { type: 'any' };
  encoded.choice = others ? { type: 'any' } : { ...named, disable_parallel_tool_use: true };
  encoding.warn('changed', 'responseFormat', 'sent as a forced tool');
  return name;
}
