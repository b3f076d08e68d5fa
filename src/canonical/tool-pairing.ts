// Every tool call gets exactly one result, in the user message directly after its turn, and every result a call: providers
// refuse a whole conversation for less. Ids become unique, as some models count theirs anew in every turn.
import { append } from './json.ts';
import type { Message, Part, TextPart, ToolCallPart, ToolResultPart, Warning } from './request.ts';

/** Says what was done, each thing once. */
export type Warn = (effect: Warning['effect'], field: Warning['field'], detail: string) => void;

const NO_RESULT = '[no result: interrupted]';
const ORPHAN = '[orphan tool result]';

interface Call {
  /** As the client wrote it, in the call and in its result. */
  asked: string;
  /** Unique in the conversation. */
  id: string;
  /** In order of arrival. */
  results: ToolResultPart[];
}

/** Some gateways pack a reasoning signature into ids, as `<id>__thought__<signature>`; clients replay it to us. */
export function bareId(id: string): string {
  const at = id.indexOf('__thought__');
  return at > 0 ? id.slice(0, at) : id;
}

/** The same list where every call has its result already, directly after its turn: see `inOrder`. */
export function pairCalls(messages: Message[], warn: Warn): Message[] {
  if (inOrder(messages)) return messages;
  const unique = createUniqueIds();
  const paired: Message[] = [];
  let at = 0;
  while (at < messages.length) {
    const turn = messages[at];
    const isTurn = turn?.role === 'assistant';
    let end = at + 1;
    while (end < messages.length && messages[end]?.role !== 'assistant') end++;
    const calls: Call[] = [];
    if (isTurn) paired.push(withUniqueIds(turn, calls, unique, warn));
    append(paired, answer(calls, messages.slice(isTurn ? at + 1 : at, end), warn));
    at = end;
  }
  return paired;
}

/**
 * What most conversations are: every turn's calls are answered by the first parts of the next message, in their order, and no id
 * comes twice. Pairing would only build the same list anew.
 */
function inOrder(messages: readonly Message[]): boolean {
  const used = new Set<string>();
  /** The calls of the turn before, until they are answered. */
  let asked: string[] = [];
  for (const message of messages) {
    if (message.role === 'assistant') {
      if (asked.length > 0 || !asksInOrder(message, asked, used)) return false;
    } else {
      if (!answersInOrder(message, asked)) return false;
      if (asked.length > 0) asked = [];
    }
  }
  return asked.length === 0;
}

function asksInOrder({ parts }: Message, asked: string[], used: Set<string>): boolean {
  for (const part of parts) {
    if (part.type === 'tool_result') return false;
    if (part.type !== 'tool_call') continue;
    if (used.has(part.id) || bareId(part.id) !== part.id) return false;
    used.add(part.id);
    asked.push(part.id);
  }
  return true;
}

/** The results lose a name where they have to be put in order, so that a named message is not in order. */
function answersInOrder({ role, name, parts }: Message, asked: readonly string[]): boolean {
  if (parts.length === 0 || (asked.length > 0 && (role !== 'user' || name !== undefined))) return false;
  let answered = 0;
  for (const part of parts) {
    if (part.type === 'tool_result') {
      if (part.callId !== asked[answered]) return false;
      answered++;
    } else if (answered < asked.length) return false;
  }
  return answered === asked.length;
}

function withUniqueIds(turn: Message, calls: Call[], unique: (id: string) => string, warn: Warn): Message {
  const parts = turn.parts.map((part): Part => {
    if (part.type !== 'tool_call') return part;
    const asked = bareId(part.id);
    const call: Call = { asked, id: unique(asked), results: [] };
    calls.push(call);
    if (call.id === part.id) return part;
    warn('quiet', 'messages.toolCall', 'ids of tool calls were made unique');
    return { ...part, id: call.id } satisfies ToolCallPart;
  });
  return parts.every((part, index) => part === turn.parts[index]) ? turn : { ...turn, parts };
}

/** `between`: all up to the next assistant turn. Results of that turn's calls come first, the rest follows as it stood. */
function answer(calls: readonly Call[], between: readonly Message[], warn: Warn): Message[] {
  const native: Message['native'] = [];
  const callOf = createCallFinder(calls);
  const answered: Call[] = [];
  const rest: Message[] = [];
  for (const message of between) {
    const parts: Part[] = [];
    for (const part of message.parts) {
      const call = part.type === 'tool_result' ? callOf(part) : undefined;
      if (part.type !== 'tool_result') parts.push(part);
      else if (call === undefined) append(parts, orphan(part, warn));
      else {
        if (call.results.length === 0) answered.push(call);
        if (parts.length > 0 || rest.length > 0) {
          warn('quiet', 'messages.toolResult', 'results of tools were put directly after their calls');
        }
        call.results.push(part);
      }
    }
    if (parts.length === 0) append(native, message.native ?? []);
    else rest.push({ ...message, parts });
  }
  const open = calls.filter((call) => call.results.length === 0);
  const results = [...answered, ...open].map((call) => resultOf(call, warn));
  if (results.length === 0) return rest;
  return [{ role: 'user', parts: results, ...(native.length > 0 && { native }) }, ...rest];
}

/** The nearest call of that id without a result; if there is none, one that has a result already. */
function createCallFinder(calls: readonly Call[]): (part: ToolResultPart) => Call | undefined {
  /** Those of one id, and how many of them have their results. */
  const byId = new Map<string, { calls: Call[]; answered: number }>();
  for (const call of calls) {
    const own = byId.get(call.asked);
    if (own === undefined) byId.set(call.asked, { calls: [call], answered: 0 });
    else own.calls.push(call);
  }
  return ({ callId }) => {
    const own = byId.get(bareId(callId));
    return own?.calls[own.answered++] ?? own?.calls.at(-1);
  };
}

/** Its last result, with earlier ones behind it. */
function resultOf(call: Call, warn: Warn): ToolResultPart {
  const newest = [...call.results].reverse();
  const [last] = newest;
  if (last === undefined) return interrupted(call, warn);
  const result = last.callId === call.id ? last : { ...last, callId: call.id };
  if (newest.length === 1) return result;
  warn(
    'changed',
    'messages.toolResult',
    'of two results of one call the last stands first, the other after it',
  );
  const texts = newest.flatMap(({ content }) => (typeof content === 'string' ? [content] : []));
  if (texts.length === newest.length) return { ...result, content: texts.join('\n') };
  return { ...result, content: newest.flatMap(({ content }) => asParts(content)) };
}

function interrupted(call: Call, warn: Warn): ToolResultPart {
  warn('changed', 'messages.toolCall', 'a tool call without a result was given one that says so');
  return { type: 'tool_result', callId: call.id, content: NO_RESULT, isError: true };
}

function orphan(part: ToolResultPart, warn: Warn): Part[] {
  warn('dropped', 'messages.toolResult', 'the call of a tool result is gone: it was sent as text');
  const parts = asParts(part.content);
  const text = parts.flatMap((inner) => (inner.type === 'text' ? [inner.text] : [])).join('\n');
  const note: TextPart = { type: 'text', text: text === '' ? ORPHAN : `${ORPHAN} ${text}` };
  if (part.cache !== undefined) note.cache = part.cache;
  return [note, ...parts.filter((inner) => inner.type !== 'text')];
}

function asParts(content: string | Part[]): Part[] {
  if (typeof content !== 'string') return content;
  return content === '' ? [] : [{ type: 'text', text: content }];
}

// Results are matched by the ids of their calls. Some models restart their ids in each turn, or use one twice within an answer.

/** The first use of an id keeps it; others get `_2`, `_3` … by occurrence. */
export function createUniqueIds(): (id: string) => string {
  /** Most answers call nothing. */
  let used: Set<string> | undefined;
  let counts: Map<string, number> | undefined;
  return (asked) => {
    used ??= new Set();
    counts ??= new Map();
    let id = asked;
    let count = counts.get(asked) ?? 1;
    while (used.has(id)) id = `${asked}_${++count}`;
    counts.set(asked, count);
    used.add(id);
    return id;
  };
}
