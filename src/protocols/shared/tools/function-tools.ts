// Tools for providers that take functions only: client tools of the messages protocol, which a request names by type alone, get their
// schema; a custom tool becomes a function with one string. Also whether a schema fits strict mode, and
// whether a call can be forced.
// https://docs.claude.com/en/docs/agents-and-tools/tool-use/overview
import { type JsonObject, isObject, type JsonValue } from '../../../canonical/json.ts';
import type { FunctionTool, NativeTool, CustomTool, Tool, ToolChoice } from '../../../canonical/request.ts';
import type { Traits } from '../../../canonical/traits.ts';
import type { EncodeContext } from '../encode-context.ts';
import { objectRoot } from './schema-root.ts';

/** The schema of a function without arguments. */
export const NO_ARGUMENTS: JsonObject = { type: 'object', properties: {} };

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

/** The function for a client tool; undefined: another native tool. */
export function clientTool(tool: NativeTool): FunctionTool | undefined {
  const known = SCHEMAS.find(([kind]) => kind.test(tool.kind));
  if (!known || tool.name === undefined) return undefined;
  const [, description, parameters] = known;
  const { name, strict, cache, native } = tool;
  return { type: 'function', name, description, parameters, strict, cache, native };
}

/** A web search of any protocol; its settings are in the request's `webSearch`. */
export function isWebSearch(tool: Tool): boolean {
  return tool.type === 'native' && /^web_search(?:_|$)/.test(tool.kind);
}

const ONE_STRING: JsonObject = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
};

export function functionForCustom({ name, description, format, cache, native }: CustomTool): FunctionTool {
  const lines = [description ?? '', grammarText(format)].filter((line) => line !== '');
  const tool: FunctionTool = {
    type: 'function',
    name,
    description: lines.join('\n\n') || 'Takes free text.',
    parameters: ONE_STRING,
  };
  if (cache !== undefined) tool.cache = cache;
  if (native !== undefined) tool.native = native;
  return tool;
}

/** The grammar as text for the model, since a function cannot enforce it. */
function grammarText(format: JsonObject | undefined): string {
  if (format === undefined || format.type === 'text') return '';
  const grammar = isObject(format.grammar) ? format.grammar : {};
  const { syntax, definition } = grammar;
  if (typeof definition !== 'string') return `The input must follow this format: ${JSON.stringify(format)}`;
  const kind = typeof syntax === 'string' ? ` (${syntax})` : '';
  return `The input must follow this grammar${kind}:\n${definition}`;
}

/**
 * The tool with a root of its schema that this server takes. A tool stays strict only where the joined schema may be: `mayBeStrict` is
 * the wire's own rule.
 */
export function withObjectRoot(
  tool: FunctionTool,
  encoding: EncodeContext,
  mayBeStrict: (schema: JsonObject) => boolean,
): FunctionTool {
  if (tool.parameters === undefined || encoding.traits.schemaRoot === 'any') return tool;
  const parameters = objectRoot(tool.parameters);
  if (parameters === tool.parameters) return tool;
  encoding.warn('changed', 'tools', 'the root of a schema was made one object');
  if (tool.strict !== true || mayBeStrict(parameters)) return { ...tool, parameters };
  encoding.warn('dropped', 'tools.strict', 'the joined root of a schema leaves members optional');
  return { ...tool, parameters, strict: false };
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

/**
 * Whether a schema is in OpenAI's subset for strict tools and structured output: every object in it is closed and requires all of its
 * members.
 */
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
    const listed = new Set(Array.isArray(required) ? required : []);
    if (schema.additionalProperties !== false || !names.every((name) => listed.has(name))) return false;
  }
  const inner = [properties, schema.$defs, schema.definitions]
    .filter(isObject)
    .flatMap((group) => Object.values(group));
  return [...inner, schema.items, schema.anyOf].every(isStrictPart);
}

export function callInWords(choice: ToolChoice, encoding: EncodeContext): string {
  return choice.type === 'tool'
    ? `In this answer you must call the tool ${encoding.toolName(choice.name)}.`
    : 'In this answer you must call one of the tools.';
}

export function isForced(choice: ToolChoice | undefined): boolean {
  if (choice?.type === 'allowed') return choice.mode === 'required';
  return choice?.type === 'required' || choice?.type === 'tool';
}

/** `thinks`: the model does, in this request. */
export function mayForceCalls(thinks: boolean, { traits }: EncodeContext): boolean {
  const { forcedTools } = traits;
  return forcedTools === 'always' || (forcedTools === 'not_thinking' && !thinks);
}

/** The forms of structured output that this target takes. */
export function formsOf({ structuredOutput, responseFormats }: Traits): Traits['responseFormats'] {
  return structuredOutput === false ? [] : responseFormats;
}

/** Whether a call of a tool stands for structured output. */
export function isForcedFormat({ request, traits }: EncodeContext): boolean {
  const { responseFormat, tools = [] } = request;
  if (responseFormat === undefined) return false;
  return formsOf(traits).length === 0 || (!traits.formatsWithTools && tools.length > 0);
}
