// Tools and the choice among them towards a responses provider.
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import type {
  CustomTool,
  FunctionTool,
  NativeField,
  NativeTool,
  Tool,
  ToolChoice,
} from '../../../canonical/request.ts';
import {
  callInWords,
  isForced,
  clientTool,
  isStrictSchema,
  isWebSearch,
  withObjectRoot,
  NO_ARGUMENTS,
} from '../../shared/tools/function-tools.ts';
import type { EncodeContext } from '../../shared/encode-context.ts';
import { refuse } from '../../shared/client.ts';

function encodeFunction(given: FunctionTool, encoding: EncodeContext): JsonObject {
  const tool = withObjectRoot(given, encoding, isStrictSchema);
  const { description, parameters } = tool;
  const wire: JsonObject = { type: 'function', name: encoding.toolName(tool.name) };
  if (description !== undefined) wire.description = description;
  wire.parameters = parameters ?? NO_ARGUMENTS;
  const strict = strictnessOf(tool, encoding);
  if (strict !== undefined) wire.strict = strict;
  putMembers(tool, wire, 'tools[].function.', encoding);
  return wire;
}

/** On this wire a tool is strict unless it says otherwise; on the others it is not. */
function strictnessOf({ strict, parameters }: FunctionTool, encoding: EncodeContext): boolean | undefined {
  if (strict === 'default') return undefined;
  if (strict !== 'open') return strict ?? false;
  if (isStrictSchema(parameters ?? {})) return true;
  encoding.warn(
    'dropped',
    'tools.strict',
    'the schema leaves members optional, which strict tools refuse here',
  );
  return false;
}

/** `inner`: the path of members that stand in an object of their own on chat. */
function putMembers(tool: Tool, wire: JsonObject, inner: string, encoding: EncodeContext): void {
  if (tool.cache !== undefined) encoding.warn('quiet', 'tools.cache', 'tools bear no cache marks');
  const isInner = ({ path }: NativeField): boolean => path.startsWith(inner);
  encoding.natives(
    tool.native?.filter((field) => !isInner(field)),
    wire,
    'tools[].',
  );
  encoding.leaveOut(tool.native?.filter(isInner));
}

/** Grammars are flat on this wire. */
function encodeFormat(format: JsonObject): JsonObject {
  if (format.type !== 'grammar' || !isObject(format.grammar)) return format;
  return { type: format.type, ...format.grammar };
}

function encodeCustom(tool: CustomTool, encoding: EncodeContext): JsonObject {
  const wire: JsonObject = { type: 'custom', name: encoding.toolName(tool.name) };
  if (tool.description !== undefined) wire.description = tool.description;
  if (tool.format !== undefined) wire.format = encodeFormat(tool.format);
  putMembers(tool, wire, 'tools[].custom.', encoding);
  return wire;
}

function encodeNative(tool: NativeTool, index: number, encoding: EncodeContext): JsonObject | undefined {
  if (tool.protocol === 'responses') return tool.value;
  const known = clientTool(tool);
  if (known !== undefined) return encodeFunction(known, encoding);
  if (tool.ofClient === true) {
    refuse(`tools[${index}].type`, `${JSON.stringify(tool.kind)} cannot be carried to this provider`);
  }
  // What it is asked for stands in `webSearch`.
  if (isWebSearch(tool) && encoding.request.webSearch !== undefined && encoding.traits.serverTools) {
    putMembers(tool, {}, 'tools[].function.', encoding);
  } else encoding.warn('dropped', 'tools', `the provider does not run ${tool.kind}`);
  return undefined;
}

export function encodeTool(tool: Tool, index: number, encoding: EncodeContext): JsonObject | undefined {
  if (tool.type === 'native') return encodeNative(tool, index, encoding);
  return tool.type === 'custom' ? encodeCustom(tool, encoding) : encodeFunction(tool, encoding);
}

function webSearchTool(encoding: EncodeContext): JsonObject[] {
  const { webSearch, tools = [] } = encoding.request;
  const standing = tools.find(isWebSearch);
  if (webSearch === undefined || (standing?.type === 'native' && standing.protocol === 'responses'))
    return [];
  if (!encoding.traits.serverTools) {
    // A tool that stands for it is reported with the tools.
    if (standing === undefined) encoding.warn('dropped', 'webSearch', 'the provider does not search');
    return [];
  }
  const tool: JsonObject = { type: 'web_search' };
  if (webSearch.contextSize !== undefined) tool.search_context_size = webSearch.contextSize;
  if (webSearch.location !== undefined) tool.user_location = { type: 'approximate', ...webSearch.location };
  return [tool];
}

export function encodeTools(encoding: EncodeContext): JsonObject[] {
  const { tools = [], messages } = encoding.request;
  const found = new Set(messages.flatMap((message) => encoding.foundAt(message) ?? []));
  const wire = tools
    .map((tool, index) => (found.has(tool) ? undefined : encodeTool(tool, index, encoding)))
    .filter((tool) => tool !== undefined);
  return [...wire, ...webSearchTool(encoding)];
}

function toolRef(name: string, encoding: EncodeContext): JsonObject {
  const custom = encoding.tool(name)?.type === 'custom';
  return { type: custom ? 'custom' : 'function', name: encoding.toolName(name) };
}

function isHostedElsewhere(name: string, encoding: EncodeContext): boolean {
  const tool = encoding.tool(name);
  return tool?.type === 'native' && tool.protocol !== 'responses' && clientTool(tool) === undefined;
}

interface EncodedChoice {
  choice?: JsonValue;
  /** What the choice demands and the model does not take as one. */
  words?: string;
}

/** `sent`: the tools that are left; the choice may name one of them. Without any, there is nothing to choose. */
export function encodeToolChoice(
  sent: JsonObject[],
  mayForce: boolean,
  encoding: EncodeContext,
): EncodedChoice {
  const { toolChoice: choice, tools } = encoding.request;
  if (choice === undefined) return {};
  if (choice.type === 'tool' && isHostedElsewhere(choice.name, encoding)) {
    refuse('tool_choice', `the tool ${JSON.stringify(choice.name)} cannot be carried to this provider`);
  }
  if (sent.length === 0) {
    if (choice.type === 'required' && tools !== undefined)
      refuse('tool_choice', 'none of the tools can be carried to this provider');
    return {};
  }
  if (isForced(choice) && !mayForce) {
    encoding.warn(
      'changed',
      'toolChoice',
      'this model takes no forced call, at least while it thinks: asked for in words',
    );
    const words = callInWords(choice, encoding);
    return { choice: choice.type === 'allowed' ? allowed(choice.names, 'auto', encoding) : 'auto', words };
  }
  return { choice: encodeChoice(choice, sent, encoding) };
}

function allowed(names: readonly string[], mode: 'auto' | 'required', encoding: EncodeContext): JsonValue {
  return { type: 'allowed_tools', mode, tools: names.map((name) => toolRef(name, encoding)) };
}

function encodeChoice(choice: ToolChoice, sent: JsonObject[], encoding: EncodeContext): JsonValue {
  if (choice.type === 'allowed') return allowed(choice.names, choice.mode, encoding);
  if (choice.type !== 'tool') return choice.type;
  if (encoding.traits.namedToolChoice) return toolRef(choice.name, encoding);
  const name = encoding.toolName(choice.name);
  sent.splice(0, sent.length, ...sent.filter((tool) => tool.name === name));
  encoding.warn('changed', 'toolChoice', 'the one tool to call was sent alone');
  return 'required';
}
