// Tools and tool choice towards a chat provider. Tools that another provider would run are left out and reported: real
// clients list them always. Only where the choice forces one is that a refusal.
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import type { FunctionTool, NativeField, NativeTool, Tool, ToolChoice } from '../../../canonical/request.ts';
import type { EncodeContext } from '../../shared/encode-context.ts';
import { refuse } from '../../shared/client.ts';
import {
  functionForCustom,
  clientTool,
  isWebSearch,
  isStrictSchema,
  withObjectRoot,
} from '../../shared/tools/function-tools.ts';

export function encodeTools(encoding: EncodeContext): JsonObject[] {
  const wire: JsonObject[] = [];
  const left = encoding.traits.customTools ? undefined : allowedNames(encoding);
  (encoding.request.tools ?? []).forEach((tool, index) => {
    if (left !== undefined && (tool.name === undefined || !left.has(tool.name))) return;
    const encoded = encodeTool(tool, index, encoding);
    if (encoded) wire.push(encoded);
  });
  return wire;
}

/** The names of a choice that must be enforced by the list itself. */
function allowedNames(encoding: EncodeContext): ReadonlySet<string> | undefined {
  const { toolChoice } = encoding.request;
  if (toolChoice?.type !== 'allowed') return undefined;
  encoding.warn('changed', 'toolChoice', 'the tools that are not allowed were left out of the list');
  return new Set(toolChoice.names);
}

function encodeTool(tool: Tool, index: number, encoding: EncodeContext): JsonObject | undefined {
  if (tool.type === 'native') return encodeNative(tool, index, encoding);
  if (tool.type === 'function') return encodeFunction(tool, encoding);
  if (!encoding.traits.customTools) {
    encoding.warn('changed', 'tools', 'a free text tool was sent as a function with one string');
    return encodeFunction(functionForCustom(tool), encoding);
  }
  const custom: JsonObject = { name: encoding.toolName(tool.name) };
  if (tool.description !== undefined) custom.description = tool.description;
  if (tool.format) custom.format = tool.format;
  const wire: JsonObject = { type: 'custom', custom };
  putMembers(tool, custom, wire, encoding);
  return wire;
}

/** What stands on a tool beside its own: in its body or around it. */
function putMembers(tool: Tool, body: JsonObject, wire: JsonObject, encoding: EncodeContext): void {
  if (tool.cache) encoding.warn('quiet', 'tools.cache', 'chat marks no tools');
  const prefix = `tools[].${wire.type === 'custom' ? 'custom' : 'function'}.`;
  const isOwn = ({ path }: NativeField): boolean => path.startsWith(prefix);
  encoding.natives(tool.native?.filter(isOwn), body, prefix);
  encoding.natives(
    tool.native?.filter((field) => !isOwn(field)),
    wire,
    'tools[].',
  );
}

function encodeFunction(given: FunctionTool, encoding: EncodeContext): JsonObject {
  const tool = withObjectRoot(given, encoding, isStrictSchema);
  const body: JsonObject = { name: encoding.toolName(tool.name) };
  if (tool.description !== undefined) body.description = tool.description;
  if (tool.parameters) body.parameters = tool.parameters;
  if (tool.strict !== undefined) encodeStrict(tool, body, encoding);
  const wire: JsonObject = { type: 'function', function: body };
  putMembers(tool, body, wire, encoding);
  return wire;
}

function encodeStrict(tool: FunctionTool, body: JsonObject, encoding: EncodeContext): void {
  const { strict, parameters = {} } = tool;
  if (typeof strict === 'boolean') body.strict = strict;
  else if (isStrictSchema(parameters)) body.strict = true;
  else if (strict === 'open')
    encoding.warn(
      'dropped',
      'tools.strict',
      'the schema leaves members optional, which strict tools of chat refuse',
    );
}

function encodeNative(tool: NativeTool, index: number, encoding: EncodeContext): JsonObject | undefined {
  if (tool.protocol === 'chat') return tool.value;
  const known = clientTool(tool);
  if (known) return encodeFunction(known, encoding);
  if (tool.ofClient === true) {
    refuse(`tools[${index}].type`, `${JSON.stringify(tool.kind)} cannot be carried to this provider`);
  }
  // `putWebSearch` encodes a web search as `web_search_options`, and reports one that is left out.
  if (isWebSearch(tool) && encoding.request.webSearch && encoding.traits.webSearchOptions) {
    putMembers(tool, {}, {}, encoding);
  } else encoding.warn('dropped', 'tools', `the provider does not run ${tool.kind}`);
  return undefined;
}

function toolRef(name: string, encoding: EncodeContext): JsonObject {
  const custom = encoding.traits.customTools && encoding.tool(name)?.type === 'custom';
  const fitted = { name: encoding.toolName(name) };
  return custom ? { type: 'custom', custom: fitted } : { type: 'function', function: fitted };
}

function isNativeOnly(name: string, encoding: EncodeContext): boolean {
  const tool = encoding.tool(name);
  return tool?.type === 'native' && tool.protocol !== 'chat' && clientTool(tool) === undefined;
}

interface Choice {
  tools: JsonObject[];
  choice?: JsonValue;
  /** What stands in the system text for a call that cannot be forced. */
  inWords?: string;
}

/**
 * `sent`: the tools that are left. Both vendors refuse a choice without tools, so that it goes with the last of them.
 * `mayForce`: a call may be forced in this request.
 */
export function encodeToolChoice(sent: JsonObject[], encoding: EncodeContext, mayForce: boolean): Choice {
  const choice = encoding.request.toolChoice;
  if (!choice) return { tools: sent };
  if (choice.type === 'tool' && isNativeOnly(choice.name, encoding)) {
    refuse('tool_choice', `the tool ${JSON.stringify(choice.name)} cannot be carried to this provider`);
  }
  const isRequired = choice.type === 'required' || (choice.type === 'allowed' && choice.mode === 'required');
  if (sent.length === 0) {
    if (isRequired && encoding.request.tools?.length) {
      refuse('tool_choice', 'none of the tools can be carried to this provider');
    }
    return { tools: sent };
  }
  if (!mayForce && (isRequired || choice.type === 'tool')) return askForCall(choice, sent, encoding);
  if (choice.type !== 'tool' || encoding.traits.namedToolChoice)
    return { tools: sent, choice: encodeChoice(choice, encoding) };
  const name = encoding.toolName(choice.name);
  encoding.warn('changed', 'toolChoice', 'this server takes words alone: the named tool was sent alone');
  return { tools: sent.filter((tool) => sentName(tool) === name), choice: 'required' };
}

function sentName({ function: own, custom }: JsonObject): JsonValue | undefined {
  const body = own ?? custom;
  return isObject(body) ? body.name : undefined;
}

function askForCall(choice: ToolChoice, tools: JsonObject[], encoding: EncodeContext): Choice {
  encoding.warn('changed', 'toolChoice', 'no call can be forced here: asked for in the system text');
  const which = choice.type === 'tool' ? `the tool ${encoding.toolName(choice.name)}` : 'one of the tools';
  const open: ToolChoice = choice.type === 'allowed' ? { ...choice, mode: 'auto' } : { type: 'auto' };
  return { tools, choice: encodeChoice(open, encoding), inWords: `Answer with a call of ${which}.` };
}

function encodeChoice(choice: ToolChoice, encoding: EncodeContext): JsonValue {
  switch (choice.type) {
    case 'auto':
    case 'none':
    case 'required':
      return choice.type;
    case 'tool':
      return toolRef(choice.name, encoding);
    case 'allowed': {
      const { mode, names } = choice;
      if (!encoding.traits.customTools) return mode;
      return {
        type: 'allowed_tools',
        allowed_tools: { mode, tools: names.map((name) => toolRef(name, encoding)) },
      };
    }
  }
}

// -- members beside a call's name and arguments, which Gemini's chat endpoint needs back with the call --

/** Google's value for a call without a signature: https://ai.google.dev/gemini-api/docs/thought-signatures */
export const UNSIGNED: JsonObject = { google: { thought_signature: 'skip_thought_signature_validator' } };

/** The members beside a call of a history; `at`: its place among the calls of its turn. Only the first call is signed. */
export function signedExtra(extra: JsonObject | undefined, at: number, encoding: EncodeContext): JsonObject {
  const own = chatExtra(extra);
  if (!encoding.traits.thoughtSignatures || at > 0 || own.extra_content !== undefined) return own;
  return { ...own, extra_content: UNSIGNED };
}

/** Of a call's further members the chat wire knows Gemini's alone; other protocols' mean nothing here. */
export function chatExtra(extra: JsonObject | undefined): JsonObject {
  return extra?.extra_content === undefined ? {} : { extra_content: extra.extra_content };
}
