// A stream's events as a whole reply, and a whole reply as events: both ways, so that either form of a provider's answer can be
// given to either kind of client.
import type { ProviderFailure } from '../errors.ts';
import type { StreamEvent } from './events.ts';
import type { Reply, ReplyPart } from './reply.ts';
import type { ReasoningPart, TextPart, ToolCallPart } from './request.ts';

export interface Collector {
  push(event: StreamEvent): void;
  /** The reply, once `end` came; else why there is none. */
  result(): { reply: Reply } | { failure: ProviderFailure };
}

type EndEvent = Extract<StreamEvent, { type: 'end' }>;

export function createCollector(): Collector {
  const parts = new Map<number, ReplyPart>();
  let start: Extract<StreamEvent, { type: 'start' }> | undefined;
  let end: EndEvent | undefined;
  let failure: ProviderFailure | undefined;

  function text(index: number): TextPart | undefined {
    const part = parts.get(index);
    return part?.type === 'text' ? part : undefined;
  }

  function reasoning(index: number): ReasoningPart | undefined {
    const part = parts.get(index);
    return part?.type === 'reasoning' ? part : undefined;
  }

  function call(index: number): ToolCallPart | undefined {
    const part = parts.get(index);
    return part?.type === 'tool_call' ? part : undefined;
  }

  function pushText(
    event: Extract<StreamEvent, { type: 'text_start' | 'text_delta' | 'citation' | 'text_end' }>,
  ): void {
    const part = text(event.index);
    if (event.type === 'text_start') {
      parts.set(event.index, { type: 'text', text: '', ...(event.refusal && { refusal: event.refusal }) });
    } else if (event.type === 'text_delta' && part !== undefined) part.text += event.text;
    else if (event.type === 'citation' && part !== undefined) (part.citations ??= []).push(event.citation);
  }

  function endReasoning(index: number, signature: string | undefined): void {
    const part = reasoning(index);
    if (part !== undefined && signature !== undefined) part.signature = signature;
  }

  function startCall({ index, id, name, custom, extra }: Extract<StreamEvent, { type: 'tool_start' }>): void {
    const part: ToolCallPart = { type: 'tool_call', id, name, arguments: '' };
    if (custom !== undefined) part.custom = custom;
    if (extra !== undefined) part.extra = extra;
    parts.set(index, part);
  }

  function endCall({ index, extra }: Extract<StreamEvent, { type: 'tool_end' }>): void {
    const part = call(index);
    if (part === undefined) return;
    // A call without arguments is an empty object on every wire.
    if (part.arguments === '' && part.custom === undefined) part.arguments = '{}';
    if (extra !== undefined) part.extra = { ...part.extra, ...extra };
  }

  function push(event: StreamEvent): void {
    if (end !== undefined || failure !== undefined) return;
    switch (event.type) {
      case 'start':
        start = event;
        break;
      case 'text_start':
      case 'text_delta':
      case 'citation':
      case 'text_end':
        pushText(event);
        break;
      case 'reasoning_start':
        parts.set(event.index, { type: 'reasoning', text: '' });
        break;
      case 'reasoning_delta': {
        const part = reasoning(event.index);
        if (part !== undefined) part.text += event.text;
        break;
      }
      case 'reasoning_end':
        endReasoning(event.index, event.signature);
        break;
      case 'redacted':
        parts.set(event.index, { type: 'reasoning', text: '', redacted: event.data });
        break;
      case 'tool_start':
        startCall(event);
        break;
      case 'tool_delta': {
        const part = call(event.index);
        if (part !== undefined) part.arguments += event.text;
        break;
      }
      case 'tool_end':
        endCall(event);
        break;
      case 'native':
        parts.set(event.index, event.part);
        break;
      case 'end':
        end = event;
        break;
      case 'error':
        failure = event.failure;
        break;
    }
  }

  function wholeReply({ stop, usage, serviceTier }: EndEvent): Reply {
    const ordered = [...parts].sort(([a], [b]) => a - b).map(([, part]) => part);
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

  return {
    push,
    result() {
      if (failure !== undefined) return { failure };
      if (end === undefined) {
        const message = 'The provider broke off its answer.';
        return { failure: { kind: 'failed', reason: 'truncated', message } };
      }
      return { reply: wholeReply(end) };
    },
  };
}

/** Says nothing, and providers refuse it when it comes back in a history. */
function isEmptyText(part: ReplyPart): boolean {
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
        ...delta('text_delta', index, part.text),
        ...(part.citations ?? []).map((citation): StreamEvent => ({ type: 'citation', index, citation })),
        { type: 'text_end', index },
      ];
    case 'reasoning':
      if (part.redacted !== undefined) return [{ type: 'redacted', index, data: part.redacted }];
      return [
        { type: 'reasoning_start', index },
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
