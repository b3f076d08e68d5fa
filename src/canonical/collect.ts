// Converts a stream's events into a whole reply, and a whole reply into events, so that every client gets the form of answer that it
// asked for.
import { append } from './json.ts';
import type { ProviderFailure } from '../errors.ts';
import { BROKEN_OFF } from '../failures.ts';
import type { StreamEvent, Reply, ReplyPart } from './reply.ts';
import type { ToolCallPart } from './request.ts';

interface Collector {
  push(event: StreamEvent): void;
  /** The reply, after `end`; else the failure. */
  result(): { reply: Reply } | { failure: ProviderFailure };
}

type EventOf<T extends StreamEvent['type']> = Extract<StreamEvent, { type: T }>;

export function createCollector(): Collector {
  return new ReplyCollector();
}

class ReplyCollector implements Collector {
  readonly #parts = new Map<number, ReplyPart>();
  #start: EventOf<'start'> | undefined;
  #end: EventOf<'end'> | undefined;
  #failure: ProviderFailure | undefined;

  push(event: StreamEvent): void {
    if (this.#end !== undefined || this.#failure !== undefined) return;
    switch (event.type) {
      case 'text_delta':
      case 'reasoning_delta':
      case 'tool_delta':
        this.#addDelta(event);
        break;
      case 'start':
        this.#start = event;
        break;
      case 'end':
        this.#end = event;
        break;
      case 'error':
        this.#failure = event.failure;
        break;
      case 'citation':
        this.#addCitation(event);
        break;
      case 'logprobs':
        this.#addTokens(event);
        break;
      case 'text_end':
        break;
      case 'reasoning_end':
        this.#endReasoning(event);
        break;
      case 'tool_end':
        this.#endCall(event);
        break;
      default:
        this.#parts.set(event.index, openedPart(event));
    }
  }

  #addDelta({ type, index, text }: EventOf<'text_delta' | 'reasoning_delta' | 'tool_delta'>): void {
    const part = this.#parts.get(index);
    if (part?.type === 'tool_call') {
      if (type === 'tool_delta') part.arguments += text;
    } else if (part?.type === 'text') {
      if (type === 'text_delta') part.text += text;
    } else if (part?.type === 'reasoning' && type === 'reasoning_delta') part.text += text;
  }

  #addCitation({ index, citation }: EventOf<'citation'>): void {
    const part = this.#parts.get(index);
    if (part?.type === 'text') (part.citations ??= []).push(citation);
  }

  #addTokens({ index, tokens }: EventOf<'logprobs'>): void {
    const part = this.#parts.get(index);
    if (part?.type === 'text') append((part.logprobs ??= []), tokens);
  }

  #endReasoning({ index, signature }: EventOf<'reasoning_end'>): void {
    const part = this.#parts.get(index);
    if (part?.type === 'reasoning' && signature !== undefined) part.signature = signature;
  }

  #endCall({ index, extra }: EventOf<'tool_end'>): void {
    const part = this.#parts.get(index);
    if (part?.type !== 'tool_call') return;
    // A call without arguments is an empty object on every wire.
    if (part.arguments === '' && part.custom === undefined) part.arguments = '{}';
    if (extra !== undefined) part.extra = { ...part.extra, ...extra };
  }

  result(): { reply: Reply } | { failure: ProviderFailure } {
    if (this.#failure !== undefined) return { failure: this.#failure };
    if (this.#end === undefined) return { failure: BROKEN_OFF };
    return { reply: this.#wholeReply(this.#end) };
  }

  #wholeReply({ stop, usage, serviceTier }: EventOf<'end'>): Reply {
    const start = this.#start;
    const ordered = [...this.#parts].sort(([a], [b]) => a - b).map(([, part]) => part);
    const reply: Reply = {
      id: start?.id ?? '',
      model: start?.model ?? '',
      parts: ordered.filter((part) => !isEmptyText(part)),
      stop,
    };
    const tier = serviceTier ?? start?.serviceTier;
    if (start?.created !== undefined) reply.created = start.created;
    if (usage !== undefined) reply.usage = usage;
    if (tier !== undefined) reply.serviceTier = tier;
    return reply;
  }
}

type OpeningEvent = EventOf<'text_start' | 'reasoning_start' | 'redacted' | 'tool_start' | 'native'>;

/** The part when its block opens: empty, or complete if the block is one event. */
function openedPart(event: OpeningEvent): ReplyPart {
  switch (event.type) {
    case 'text_start':
      return { type: 'text', text: '', ...(event.refusal && { refusal: event.refusal }) };
    case 'reasoning_start':
      return { type: 'reasoning', text: '', ...(event.raw && { raw: event.raw }) };
    case 'redacted':
      return { type: 'reasoning', text: '', redacted: event.data };
    case 'tool_start': {
      const { id, name, custom, extra } = event;
      const part: ToolCallPart = { type: 'tool_call', id, name, arguments: '' };
      if (custom !== undefined) part.custom = custom;
      if (extra !== undefined) part.extra = extra;
      return part;
    }
    case 'native':
      return event.part;
  }
}

/** Providers refuse empty text when it comes back in a history. */
export function isEmptyText(part: ReplyPart): boolean {
  return part.type === 'text' && part.text === '' && part.citations === undefined;
}

/** The events of a stream that gives `reply`: one start, at most one delta and one end a block. */
export function replay(reply: Reply): StreamEvent[] {
  const start: StreamEvent = { type: 'start', id: reply.id, model: reply.model };
  if (reply.created !== undefined) start.created = reply.created;
  if (reply.usage !== undefined) start.usage = reply.usage;
  if (reply.serviceTier !== undefined) start.serviceTier = reply.serviceTier;
  const end: StreamEvent = { type: 'end', stop: reply.stop };
  if (reply.usage !== undefined) end.usage = reply.usage;
  if (reply.serviceTier !== undefined) end.serviceTier = reply.serviceTier;
  return [start, ...reply.parts.flatMap(replayPart), end];
}

function replayPart(part: ReplyPart, index: number): StreamEvent[] {
  switch (part.type) {
    case 'text':
      return [
        { type: 'text_start', index, ...(part.refusal && { refusal: part.refusal }) },
        ...(part.logprobs === undefined ? [] : [{ type: 'logprobs' as const, index, tokens: part.logprobs }]),
        ...delta('text_delta', index, part.text),
        ...(part.citations ?? []).map((citation): StreamEvent => ({ type: 'citation', index, citation })),
        { type: 'text_end', index },
      ];
    case 'reasoning':
      if (part.redacted !== undefined) return [{ type: 'redacted', index, data: part.redacted }];
      return [
        { type: 'reasoning_start', index, ...(part.raw && { raw: part.raw }) },
        ...delta('reasoning_delta', index, part.text),
        { type: 'reasoning_end', index, ...(part.signature !== undefined && { signature: part.signature }) },
      ];
    case 'tool_call': {
      const { id, name, custom, extra } = part;
      return [
        { type: 'tool_start', index, id, name, ...(custom && { custom }), ...(extra && { extra }) },
        ...delta('tool_delta', index, part.arguments),
        { type: 'tool_end', index },
      ];
    }
    case 'native':
      return [{ type: 'native', index, part }];
  }
}

function delta(
  type: 'text_delta' | 'reasoning_delta' | 'tool_delta',
  index: number,
  text: string,
): StreamEvent[] {
  return text === '' ? [] : [{ type, index, text }];
}
