// Tools and the choice among them as canonical ones. Tools of kinds that other protocols lack become functions with written-out
// schemas; those that a provider would run stay whole.
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import {
  LOCATION_MEMBERS,
  type CustomTool,
  type FunctionTool,
  type GenerationRequest,
  type NativeField,
  type NativeTool,
  type Tool,
  type ToolChoice,
} from '../../../canonical/request.ts';
import { isWebSearch, NO_ARGUMENTS } from '../../shared/tools/function-tools.ts';
import { refuse } from '../../shared/client.ts';
import { addNativeFields, nativeField } from '../fields.ts';
import {
  BUILT_IN,
  isHosted,
  type BuiltIn,
  type ListedTool,
  type ToolDirectory,
  type ToolLists,
} from './tools.ts';

const text = (description: string): JsonObject => ({ type: 'string', description });
const texts = (description: string): JsonObject => ({
  type: 'array',
  items: { type: 'string' },
  description,
});
const count = (description: string): JsonObject => ({ type: 'integer', description });

function object(properties: JsonObject, required: string[]): JsonObject {
  return { type: 'object', properties, required, additionalProperties: false };
}

/** What each is for, and its arguments: the members of its call on the wire. */
const BUILT_IN_TOOLS = {
  tool_search: {
    description: 'Searches for further tools. What is found can be called in the next turn.',
    parameters: object({ query: text('What the tool should do.'), limit: count('The most tools.') }, [
      'query',
    ]),
  },
  local_shell: {
    description: 'Runs a command on the machine of the user and returns its output.',
    parameters: object(
      {
        command: texts('The program and its arguments.'),
        working_directory: text('The folder to run it in.'),
        timeout_ms: count('Milliseconds after which it is stopped.'),
        env: {
          type: 'object',
          description: 'Environment variables.',
          additionalProperties: { type: 'string' },
        },
      },
      ['command'],
    ),
  },
  shell: {
    description: 'Runs commands in a shell and returns their output.',
    parameters: object(
      {
        commands: texts('The commands, each a line for the shell.'),
        timeout_ms: count('Milliseconds after which they are stopped.'),
        max_output_length: count('The most characters of output.'),
      },
      ['commands'],
    ),
  },
  apply_patch: {
    description: 'Creates, changes or deletes one file.',
    parameters: object(
      {
        type: { type: 'string', enum: ['create_file', 'update_file', 'delete_file'] },
        path: text('Path of the file.'),
        diff: text(
          'Not for delete_file. Lines that begin with "+" are added, with "-" removed, with a space kept; a line "@@" begins a hunk.',
        ),
      },
      ['type', 'path'],
    ),
  },
} as const satisfies Record<BuiltIn, { description: string; parameters: JsonObject }>;

function nameIn({ name, at }: ListedTool): string {
  return name === '' ? refuse(`${at}.name`, 'must be a non-empty string') : name;
}

const FUNCTION_MEMBERS = new Set(['type', 'name', 'description', 'parameters', 'strict']);
/** What was found and loaded is no longer deferred. */
const LOADED_MEMBERS = new Set([...FUNCTION_MEMBERS, 'defer_loading']);
const CUSTOM_MEMBERS = new Set(['type', 'name', 'description', 'format', 'defer_loading']);

function readFunction(tool: ListedTool, name: string): FunctionTool {
  const { description, parameters, strict } = tool.value;
  // Here null means no arguments. On other wires many a server refuses a function without a schema.
  const read: FunctionTool = {
    type: 'function',
    name,
    parameters: isObject(parameters) ? parameters : NO_ARGUMENTS,
    strict: typeof strict === 'boolean' ? strict : 'default',
  };
  if (typeof description === 'string') read.description = description;
  addMembers(read, tool, tool.loaded ? LOADED_MEMBERS : FUNCTION_MEMBERS);
  return read;
}

/** Grammars stand in an object of their own in the canonical form. */
function readFormat(format: JsonObject): JsonObject {
  if (format.type !== 'grammar' || isObject(format.grammar)) return format;
  const { type, ...grammar } = format;
  return { type, grammar };
}

function readCustom(tool: ListedTool, name: string): CustomTool {
  const { description, format } = tool.value;
  const read: CustomTool = { type: 'custom', name };
  if (typeof description === 'string') read.description = description;
  if (isObject(format)) read.format = readFormat(format);
  addMembers(read, tool, CUSTOM_MEMBERS);
  return read;
}

function readBuiltIn({ value }: ListedTool, kind: BuiltIn, name: string): FunctionTool {
  const { description, parameters } = BUILT_IN_TOOLS[kind];
  return {
    type: 'function',
    name,
    description: typeof value.description === 'string' ? value.description : description,
    parameters: isObject(value.parameters) ? value.parameters : parameters,
    strict: 'default',
  };
}

function addMembers(
  read: FunctionTool | CustomTool,
  { value, loaded }: ListedTool,
  decoded: ReadonlySet<string>,
): void {
  if (value.defer_loading === true && !loaded) read.deferred = 'responses';
  const native: NativeField[] = [];
  addNativeFields(native, value, 'tools[].', decoded);
  if (native.length > 0) read.native = native;
}

function readTool(tool: ListedTool, directory: ToolDirectory): Tool {
  const { kind, namespace } = tool;
  if (kind === 'function') return readFunction(tool, directory.nameOf(nameIn(tool), namespace));
  if (kind === 'custom') return readCustom(tool, directory.nameOf(nameIn(tool), namespace));
  return readBuiltIn(tool, kind, directory.nameOfBuiltIn(kind) ?? kind);
}

function readHosted(value: JsonObject): NativeTool {
  return {
    type: 'native',
    protocol: 'responses',
    kind: typeof value.type === 'string' ? value.type : '',
    value,
  };
}

export function decodeTools(lists: ToolLists, directory: ToolDirectory, request: GenerationRequest): void {
  const tools: Tool[] = lists.own.map((tool) => readTool(tool, directory));
  for (const value of lists.hosted) tools.push(readHosted(value));
  if (tools.length > 0) request.tools = tools;
}

const SEARCH_MEMBERS = new Set(['type', 'search_context_size', 'user_location', 'external_web_access']);

/**
 * A search of the web, where another provider may run it: not where the choice does not allow it, nor where the service was to
 * answer from its own copy of the web alone.
 */
export function decodeWebSearch({ hosted }: ToolLists, value: JsonObject, request: GenerationRequest): void {
  const search = hosted.find((tool) => isWebSearch(readHosted(tool)));
  if (search === undefined || search.external_web_access === false || !allowsSearch(value.tool_choice))
    return;
  const { search_context_size: size, user_location: place } = search;
  request.webSearch = {};
  if (typeof size === 'string') request.webSearch.contextSize = size;
  const location: JsonObject = {};
  if (isObject(place)) {
    for (const name of LOCATION_MEMBERS) if (typeof place[name] === 'string') location[name] = place[name];
  }
  if (Object.keys(location).length > 0) request.webSearch.location = location;
  addNativeFields(request.native, search, 'tools[].', SEARCH_MEMBERS);
}

function allowsSearch(choice: JsonValue | undefined): boolean {
  if (!isObject(choice) || choice.type !== 'allowed_tools' || !Array.isArray(choice.tools)) return true;
  return choice.tools.some((tool) => isObject(tool) && isWebSearch(readHosted(tool)));
}

const CHOICES: ReadonlyMap<unknown, ToolChoice> = new Map([
  ['auto', { type: 'auto' }],
  ['none', { type: 'none' }],
  ['required', { type: 'required' }],
]);

/** Undefined: no tool that a client runs. */
function namedIn({ type, name, namespace }: JsonObject, directory: ToolDirectory): string | undefined {
  const builtIn = BUILT_IN.find((kind) => kind === type);
  if (builtIn !== undefined) return directory.nameOfBuiltIn(builtIn);
  if ((type !== 'function' && type !== 'custom') || typeof name !== 'string' || name === '') return undefined;
  return directory.nameOf(name, typeof namespace === 'string' ? namespace : undefined);
}

function readAllowed(choice: JsonObject, lists: ToolLists, directory: ToolDirectory): ToolChoice {
  const names = new Set<string>();
  const namespaces = new Set<JsonValue>();
  for (const tool of Array.isArray(choice.tools) ? choice.tools : []) {
    if (!isObject(tool)) continue;
    if (tool.type === 'namespace' && tool.name !== undefined) namespaces.add(tool.name);
    const name = namedIn(tool, directory);
    if (name !== undefined) names.add(name);
  }
  for (const { name, namespace } of lists.own)
    if (namespace !== undefined && namespaces.has(namespace)) names.add(directory.nameOf(name, namespace));
  return { type: 'allowed', mode: choice.mode === 'required' ? 'required' : 'auto', names: [...names] };
}

export function decodeToolChoice(
  choice: JsonValue | undefined,
  lists: ToolLists,
  directory: ToolDirectory,
  request: GenerationRequest,
): void {
  if (choice === undefined || choice === null) return;
  const known = CHOICES.get(isObject(choice) ? choice.type : choice);
  if (known !== undefined) request.toolChoice = known;
  else if (!isObject(choice)) refuse('tool_choice', `${JSON.stringify(choice)} is not known`);
  else if (choice.type === 'allowed_tools') request.toolChoice = readAllowed(choice, lists, directory);
  else {
    const name = namedIn(choice, directory);
    if (name !== undefined) request.toolChoice = { type: 'tool', name };
    else if (isHosted(choice)) {
      const message = `a call of ${JSON.stringify(choice.type)} cannot be forced at this provider`;
      request.native.push({ ...nativeField('tool_choice', choice), fate: 'reject', message });
    } else refuse('tool_choice', 'names no tool of the request');
  }
}
