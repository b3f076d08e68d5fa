// Chooses the offered tools that the simulated model calls, and makes their arguments.
import { createHash } from 'node:crypto';
import { isObject } from '../canonical/json.ts';
import type { CustomTool, FunctionTool, GenerationRequest, ToolCallPart } from '../canonical/request.ts';
import type { Prompt } from './prompt.ts';
import { valueFor } from './schema-value.ts';

type CallableTool = FunctionTool | CustomTool;

const ID_PREFIX = { chat: 'call_', messages: 'toolu_', responses: 'call_' } as const satisfies Record<
  GenerationRequest['protocol'],
  string
>;

export function toolCallsFor(request: GenerationRequest, prompt: Prompt): ToolCallPart[] {
  const chosen = chooseTools(request, prompt);
  const single = request.parallelToolCalls === false || request.legacyFunctions === true;
  return (single ? chosen.slice(0, 1) : chosen).map((tool, index) =>
    toolCallOf(tool, index, request, prompt),
  );
}

function chooseTools(request: GenerationRequest, prompt: Prompt): CallableTool[] {
  const { toolChoice: choice = { type: 'auto' } } = request;
  const offered = (request.tools ?? []).filter((tool) => tool.type !== 'native');
  switch (choice.type) {
    case 'none':
      return [];
    case 'auto':
      return toolsNamedIn(offered, prompt);
    case 'required':
      return atLeastOne(offered, prompt);
    case 'tool':
      return offered.filter(({ name }) => name === choice.name).slice(0, 1);
    case 'allowed': {
      const names = new Set(choice.names);
      const allowed = offered.filter(({ name }) => names.has(name));
      return choice.mode === 'required' ? atLeastOne(allowed, prompt) : toolsNamedIn(allowed, prompt);
    }
  }
}

/** The tools whose names the prompt holds, in the order of the prompt. */
function toolsNamedIn(offered: CallableTool[], prompt: Prompt): CallableTool[] {
  if (prompt.afterTools || offered.length === 0) return [];
  const positions = positionsIn(prompt.text);
  return offered
    .map((tool) => ({ tool, at: positions.get(tool.name) ?? -1 }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => a.at - b.at)
    .map(({ tool }) => tool);
}

function atLeastOne(offered: CallableTool[], prompt: Prompt): CallableTool[] {
  const found = toolsNamedIn(offered, prompt);
  return found.length > 0 ? found : offered.slice(0, 1);
}

/** Names of letters, digits, `_` and `-`: `search` is not in `web-search`, nor `get` in `together`. */
const WORDS = /[\w-]+/g;
/** Other names, like `mail.send`: text between spaces or punctuation. */
const TOKENS = /[^\s.,;:!?'"`()[\]{}<>]+(?:[.,;:!?'"`()[\]{}<>]+[^\s.,;:!?'"`()[\]{}<>]+)*/g;

/** The first position of each word. The prompt is read once, because clients offer many tools. */
function positionsIn(text: string): ReadonlyMap<string, number> {
  const positions = new Map<string, number>();
  for (const pattern of [WORDS, TOKENS]) {
    for (const { 0: word, index } of text.matchAll(pattern)) {
      if (!positions.has(word)) positions.set(word, index);
    }
  }
  return positions;
}

function toolCallOf(
  tool: CallableTool,
  index: number,
  request: GenerationRequest,
  prompt: Prompt,
): ToolCallPart {
  const id = idOf(tool.name, index, request);
  if (tool.type === 'custom') {
    return { type: 'tool_call', id, name: tool.name, arguments: prompt.text, custom: true };
  }
  const value = valueFor({ type: 'object', ...tool.parameters });
  return { type: 'tool_call', id, name: tool.name, arguments: JSON.stringify(isObject(value) ? value : {}) };
}

/** Unique within a conversation, because its number of messages grows; the same request gets the same id. */
function idOf(name: string, index: number, request: GenerationRequest): string {
  const digest = createHash('sha256').update(`${request.messages.length} ${index} ${name}`).digest('hex');
  return ID_PREFIX[request.protocol] + digest.slice(0, 24);
}
