// Which of the offered tools the simulated model calls, and with what.
import { createHash } from 'node:crypto';
import { isObject } from '../canonical/json.ts';
import type { CustomTool, FunctionTool, Request, ToolCallPart } from '../canonical/request.ts';
import type { Prompt } from './prompt.ts';
import { valueFor } from './schema-value.ts';

type Callable = FunctionTool | CustomTool;

const ID_PREFIX = { chat: 'call_', messages: 'toolu_' } as const satisfies Record<
  Request['protocol'],
  string
>;

export function callsFor(request: Request, prompt: Prompt): ToolCallPart[] {
  const chosen = choose(request, prompt);
  const single = request.parallelToolCalls === false || request.legacyFunctions === true;
  return (single ? chosen.slice(0, 1) : chosen).map((tool, index) => callOf(tool, index, request, prompt));
}

function choose(request: Request, prompt: Prompt): Callable[] {
  const { toolChoice: choice = { type: 'auto' } } = request;
  const offered = (request.tools ?? []).filter((tool) => tool.type !== 'native');
  switch (choice.type) {
    case 'none':
      return [];
    case 'auto':
      return named(offered, prompt);
    case 'required':
      return atLeastOne(offered, prompt);
    case 'tool':
      return offered.filter(({ name }) => name === choice.name).slice(0, 1);
    case 'allowed': {
      const allowed = offered.filter(({ name }) => choice.names.includes(name));
      return choice.mode === 'required' ? atLeastOne(allowed, prompt) : named(allowed, prompt);
    }
  }
}

/** The tools that the prompt names, in its order. */
function named(offered: Callable[], prompt: Prompt): Callable[] {
  if (prompt.afterTools) return [];
  return offered
    .map((tool) => ({ tool, at: positionOf(tool.name, prompt.text) }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => a.at - b.at)
    .map(({ tool }) => tool);
}

function atLeastOne(offered: Callable[], prompt: Prompt): Callable[] {
  const found = named(offered, prompt);
  return found.length > 0 ? found : offered.slice(0, 1);
}

/** As a word of its own: `search` is not in `web-search`, nor `get` in `together`. -1: nowhere. */
function positionOf(name: string, text: string): number {
  if (name === '') return -1;
  const literal = name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  return text.search(new RegExp(`(?<![\\w-])${literal}(?![\\w-])`));
}

function callOf(tool: Callable, index: number, request: Request, prompt: Prompt): ToolCallPart {
  const id = idOf(tool.name, index, request);
  if (tool.type === 'custom') {
    return { type: 'tool_call', id, name: tool.name, arguments: prompt.text, custom: true };
  }
  const value = valueFor({ type: 'object', ...tool.parameters });
  return { type: 'tool_call', id, name: tool.name, arguments: JSON.stringify(isObject(value) ? value : {}) };
}

/** Unique within its conversation, which only grows; the same conversation gets the same id again. */
function idOf(name: string, index: number, request: Request): string {
  const digest = createHash('sha256').update(`${request.messages.length} ${index} ${name}`).digest('hex');
  return ID_PREFIX[request.protocol] + digest.slice(0, 24);
}
