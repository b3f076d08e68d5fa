// The simulated model: a pure function from a request to a reply, and from a reply to the events of a stream.
import { createHash } from 'node:crypto';
import type { StreamEvent, Reply, ReplyPart, StopReason, Usage } from '../canonical/reply.ts';
import { signAsGateway } from '../canonical/thinking-signature.ts';
import type {
  GenerationRequest,
  Tool,
  CustomTool,
  FunctionTool,
  ToolCallPart,
} from '../canonical/request.ts';
import { describePart, promptOf, type Prompt } from './prompt.ts';
import { valueFor } from './schema-value.ts';
import { GatewayError } from '../errors.ts';
import { plural } from '../plural.ts';
import { isObject } from '../canonical/json.ts';

/** The part of a reply that does not follow from the request. */
export interface ReplyIdentity {
  id: string;
  /** Seconds since the epoch. */
  created: number;
}

export function echoReply(request: GenerationRequest, identity: ReplyIdentity): Reply {
  const prompt = promptOf(request);
  const calls = toolCallsFor(request, prompt);
  const text = calls.length > 0 ? '' : replyText(request, prompt);
  const { parts, stop } = limitParts(request, reasoningFor(request, prompt), text, calls);
  return { ...identity, model: request.model, parts, stop, usage: usageOf(request, parts) };
}

/** The first line of what stands in for a model. */
const NOTICE =
  '[This is not a model: the gateway has no provider, and its simulated one repeats what you wrote.]';

/**
 * The same where no provider was configured or found. Its first line says so; and nothing is made up that a program would use unread:
 * no call of a tool, no structured output. Throws GatewayError `invalid_request` if the request wants nothing else.
 */
export function standInReply(request: GenerationRequest, identity: ReplyIdentity): Reply {
  const wanted = isCallForced(request) ? 'call of a tool' : request.responseFormat && 'JSON';
  if (wanted !== undefined) {
    throw new GatewayError(
      'invalid_request',
      `the gateway has no provider, and its simulated one makes up no ${wanted} for \`auto\`; configure a provider, or ask for sim/echo`,
      { param: 'model' },
    );
  }
  const { answer } = promptOf(request);
  const { parts, stop } = limitParts(request, undefined, answer, [], `${NOTICE}\n\n`);
  return { ...identity, model: request.model, parts, stop, usage: usageOf(request, parts) };
}

function isCallForced({ toolChoice: choice = { type: 'auto' } }: GenerationRequest): boolean {
  return choice.type === 'allowed' ? choice.mode === 'required' : ['required', 'tool'].includes(choice.type);
}

/** A reply with this text, whatever the request asks. */
export function textReply(request: GenerationRequest, text: string, identity: ReplyIdentity): Reply {
  const { parts, stop } = limitParts(request, undefined, text, []);
  return { ...identity, model: request.model, parts, stop, usage: usageOf(request, parts) };
}

function replyText(request: GenerationRequest, prompt: Prompt): string {
  const { responseFormat: format } = request;
  if (format === undefined) return prompt.answer;
  if (format.type === 'json_schema') return JSON.stringify(valueFor(format.schema, 'answer') ?? {});
  return JSON.stringify({ answer: prompt.answer });
}

function reasoningFor(request: GenerationRequest, prompt: Prompt): string | undefined {
  if (!wantsReasoning(request, prompt)) return undefined;
  return `The user wrote ${plural(tokensOf([prompt.text]), 'token')}; the answer follows from them alone.`;
}

function wantsReasoning({ reasoning }: GenerationRequest, prompt: Prompt): boolean {
  if (reasoning === undefined) return false;
  switch (reasoning.mode) {
    case 'on':
    case 'adaptive':
      return true;
    case 'off':
      return false;
    case 'between_tools':
      return prompt.afterTools;
    case undefined:
      return reasoning.ofAnswer !== true && reasoning.effort !== 'none';
  }
}

type Call = Extract<ReplyPart, { type: 'tool_call' }>;

/** Spends the token limit on reasoning first, then on the notice and the text up to a stop sequence, then on calls that fit as a whole. */
function limitParts(
  request: GenerationRequest,
  reasoning: string | undefined,
  text: string,
  calls: Call[],
  notice = '',
): { parts: ReplyPart[]; stop: StopReason } {
  const budget = createTokenBudget(request.maxOutputTokens);
  const parts: ReplyPart[] = [];
  if (reasoning !== undefined) {
    const head = budget.take(reasoning);
    if (head !== '') parts.push({ type: 'reasoning', text: head, signature: signatureOf(head) });
  }
  const { before, sequence } = cutAtStop(text, request.stop ?? []);
  const head = budget.take(notice + before);
  if (head !== '') parts.push({ type: 'text', text: head });
  for (const call of calls) if (budget.takeWhole(call.name + call.arguments)) parts.push(call);
  return { parts, stop: stopFor(budget.exhausted, sequence, calls.length > 0) };
}

function stopFor(exhausted: boolean, sequence: string | undefined, calls: boolean): StopReason {
  if (exhausted) return { reason: 'length' };
  if (sequence !== undefined) return { reason: 'stop_sequence', sequence };
  return { reason: calls ? 'tool_calls' : 'end' };
}

/** Cuts at the stop sequence that comes first in the text. */
function cutAtStop(text: string, stops: readonly string[]): { before: string; sequence?: string } {
  const [first] = stops
    .filter((sequence) => sequence !== '' && text.includes(sequence))
    .map((sequence) => ({ sequence, at: text.indexOf(sequence) }))
    .sort((a, b) => a.at - b.at || b.sequence.length - a.sequence.length);
  return first === undefined
    ? { before: text }
    : { before: text.slice(0, first.at), sequence: first.sequence };
}

function signatureOf(reasoning: string): string {
  return signAsGateway(createHash('sha256').update(`sim ${reasoning}`).digest('base64'));
}

// -- tokens --

/** Counts texts, descriptions of media, calls, results and the offered tools. */
export function inputTokens({ messages, tools = [] }: GenerationRequest): number {
  return tokensOf([...messages.flatMap(({ parts }) => parts.map(describePart)), ...tools.map(toolText)]);
}

function toolText(tool: Tool): string {
  if (tool.type === 'native') return JSON.stringify(tool.value);
  const schema = tool.type === 'custom' ? tool.format : tool.parameters;
  return tool.name + (tool.description ?? '') + (schema === undefined ? '' : JSON.stringify(schema));
}

function usageOf(request: GenerationRequest, parts: ReplyPart[]): Usage {
  const reasonings = parts.flatMap((part) => (part.type === 'reasoning' ? [part.text] : []));
  const usage: Usage = { input: inputTokens(request), output: tokensOf(parts.map(describePart)) };
  return reasonings.length > 0 ? { ...usage, reasoning: tokensOf(reasonings) } : usage;
}

// -- streaming --

/** The reply as a stream: a delta for each word. Collecting the events gives the reply again. */
export function* eventsOf(reply: Reply): Generator<StreamEvent, void> {
  const { id, model, created, usage } = reply;
  yield { type: 'start', id, model, created, usage: usage && { input: usage.input, output: 0 } };
  let index = 0;
  for (const part of reply.parts) yield* partEvents(part, index++);
  yield { type: 'end', stop: reply.stop, usage };
}

function* partEvents(part: ReplyPart, index: number): Generator<StreamEvent, void> {
  switch (part.type) {
    case 'text':
      yield { type: 'text_start', index };
      for (const text of wordsOf(part.text)) yield { type: 'text_delta', index, text };
      yield { type: 'text_end', index };
      return;
    case 'reasoning':
      yield { type: 'reasoning_start', index };
      for (const text of wordsOf(part.text)) yield { type: 'reasoning_delta', index, text };
      yield { type: 'reasoning_end', index, signature: part.signature };
      return;
    case 'tool_call':
      yield { type: 'tool_start', index, id: part.id, name: part.name, custom: part.custom };
      for (const text of wordsOf(part.arguments)) yield { type: 'tool_delta', index, text };
      yield { type: 'tool_end', index };
      return;
    case 'native':
      yield { type: 'native', index, part };
  }
}

// -- token counts: UTF-8 bytes divided by four, rounded up --

const BYTES_PER_TOKEN = 4;

function tokensOf(texts: readonly string[]): number {
  let bytes = 0;
  for (const text of texts) bytes += Buffer.byteLength(text);
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/** The rest of the limit on output tokens. */
interface TokenBudget {
  /** Returns the start of `text` that still fits; never splits a character. */
  take(text: string): string;
  /** Takes the whole text, or returns false and takes nothing. */
  takeWhole(text: string): boolean;
  readonly exhausted: boolean;
}

function createTokenBudget(tokens: number | undefined): TokenBudget {
  let left = tokens === undefined ? Infinity : tokens * BYTES_PER_TOKEN;
  let exhausted = false;
  return {
    take(text) {
      const bytes = Buffer.byteLength(text);
      if (bytes <= left) {
        left -= bytes;
        return text;
      }
      const head = headOf(text, left);
      left = 0;
      exhausted = true;
      return head;
    },
    takeWhole(text) {
      const bytes = Buffer.byteLength(text);
      if (exhausted || bytes > left) {
        exhausted = true;
        return false;
      }
      left -= bytes;
      return true;
    },
    get exhausted() {
      return exhausted;
    },
  };
}

function headOf(text: string, bytes: number): string {
  const buffer = Buffer.from(text);
  let end = bytes;
  // A byte 10xxxxxx continues a character.
  while (end > 0 && ((buffer[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return buffer.toString('utf8', 0, end);
}

/** The deltas of a stream: words with the space after them, long words in parts. Joined, they are the text. */
export function wordsOf(text: string): string[] {
  return text.match(/\S{1,24}\s*|\s+/gu) ?? [];
}

type CallableTool = FunctionTool | CustomTool;

/** Those of other protocols begin with `call_`. */
const ID_PREFIX: Partial<Record<GenerationRequest['protocol'], string>> = { messages: 'toolu_' };

function toolCallsFor(request: GenerationRequest, prompt: Prompt): ToolCallPart[] {
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
  return (ID_PREFIX[request.protocol] ?? 'call_') + digest.slice(0, 24);
}
