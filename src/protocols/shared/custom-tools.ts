// A tool of free text, for providers that take functions alone: the model fills one string, which the answer unwraps.
import { isObject, type JsonObject } from '../../canonical/json.ts';
import type { CustomTool, FunctionTool } from '../../canonical/request.ts';

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

/** What the model must hold to, in words: no grammar binds it any more. */
function grammarText(format: JsonObject | undefined): string {
  if (format === undefined || format.type === 'text') return '';
  const grammar = isObject(format.grammar) ? format.grammar : {};
  const { syntax, definition } = grammar;
  if (typeof definition !== 'string') return `The input must follow this format: ${JSON.stringify(format)}`;
  const kind = typeof syntax === 'string' ? ` (${syntax})` : '';
  return `The input must follow this grammar${kind}:\n${definition}`;
}
