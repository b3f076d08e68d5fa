// The simulated model: a pure function from a request to its answer, and the same answer as the events of a stream.
import { createHash } from 'node:crypto';
import type { StreamEvent } from '../canonical/events.ts';
import { signAsGateway } from '../canonical/thinking-signature.ts';
import type { Reply, ReplyPart, StopReason } from '../canonical/reply.ts';
import type { GenerationRequest, Tool } from '../canonical/request.ts';
import type { Usage } from '../canonical/usage.ts';
import { callsFor } from './calls.ts';
import { describePart, promptOf } from './prompt.ts';
import type { Prompt } from './prompt.ts';
import { valueFor } from './schema-value.ts';
import { createAllowance, tokensOf, wordsOf } from './tokens.ts';

/** What identifies one answer; everything else follows from the request. */
export interface Identity {
  id: string;
  /** Seconds since the epoch. */
  created: number;
}

export function answer(request: GenerationRequest, identity: Identity): Reply {
  const prompt = promptOf(request);
  const calls = callsFor(request, prompt);
  const text = calls.length > 0 ? '' : answerText(request, prompt);
  const { parts, stop } = write(request, thoughtFor(request, prompt), text, calls);
  return { ...identity, model: request.model, parts, stop, usage: usageOf(request, parts) };
}

/** An answer of this text alone, whatever was asked. */
export function say(request: GenerationRequest, text: string, identity: Identity): Reply {
  const { parts, stop } = write(request, undefined, text, []);
  return { ...identity, model: request.model, parts, stop, usage: usageOf(request, parts) };
}

function answerText(request: GenerationRequest, prompt: Prompt): string {
  const { responseFormat: format } = request;
  if (format === undefined) return prompt.answer;
  if (format.type === 'json_schema') return JSON.stringify(valueFor(format.schema, 'answer') ?? {});
  return JSON.stringify({ answer: prompt.answer });
}

function thoughtFor(request: GenerationRequest, prompt: Prompt): string | undefined {
  if (!wantsThought(request, prompt)) return undefined;
  return `The user wrote ${tokensOf([prompt.text])} tokens; the answer follows from them alone.`;
}

function wantsThought({ reasoning, protocol }: GenerationRequest, prompt: Prompt): boolean {
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
      // An effort alone asks for thought on chat; on messages it is a general knob.
      return protocol === 'chat' && reasoning.effort !== 'none';
  }
}

type Call = Extract<ReplyPart, { type: 'tool_call' }>;

/** Within the limit: thought first, then text up to a stop sequence, then the calls that fit whole. */
function write(
  request: GenerationRequest,
  thought: string | undefined,
  text: string,
  calls: Call[],
): { parts: ReplyPart[]; stop: StopReason } {
  const allowance = createAllowance(request.maxOutputTokens);
  const parts: ReplyPart[] = [];
  if (thought !== undefined) {
    const kept = allowance.take(thought);
    if (kept !== '') parts.push({ type: 'reasoning', text: kept, signature: signatureOf(kept) });
  }
  const { before, sequence } = cutAtStop(text, request.stop ?? []);
  const said = allowance.take(before);
  if (said !== '') parts.push({ type: 'text', text: said });
  for (const call of calls) if (allowance.takeWhole(call.name + call.arguments)) parts.push(call);
  return { parts, stop: stopFor(allowance.exhausted, sequence, calls.length > 0) };
}

function stopFor(exhausted: boolean, sequence: string | undefined, calls: boolean): StopReason {
  if (exhausted) return { reason: 'length' };
  if (sequence !== undefined) return { reason: 'stop_sequence', sequence };
  return { reason: calls ? 'tool_calls' : 'end' };
}

/** The first stop sequence in the text, wherever in the list it stands. */
function cutAtStop(text: string, stops: readonly string[]): { before: string; sequence?: string } {
  const [first] = stops
    .filter((sequence) => sequence !== '' && text.includes(sequence))
    .map((sequence) => ({ sequence, at: text.indexOf(sequence) }))
    .sort((a, b) => a.at - b.at || b.sequence.length - a.sequence.length);
  return first === undefined
    ? { before: text }
    : { before: text.slice(0, first.at), sequence: first.sequence };
}

function signatureOf(thought: string): string {
  return signAsGateway(createHash('sha256').update(`sim ${thought}`).digest('base64'));
}

// -- tokens --

/** The input as the model sees it: names, texts, descriptions of media, and the tools that are offered. */
export function inputTokens({ messages, tools = [] }: GenerationRequest): number {
  return tokensOf([...messages.flatMap(({ parts }) => parts.map(describePart)), ...tools.map(toolText)]);
}

function toolText(tool: Tool): string {
  if (tool.type === 'native') return JSON.stringify(tool.value);
  const schema = tool.type === 'custom' ? tool.format : tool.parameters;
  return tool.name + (tool.description ?? '') + (schema === undefined ? '' : JSON.stringify(schema));
}

function usageOf(request: GenerationRequest, parts: ReplyPart[]): Usage {
  const thoughts = parts.flatMap((part) => (part.type === 'reasoning' ? [part.text] : []));
  const usage: Usage = { input: inputTokens(request), output: tokensOf(parts.map(describePart)) };
  return thoughts.length > 0 ? { ...usage, reasoning: tokensOf(thoughts) } : usage;
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
