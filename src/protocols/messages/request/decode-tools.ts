// A client's tools and its choice among them. Tools that the provider runs or defines stay whole.
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import {
  LOCATION_MEMBERS,
  type FunctionTool,
  type NativeField,
  type NativeTool,
  type GenerationRequest,
  type Tool,
  type ToolChoice,
  type WebSearch,
} from '../../../canonical/request.ts';
import { decodeCache } from './decode-content.ts';
import { refuse } from '../../shared/client.ts';
import { addNativeFields } from '../fields.ts';
import { addedTool, flag, list, text } from '../wire-types.ts';

/** What may stand on a tool of any type. */
function decodeMembers<T extends FunctionTool | NativeTool>(result: T, tool: JsonObject): T {
  const strict = flag(tool.strict);
  const cache = decodeCache(tool.cache_control);
  if (strict !== undefined) result.strict = strict && 'open';
  if (cache !== undefined) result.cache = cache;
  if (tool.defer_loading === true) result.deferred = 'messages';
  const native: NativeField[] = [];
  addNativeFields(native, tool, 'tools[].');
  if (result.type === 'native' && isObject(tool.user_location))
    addNativeFields(native, tool.user_location, 'tools[].user_location.');
  if (native.length > 0) result.native = native;
  return result;
}

function decodeFunction(tool: JsonObject, at: string): FunctionTool {
  const { name, input_schema: schema } = tool;
  if (typeof name !== 'string' || name === '') refuse(`${at}.name`, 'must be a non-empty string');
  const result: FunctionTool = { type: 'function', name };
  const description = text(tool.description);
  if (description !== undefined) result.description = description;
  if (isObject(schema)) result.parameters = schema;
  return decodeMembers(result, tool);
}

/** Types of tools that the client runs. */
const OF_CLIENT = /^(?:bash|text_editor|memory|computer|browser_toolset|mcp_toolset)(?:_|$)/;

function decodeTool(tool: JsonValue, at: string): Tool {
  if (!isObject(tool)) return refuse(at, 'must be an object');
  const { type } = tool;
  if (typeof type !== 'string' || type === 'custom') return decodeFunction(tool, at);
  const result: NativeTool = { type: 'native', protocol: 'messages', kind: type, value: tool };
  const name = text(tool.name);
  if (name !== undefined) result.name = name;
  if (OF_CLIENT.test(type)) result.ofClient = true;
  return decodeMembers(result, tool);
}

function webSearch(tools: readonly Tool[]): WebSearch | undefined {
  const tool = tools.find((item) => item.type === 'native' && item.kind.startsWith('web_search_'));
  if (tool?.type !== 'native') return undefined;
  const { user_location: wire } = tool.value;
  if (!isObject(wire)) return {};
  const location: JsonObject = {};
  for (const name of LOCATION_MEMBERS) if (typeof wire[name] === 'string') location[name] = wire[name];
  return Object.keys(location).length === 0 ? {} : { location };
}

/** Tools that are defined where they are added on the way; one that is defined anew takes the place of the former. */
function addLater(tools: Tool[], messages: JsonValue | undefined): void {
  const places = new Map(tools.map(({ name }, at) => [name, at]));
  for (const [at, message] of list(messages).entries()) {
    for (const [index, block] of (isObject(message) ? list(message.content) : []).entries()) {
      if (!isObject(block) || block.type !== 'tool_addition') continue;
      const definition = addedTool(block);
      if (definition === undefined) continue;
      const tool = decodeTool(definition, `messages[${at}].content[${index}].tool.definition`);
      const known = tool.name === undefined ? undefined : places.get(tool.name);
      if (known === undefined) {
        places.set(tool.name, tools.length);
        // Elsewhere it joins the tools in the order in which the conversation names them.
        tools.push({ ...tool, deferred: 'messages' });
      } else tools[known] = { ...tool, deferred: tools[known]?.deferred };
    }
  }
}

export function decodeTools(value: JsonObject, request: GenerationRequest): void {
  const tools = list(value.tools).map((tool, index) => decodeTool(tool, `tools[${index}]`));
  const names = new Set<string>();
  tools.forEach((tool, index) => {
    if (tool.name === undefined) return;
    if (names.has(tool.name)) refuse(`tools[${index}].name`, `"${tool.name}" is there twice`);
    names.add(tool.name);
  });
  addLater(tools, value.messages);
  if (tools.length === 0) return;
  request.tools = tools;
  const search = webSearch(tools);
  if (search !== undefined) request.webSearch = search;
}

function choiceOf(choice: JsonObject): ToolChoice {
  switch (choice.type) {
    case 'auto':
      return { type: 'auto' };
    case 'none':
      return { type: 'none' };
    case 'any':
      return { type: 'required' };
    case 'tool':
      return { type: 'tool', name: text(choice.name) ?? refuse('tool_choice.name', 'must be a string') };
    default:
      return refuse('tool_choice.type', 'must be "auto", "any", "tool" or "none"');
  }
}

export function decodeToolChoice(value: JsonObject, request: GenerationRequest): void {
  const { tool_choice: choice } = value;
  if (!isObject(choice)) return;
  addNativeFields(request.native, choice, 'tool_choice.');
  request.toolChoice = choiceOf(choice);
  const single = flag(choice.disable_parallel_tool_use);
  if (single !== undefined) request.parallelToolCalls = !single;
}
