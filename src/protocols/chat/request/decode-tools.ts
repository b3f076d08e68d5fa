// Tools and tool choice of a chat request, today's form and the legacy `functions`, read into the canonical ones.
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import type {
  CustomTool,
  FunctionTool,
  NativeField,
  GenerationRequest,
  Tool,
  ToolChoice,
} from '../../../canonical/request.ts';
import { cacheMark } from './decode-content.ts';
import { refuse } from '../../shared/client.ts';
import { addNativeFields } from '../fields.ts';

const FUNCTION_MEMBERS: ReadonlySet<string> = new Set(['name', 'description', 'parameters', 'strict']);
const CUSTOM_MEMBERS: ReadonlySet<string> = new Set(['name', 'description', 'format']);
const TOOL_MEMBERS: ReadonlySet<string> = new Set([
  'type',
  'function',
  'custom',
  'cache_control',
  'prompt_cache_breakpoint',
]);

function unknownMembers(source: JsonObject, known: ReadonlySet<string>, path: string): NativeField[] {
  const natives: NativeField[] = [];
  addNativeFields(natives, source, `${path}.`, known);
  return natives;
}

function readFunction(source: JsonValue | undefined, at: string, path: string): FunctionTool {
  if (!isObject(source)) refuse(at, 'must be an object');
  const { name, description, parameters, strict } = source;
  if (typeof name !== 'string' || name === '') refuse(`${at}.name`, 'must be a non-empty string');
  const tool: FunctionTool = { type: 'function', name };
  if (typeof description === 'string') tool.description = description;
  if (isObject(parameters)) tool.parameters = parameters;
  if (typeof strict === 'boolean') tool.strict = strict;
  const native = unknownMembers(source, FUNCTION_MEMBERS, path);
  if (native.length > 0) tool.native = native;
  return tool;
}

function readCustom(source: JsonValue | undefined, at: string): CustomTool {
  if (!isObject(source)) refuse(at, 'must be an object');
  const { name, description, format } = source;
  if (typeof name !== 'string' || name === '') refuse(`${at}.name`, 'must be a non-empty string');
  const tool: CustomTool = { type: 'custom', name };
  if (typeof description === 'string') tool.description = description;
  if (isObject(format)) tool.format = format;
  const native = unknownMembers(source, CUSTOM_MEMBERS, 'tools[].custom');
  if (native.length > 0) tool.native = native;
  return tool;
}

function readTool(value: JsonValue, at: string): Tool {
  if (!isObject(value)) refuse(at, 'must be an object');
  const type = value.type ?? 'function';
  if (type !== 'function' && type !== 'custom') {
    if (typeof type !== 'string') refuse(`${at}.type`, 'must be a string');
    const native: Tool = { type: 'native', protocol: 'chat', kind: type, value };
    if (typeof value.name === 'string') native.name = value.name;
    return native;
  }
  const tool =
    type === 'custom'
      ? readCustom(value.custom, `${at}.custom`)
      : readFunction(value.function, `${at}.function`, 'tools[].function');
  const cache = cacheMark(value);
  if (cache) tool.cache = cache;
  const native = [...(tool.native ?? []), ...unknownMembers(value, TOOL_MEMBERS, 'tools[]')];
  if (native.length > 0) tool.native = native;
  return tool;
}

export function decodeTools(tools: JsonValue, functions: JsonValue | undefined): Tool[] {
  const read: Tool[] = [];
  const names = new Set<string>();
  const add = (tool: Tool, at: string) => {
    if (tool.type !== 'native') {
      if (names.has(tool.name)) refuse(at, `the name ${JSON.stringify(tool.name)} is given twice`);
      names.add(tool.name);
    }
    read.push(tool);
  };
  if (Array.isArray(tools)) {
    tools.forEach((tool, i) => {
      const one = readTool(tool, `tools[${i}]`);
      add(one, `tools[${i}].${one.type}.name`);
    });
  }
  if (Array.isArray(functions)) {
    functions.forEach((tool, i) =>
      add(readFunction(tool, `functions[${i}]`, 'functions[]'), `functions[${i}].name`),
    );
  }
  return read;
}

const CHOICES: Readonly<Record<string, ToolChoice | undefined>> = {
  auto: { type: 'auto' },
  none: { type: 'none' },
  required: { type: 'required' },
  any: { type: 'required' }, // Mistral's word
};

function nameIn(value: JsonObject): string | undefined {
  const named = isObject(value.function) ? value.function : isObject(value.custom) ? value.custom : value;
  return typeof named.name === 'string' && named.name !== '' ? named.name : undefined;
}

function readAllowed(value: JsonObject): ToolChoice {
  const allowed = isObject(value.allowed_tools) ? value.allowed_tools : value;
  const names = (Array.isArray(allowed.tools) ? allowed.tools : [])
    .map((tool) => (isObject(tool) ? nameIn(tool) : undefined))
    .filter((name) => name !== undefined);
  return { type: 'allowed', mode: allowed.mode === 'required' ? 'required' : 'auto', names };
}

export function decodeToolChoice(value: JsonValue): ToolChoice {
  if (typeof value === 'string') {
    const choice = CHOICES[value];
    if (!choice) refuse('tool_choice', `${JSON.stringify(value)} is not known`);
    return choice;
  }
  if (!isObject(value)) refuse('tool_choice', 'must be a string or an object');
  if (value.type === 'allowed_tools') return readAllowed(value);
  const name = nameIn(value);
  if (name !== undefined) return { type: 'tool', name };
  // Some clients write the words as messages clients do: `{"type":"auto"}`.
  const choice = typeof value.type === 'string' ? CHOICES[value.type] : undefined;
  if (!choice) refuse('tool_choice', 'names no tool');
  return choice;
}

/** `functions` and `function_call`: one call a turn, and an answer in the same form. */
export function isLegacy({ functions, function_call: choice }: JsonObject): boolean {
  return Array.isArray(functions) || (choice !== undefined && choice !== null);
}

export function applyLegacy(root: JsonObject, request: GenerationRequest): void {
  if (!isLegacy(root)) return;
  const { function_call: choice } = root;
  request.legacyFunctions = true;
  request.parallelToolCalls = false;
  if (choice === undefined || choice === null || request.toolChoice) return;
  if (typeof choice !== 'string' && !isObject(choice))
    refuse('function_call', 'must be a string or an object');
  const named = isObject(choice) ? nameIn(choice) : undefined;
  const known = typeof choice === 'string' ? CHOICES[choice] : undefined;
  if (named !== undefined) request.toolChoice = { type: 'tool', name: named };
  else if (known) request.toolChoice = known;
  else refuse('function_call', 'names no function');
}
