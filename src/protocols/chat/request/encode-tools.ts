// Tools and tool choice towards a chat provider. Tools that another provider would run are left out and reported: real
// clients list them always. Only where the choice forces one is that a refusal.
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import type { FunctionTool, NativeTool, Tool, ToolChoice } from '../../../canonical/request.ts';
import type { EncodeContext } from '../../shared/encode-context.ts';
import { refuse } from '../../shared/envelope.ts';

export function encodeTools(encoding: EncodeContext): JsonObject[] {
  const wire: JsonObject[] = [];
  (encoding.request.tools ?? []).forEach((tool, index) => {
    const encoded = encodeTool(tool, index, encoding);
    if (encoded) wire.push(encoded);
  });
  return wire;
}

function encodeTool(tool: Tool, index: number, encoding: EncodeContext): JsonObject | undefined {
  if (tool.type === 'native') return encodeNative(tool, index, encoding);
  if (tool.type === 'function') return encodeFunction(tool, encoding);
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
  const prefix = `tools[].${tool.type}.`;
  const own = (tool.native ?? []).filter((field) => field.path.startsWith(prefix));
  encoding.natives(own, body, prefix);
  encoding.natives(
    tool.native?.filter((field) => !own.includes(field)),
    wire,
    'tools[].',
  );
}

function encodeFunction(tool: FunctionTool, encoding: EncodeContext): JsonObject {
  const body: JsonObject = { name: encoding.toolName(tool.name) };
  if (tool.description !== undefined) body.description = tool.description;
  if (tool.parameters) body.parameters = tool.parameters;
  if (tool.strict !== undefined) encodeStrict(tool, body, encoding);
  if (tool.deferred) encoding.warn('dropped', 'tools.deferred', 'the tool is sent at once');
  const wire: JsonObject = { type: 'function', function: body };
  putMembers(tool, body, wire, encoding);
  return wire;
}

function encodeStrict(tool: FunctionTool, body: JsonObject, encoding: EncodeContext): void {
  const fits = !tool.strict || encoding.request.protocol === 'chat' || isStrictSchema(tool.parameters ?? {});
  if (fits) body.strict = tool.strict;
  else
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
  if (isUnknownClientTool(tool)) {
    refuse(`tools[${index}].type`, `${JSON.stringify(tool.kind)} cannot be carried to this provider`);
  }
  // A web search stands in `web_search_options`, which tells whether it was left out.
  if (tool.kind.startsWith('web_search_') && encoding.request.webSearch && encoding.traits.webSearchOptions) {
    putMembers(tool, {}, {}, encoding);
  } else encoding.warn('dropped', 'tools', `the provider does not run ${tool.kind}`);
  return undefined;
}

/** Keywords that OpenAI's strict mode refuses. */
const NOT_STRICT = [
  'allOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
  'patternProperties',
  'propertyNames',
  'prefixItems',
  'uniqueItems',
  'contains',
  'minProperties',
  'maxProperties',
  'unevaluatedProperties',
  'unevaluatedItems',
  'dependentRequired',
  'dependentSchemas',
];

/** OpenAI's subset for strict schemas: a closed object, and every object within closed, with all of its members required. */
export function isStrictSchema(schema: JsonValue | undefined): boolean {
  return isObject(schema) && schema.type === 'object' && schema.anyOf === undefined && isStrictPart(schema);
}

function isStrictPart(schema: JsonValue | undefined): boolean {
  if (Array.isArray(schema)) return schema.every(isStrictPart);
  if (!isObject(schema)) return true;
  const { properties, required } = schema;
  if (NOT_STRICT.some((keyword) => schema[keyword] !== undefined)) return false;
  if (schema.type === 'object' || isObject(properties)) {
    const names = isObject(properties) ? Object.keys(properties) : [];
    const listed = Array.isArray(required) ? required : [];
    if (schema.additionalProperties !== false || !names.every((name) => listed.includes(name))) return false;
  }
  const inner = [properties, schema.$defs, schema.definitions]
    .filter(isObject)
    .flatMap((group) => Object.values(group));
  return [...inner, schema.items, schema.anyOf].every(isStrictPart);
}

function toolRef(name: string, encoding: EncodeContext): JsonObject {
  const custom = encoding.request.tools?.some((tool) => tool.type === 'custom' && tool.name === name);
  const fitted = { name: encoding.toolName(name) };
  return custom ? { type: 'custom', custom: fitted } : { type: 'function', function: fitted };
}

function isNativeOnly(name: string, encoding: EncodeContext): boolean {
  const tool = encoding.request.tools?.find((item) => item.name === name);
  return tool?.type === 'native' && tool.protocol !== 'chat' && clientTool(tool) === undefined;
}

/** `sent`: the tools that are left. Both vendors refuse a choice without tools, so that it goes with the last of them. */
export function encodeToolChoice(
  sent: readonly JsonObject[],
  encoding: EncodeContext,
): JsonValue | undefined {
  const choice = encoding.request.toolChoice;
  if (!choice) return undefined;
  if (choice.type === 'tool' && isNativeOnly(choice.name, encoding)) {
    refuse('tool_choice', `the tool ${JSON.stringify(choice.name)} cannot be carried to this provider`);
  }
  if (sent.length === 0) {
    if (choice.type === 'required' && encoding.request.tools?.length) {
      refuse('tool_choice', 'none of the tools can be carried to this provider');
    }
    return undefined;
  }
  return encodeChoice(choice, encoding);
}

function encodeChoice(choice: ToolChoice, encoding: EncodeContext): JsonValue {
  const mayForce = encoding.traits.forcedTools !== 'never';
  switch (choice.type) {
    case 'auto':
    case 'none':
      return choice.type;
    case 'required':
      if (mayForce) return 'required';
      break;
    case 'tool':
      if (mayForce) return toolRef(choice.name, encoding);
      break;
    case 'allowed': {
      const mode = choice.mode === 'required' && !mayForce ? 'auto' : choice.mode;
      const tools = choice.names.map((name) => toolRef(name, encoding));
      return { type: 'allowed_tools', allowed_tools: { mode, tools } };
    }
  }
  encoding.warn('changed', 'toolChoice', 'this model takes no forced call');
  return 'auto';
}

// Tools that the messages protocol names by a type alone while the client runs them: their arguments, for providers that need a schema.
// https://docs.claude.com/en/docs/agents-and-tools/tool-use/overview

const BASH: JsonObject = {
  type: 'object',
  properties: {
    command: { type: 'string', description: 'The command to run. Required unless the tool is restarted.' },
    restart: { type: 'boolean', description: 'Set to true to restart the tool.' },
  },
};

const EDITOR: JsonObject = {
  type: 'object',
  properties: {
    command: { type: 'string', enum: ['view', 'create', 'str_replace', 'insert'] },
    path: { type: 'string', description: 'Absolute path of the file or folder.' },
    file_text: { type: 'string', description: 'For create: the whole content of the file.' },
    old_str: { type: 'string', description: 'For str_replace: the text to replace; it must occur once.' },
    new_str: { type: 'string', description: 'For str_replace: the text that takes its place.' },
    insert_line: {
      type: 'integer',
      description: 'For insert: the line after which the text goes, 0 for the start.',
    },
    insert_text: { type: 'string', description: 'For insert: the text.' },
    view_range: {
      type: 'array',
      items: { type: 'integer' },
      description: 'For view: the first and the last line, from 1; -1 is the end.',
    },
  },
  required: ['command', 'path'],
};

const MEMORY: JsonObject = {
  type: 'object',
  properties: {
    command: { type: 'string', enum: ['view', 'create', 'str_replace', 'insert', 'delete', 'rename'] },
    path: { type: 'string', description: 'Path of the file or folder, below /memories. Not for rename.' },
    file_text: { type: 'string', description: 'For create: the whole content of the file.' },
    old_str: { type: 'string', description: 'For str_replace: the text to replace; it must occur once.' },
    new_str: { type: 'string', description: 'For str_replace: the text that takes its place.' },
    insert_line: {
      type: 'integer',
      description: 'For insert: the line after which the text goes, 0 for the start.',
    },
    insert_text: { type: 'string', description: 'For insert: the text.' },
    old_path: { type: 'string', description: 'For rename: the present path.' },
    new_path: { type: 'string', description: 'For rename: the path to be.' },
    view_range: {
      type: 'array',
      items: { type: 'integer' },
      description: 'For view: the first and the last line, from 1; -1 is the end.',
    },
  },
  required: ['command'],
};

const SCHEMAS: readonly (readonly [kind: RegExp, description: string, parameters: JsonObject])[] = [
  [/^bash_\d+$/, 'Runs commands in a shell that keeps its state between calls.', BASH],
  [/^text_editor_\d+$/, 'Views, creates and edits files.', EDITOR],
  [/^memory_\d+$/, 'Keeps notes from one conversation to the next, as files below /memories.', MEMORY],
];

/** Undefined: it is not one of them. */
function clientTool(tool: NativeTool): FunctionTool | undefined {
  const known = SCHEMAS.find(([kind]) => kind.test(tool.kind));
  if (!known || tool.name === undefined) return undefined;
  const [, description, parameters] = known;
  const { name, strict, cache, deferred, native } = tool;
  return { type: 'function', name, description, parameters, strict, cache, deferred, native };
}

/** The client runs these as well, but their arguments are known to the provider alone. */
function isUnknownClientTool(tool: NativeTool): boolean {
  return /^(?:bash|text_editor|memory|computer|browser_toolset|mcp_toolset)(?:_|$)/.test(tool.kind);
}

// -- members beside a call's name and arguments, which Gemini's chat endpoint needs back with the call --

/** Google's word for a call whose signature was lost or never was: https://ai.google.dev/gemini-api/docs/thought-signatures */
const UNSIGNED: JsonObject = { google: { thought_signature: 'skip_thought_signature_validator' } };

/** The members beside a call of a history; `at`: its place among the calls of its turn, of which only the first is signed. */
export function signedExtra(extra: JsonObject | undefined, at: number, encoding: EncodeContext): JsonObject {
  const own = encoding.request.protocol === 'chat' ? (extra ?? {}) : chatExtra(extra);
  if (!encoding.traits.thoughtSignatures || at > 0 || own.extra_content !== undefined) return own;
  return { ...own, extra_content: UNSIGNED };
}

/** Of a call's further members the chat wire knows Gemini's alone; other protocols' mean nothing here. */
export function chatExtra(extra: JsonObject | undefined): JsonObject {
  return extra?.extra_content === undefined ? {} : { extra_content: extra.extra_content };
}
