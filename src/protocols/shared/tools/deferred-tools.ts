// Deferred tools for providers without a tool search. A client declares many tools and loads a few of them: once something in the
// conversation names a tool, its definition counts. What a search finds stands after the tools of the beginning, in the order in which
// the conversation names it: prompt caches begin with the tools, so a list may only grow at its end.
import { isObject, type JsonValue, stringOf } from '../../../canonical/json.ts';
import type {
  GenerationRequest,
  Message,
  NativePart,
  Part,
  ProtocolName,
  Tool,
} from '../../../canonical/request.ts';

export interface OfferedTools {
  tools: Tool[];
  /** Where the conversation names tools for the first time. */
  found: ReadonlyMap<Message, readonly Tool[]>;
  /** Tools that nothing names. */
  leftOut: number;
}

/**
 * Tools that clients declare so that the list of deferred ones is never without one: their descriptions say never to call them.
 * Of Claude Code, and of pi.
 */
const PLACEHOLDERS: ReadonlySet<string> = new Set(['DeferredToolPlaceholder', '__pi_deferred_placeholder__']);
/** The wire's name of the flag, on a tool of messages and of responses. */
const FLAG = 'defer_loading';

/** Undefined: all tools of the request are offered, as they are. `spoken`: what the provider speaks; its own deferred tools stay deferred. */
export function offeredTools(request: GenerationRequest, spoken: ProtocolName): OfferedTools | undefined {
  const { tools } = request;
  if (tools === undefined || !tools.some((tool) => isDeferred(tool, spoken))) return undefined;
  const waiting = new Map<string, Tool>();
  const offered: Tool[] = [];
  for (const tool of tools) {
    if (!isDeferred(tool, spoken)) offered.push(tool);
    else if (tool.name !== undefined && !PLACEHOLDERS.has(tool.name)) waiting.set(tool.name, tool);
  }
  if (!clientSearches(offered)) return isOffered(tools, spoken);
  const found = namedTools(request, waiting);
  for (const named of found.values()) for (const tool of named) offered.push(tool);
  const { toolChoice } = request;
  const forced = toolChoice?.type === 'tool' ? waiting.get(toolChoice.name) : undefined;
  if (forced !== undefined && waiting.delete(forced.name ?? '')) offered.push(loaded(forced));
  return { tools: offered, found, leftOut: waiting.size };
}

function isDeferred(tool: Tool, spoken: ProtocolName): boolean {
  if (tool.deferred === spoken) return false;
  return tool.deferred !== undefined || (tool.name !== undefined && PLACEHOLDERS.has(tool.name));
}

/**
 * Whether one of these tools may be the client's search. A search that only the client's own provider runs finds nothing elsewhere:
 * then all tools are sent at once.
 */
function clientSearches(tools: readonly Tool[]): boolean {
  const isSearch = (tool: Tool): boolean => tool.type === 'native' && tool.kind.startsWith('tool_search');
  return tools.some(({ type }) => type !== 'native') && !tools.some(isSearch);
}

function isOffered(tools: readonly Tool[], spoken: ProtocolName): OfferedTools | undefined {
  const kept = tools.filter(({ name = '', deferred }) => deferred === spoken || !PLACEHOLDERS.has(name));
  return kept.length === tools.length ? undefined : { tools: kept, found: new Map(), leftOut: 0 };
}

/** Takes the tools that the conversation names out of `waiting`. */
function namedTools(
  { messages }: GenerationRequest,
  waiting: Map<string, Tool>,
): Map<Message, readonly Tool[]> {
  const found = new Map<Message, readonly Tool[]>();
  for (const message of messages) {
    if (waiting.size === 0) break;
    const named: Tool[] = [];
    for (const name of message.parts.flatMap(namesIn)) {
      const tool = waiting.get(name);
      if (tool === undefined) continue;
      waiting.delete(name);
      named.push(loaded(tool));
    }
    if (named.length > 0) found.set(message, named);
  }
  return found;
}

function loaded(tool: Tool): Tool {
  const native = tool.native?.filter(({ name }) => name !== FLAG);
  return { ...tool, native };
}

function namesIn(part: Part): readonly string[] {
  switch (part.type) {
    case 'tool_call':
      return [part.name];
    case 'tool_result':
      return typeof part.content === 'string' ? [] : part.content.flatMap(namesIn);
    case 'native':
      return namesOfNative(part);
    default:
      return [];
  }
}

/** A reference in the result of a search, a tool that is added on the way, and what a provider's own search found. */
function namesOfNative({ kind, value }: NativePart): readonly string[] {
  if (kind === 'tool_reference') return [nameOf(value)];
  if (kind === 'tool_addition') return [nameOf(value.tool)];
  if (kind !== 'tool_search_tool_result' || !isObject(value.content)) return [];
  const { tool_references: references } = value.content;
  return Array.isArray(references) ? references.map(nameOf) : [];
}

function nameOf(tool: JsonValue | undefined): string {
  if (!isObject(tool)) return '';
  const { definition, tool_name: own, name } = tool;
  return stringOf(own) || stringOf(name) || nameOf(definition);
}
