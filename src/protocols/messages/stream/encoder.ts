// Canonical events as this protocol's stream: one synchronous machine over the writer of blocks.
import type { StreamEvent } from '../../../canonical/events.ts';
import type { Usage } from '../../../canonical/usage.ts';
import type { ReplyContext, StreamEncoder } from '../../protocol.ts';
import { fitToolId } from '../../shared/tool-names.ts';
import { CallInput } from './tool-calls.ts';
import { encodeStreamFailure } from '../errors.ts';
import { messageId } from '../reply/encode.ts';
import type { WireMessage } from '../wire-types.ts';
import { createSourceList } from '../reply/citations.ts';
import { encodeStop } from '../reply/stop-reason.ts';
import {
  createBlockWriter,
  nativeBlock,
  TEXT_START,
  THINKING_START,
  wholeBlock,
  type Pending,
} from './encoder-blocks.ts';
import { encodeDeltaUsage, encodeUsage, estimateUsage } from '../reply/usage.ts';

export const PING = 'event: ping\ndata: {"type":"ping"}\n\n';
const MESSAGE_STOP = 'event: message_stop\ndata: {"type":"message_stop"}\n\n';

type StartEvent = Extract<StreamEvent, { type: 'start' }>;
type EndEvent = Extract<StreamEvent, { type: 'end' }>;

function startOfCall(event: Extract<StreamEvent, { type: 'tool_start' }>): string {
  return JSON.stringify({
    type: 'tool_use',
    id: fitToolId(event.id, 'messages'),
    name: event.name,
    input: {},
    caller: event.extra?.caller ?? { type: 'direct' },
  });
}

export function createStreamEncoder(context: ReplyContext): StreamEncoder {
  const hideThinking = context.request.reasoning?.display === 'omitted';
  const blocks = new Map<number, Pending>();
  const writer = createBlockWriter();
  const sources = createSourceList(context.request);
  let opened: StartEvent | undefined;
  let begun = false;
  let over = false;
  let hasCalls = false;
  let characters = 0;
  /** White space that no visible character of a text has followed yet. */
  let blank = '';

  function messageStart(): string {
    if (begun) return '';
    begun = true;
    const usage: Usage = opened?.usage ?? estimateUsage(context.estimateInput(), 0);
    const message: WireMessage = {
      id: messageId(opened?.id ?? '', context),
      type: 'message',
      role: 'assistant',
      model: opened?.model ?? '',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      stop_details: null,
      usage: encodeUsage({ ...usage, output: 1, reasoning: undefined }, opened?.serviceTier),
    };
    return `event: message_start\ndata: ${JSON.stringify({ type: 'message_start', message })}\n\n${PING}`;
  }

  function enqueue(block: Pending): string {
    return messageStart() + writer.enqueue(block);
  }

  function begin(block: Pending, start: string): string {
    block.start = start;
    return enqueue(block);
  }

  function startText(block: Pending): string {
    block.held = blank;
    blank = '';
    return begin(block, TEXT_START);
  }

  /** Text and thinking start with their first piece: an empty block would be refused when it comes back in a history. */
  function piece(index: number, kind: 'text' | 'reasoning', text: string): string {
    const block = blocks.get(index);
    if (block === undefined || text === '') return '';
    characters += text.length;
    let frames = '';
    if (block.start === '') {
      // White space alone would be refused when it comes back: it waits for a visible character.
      if (kind === 'text' && text.trim() === '') {
        blank += text;
        return '';
      }
      frames = kind === 'text' ? startText(block) : begin(block, THINKING_START);
    }
    return kind === 'reasoning' && hideThinking ? frames : frames + writer.writePiece(block, text);
  }

  function end(index: number): string {
    const block = blocks.get(index);
    if (block === undefined) return '';
    blocks.delete(index);
    return writer.end(block);
  }

  function endReasoning(index: number, signature: string | undefined): string {
    const block = blocks.get(index);
    if (block === undefined) return '';
    let frames = '';
    if (block.start === '') {
      if (!signature) return end(index);
      frames = begin(block, THINKING_START);
    }
    // Strict readers wait for a signature; an empty one is taken out when the client sends it back.
    return (
      frames +
      writer.write(block, `{"type":"signature_delta","signature":${JSON.stringify(signature ?? '')}}`) +
      end(index)
    );
  }

  function startTool(event: Extract<StreamEvent, { type: 'tool_start' }>): string {
    hasCalls = true;
    characters += event.name.length;
    const block: Pending = { kind: 'tool', start: startOfCall(event), held: '', deltas: [], ended: false };
    if (event.custom === true) block.free = '';
    else block.input = new CallInput();
    blocks.set(event.index, block);
    return enqueue(block);
  }

  function toolDelta(index: number, text: string): string {
    const block = blocks.get(index);
    if (block === undefined || text === '') return '';
    characters += text.length;
    if (block.free !== undefined) block.free += text;
    if (block.input === undefined) return '';
    const piece = block.input.push(text);
    if (block.input.isBroken) takeBack(block);
    return piece === '' ? '' : writer.writePiece(block, piece);
  }

  function endTool(index: number): string {
    const block = blocks.get(index);
    if (block?.free !== undefined) {
      return writer.writePiece(block, JSON.stringify({ input: block.free })) + end(index);
    }
    // Half an object may be an answer that was cut: the stop reason tells.
    return block?.input?.isOpen === true ? '' : endInput(block) + end(index);
  }

  function endInput(block: Pending | undefined): string {
    if (block?.input === undefined) return '';
    if (block.input.isOpen) takeBack(block);
    const rest = block.input.rest();
    return rest === '' ? '' : writer.writePiece(block, rest);
  }

  function takeBack(block: Pending): void {
    if (!writer.waits(block)) return;
    block.held = '';
    block.input?.takeBack();
  }

  function finish(event: EndEvent): string {
    over = true;
    let frames = messageStart();
    const stop = encodeStop(event.stop, hasCalls);
    // Cut arguments stay cut where the stop reason says so; a call that is to be run must be whole.
    if (stop.stop_reason === 'tool_use') for (const block of blocks.values()) frames += endInput(block);
    for (const index of [...blocks.keys()]) frames += end(index);
    const usage = event.usage ?? estimateUsage(opened?.usage?.input ?? context.estimateInput(), characters);
    const data = JSON.stringify({ type: 'message_delta', delta: stop, usage: encodeDeltaUsage(usage) });
    frames += `event: message_delta\ndata: ${data}\n\n`;
    return frames + MESSAGE_STOP;
  }

  function open(index: number, kind: 'text' | 'reasoning'): string {
    blocks.set(index, { kind, start: '', held: '', deltas: [], ended: false });
    return '';
  }

  function cite(index: number, event: Extract<StreamEvent, { type: 'citation' }>): string {
    const block = blocks.get(index);
    sources.add(event.citation);
    if (block === undefined || event.citation.protocol !== 'messages') return '';
    const frames = block.start === '' ? startText(block) : '';
    return (
      frames + writer.write(block, JSON.stringify({ type: 'citations_delta', citation: event.citation.raw }))
    );
  }

  function push(event: StreamEvent): string {
    switch (event.type) {
      case 'text_delta':
        return piece(event.index, 'text', event.text);
      case 'reasoning_delta':
        return piece(event.index, 'reasoning', event.text);
      case 'tool_delta':
        return toolDelta(event.index, event.text);
      case 'start':
        opened = event;
        return '';
      case 'text_start':
        return open(event.index, 'text');
      case 'reasoning_start':
        return open(event.index, 'reasoning');
      case 'tool_start':
        return startTool(event);
      case 'citation':
        return cite(event.index, event);
      case 'text_end':
        return piece(event.index, 'text', sources.take()) + end(event.index);
      case 'reasoning_end':
        return endReasoning(event.index, event.signature);
      case 'tool_end':
        return endTool(event.index);
      case 'redacted':
        return enqueue(wholeBlock({ type: 'redacted_thinking', data: event.data }, ''));
      case 'native':
        return event.part.protocol === 'messages' ? enqueue(nativeBlock(event.part)) : '';
      case 'end':
        return finish(event);
      case 'error':
        over = true;
        return encodeStreamFailure(event.failure);
    }
  }

  return { push: (event) => (over ? '' : push(event)) };
}
