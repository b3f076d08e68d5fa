// Tools that the messages protocol names by a type alone while the client runs them: their arguments, for providers that need a schema.
// https://docs.claude.com/en/docs/agents-and-tools/tool-use/overview
import type { JsonObject } from '../../canonical/json.ts';
import type { FunctionTool, NativeTool } from '../../canonical/request.ts';

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
export function clientTool(tool: NativeTool): FunctionTool | undefined {
  const known = SCHEMAS.find(([kind]) => kind.test(tool.kind));
  if (!known || tool.name === undefined) return undefined;
  const [, description, parameters] = known;
  const { name, strict, cache, deferred, native } = tool;
  return { type: 'function', name, description, parameters, strict, cache, deferred, native };
}

/** The client runs these as well, but their arguments are known to the provider alone. */
export function isUnknownClientTool({ protocol, kind }: NativeTool): boolean {
  if (protocol !== 'messages') return false;
  return /^(?:bash|text_editor|memory|computer|browser_toolset|mcp_toolset)(?:_|$)/.test(kind);
}

/** A web search of any protocol; what it is asked for stands in the request's `webSearch`. */
export function isWebSearch({ kind }: NativeTool): boolean {
  return /^web_search(?:_|$)/.test(kind);
}
