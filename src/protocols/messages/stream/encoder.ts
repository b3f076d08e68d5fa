// Canonical events as a messages stream: one synchronous machine over the writer of blocks.
import { estimateUsage, type StreamEvent, type Usage } from '../../../canonical/reply.ts';
import type { ReplyContext, ReplyIds } from '../../interface/answer.ts';
import type { StreamEncoder } from '../../interface/stream.ts';
import { replyIdsOf } from '../../shared/client.ts';
import { fitToolId } from '../../shared/tools/tool-names.ts';
import {
  CallInput,
  createBlockWriter,
  nativeBlock,
  TEXT_START,
  THINKING_START,
  wholeBlock,
  type Pending,
} from './encoder-blocks.ts';
import { encodeStreamFailure } from '../errors.ts';
import { messageId, type WireMessage } from '../wire-types.ts';
import { createSourceList, type SourceList } from '../../shared/texts/source-list.ts';
import { encodeStop, encodeDeltaUsage, encodeUsage } from '../reply/ending.ts';

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
  return new MessagesEncoder(context);
}

class MessagesEncoder implements StreamEncoder {
  readonly #context: ReplyContext;
  readonly #hideThinking: boolean;
  #replyIds: ReplyIds | undefined;
  readonly #blocks = new Map<number, Pending>();
  readonly #writer = createBlockWriter();
  /** Made for the first citation. */
  #sources: SourceList | undefined;
  #startEvent: StartEvent | undefined;
  #isStarted = false;
  #isOver = false;
  #hasCalls = false;
  /** Of all content so far, for an estimate of its tokens. */
  #characters = 0;
  /** White space that no visible character of a text has followed yet. */
  #blank = '';

  constructor(context: ReplyContext) {
    this.#context = context;
    this.#hideThinking = context.request.reasoning?.hidden === true;
  }

  push(event: StreamEvent): string {
    if (this.#isOver) return '';
    switch (event.type) {
      case 'text_delta':
        return this.#piece(event.index, 'text', event.text);
      case 'reasoning_delta':
        return this.#piece(event.index, 'reasoning', event.text);
      case 'tool_delta':
        return this.#toolDelta(event.index, event.text);
      case 'start':
        this.#startEvent = event;
        return '';
      case 'text_start':
        return this.#open(event.index, 'text');
      case 'reasoning_start':
        return this.#open(event.index, 'reasoning');
      case 'tool_start':
        return this.#startTool(event);
      // Its clients cannot ask for them.
      case 'logprobs':
        return '';
      case 'citation':
        return this.#cite(event);
      case 'text_end':
        return this.#piece(event.index, 'text', this.#sources?.take() ?? '') + this.#end(event.index);
      case 'reasoning_end':
        return this.#endReasoning(event.index, event.signature);
      case 'tool_end':
        return this.#endTool(event.index);
      case 'redacted':
        return this.#enqueue(wholeBlock({ type: 'redacted_thinking', data: event.data }, ''));
      case 'native':
        return event.part.protocol === 'messages' ? this.#enqueue(nativeBlock(event.part)) : '';
      case 'end':
        return this.#finish(event);
      case 'error':
        this.#isOver = true;
        return encodeStreamFailure(event.failure);
    }
  }

  replyIds(): ReplyIds | undefined {
    return this.#replyIds;
  }

  // -- blocks --

  #open(index: number, kind: 'text' | 'reasoning'): string {
    this.#blocks.set(index, { kind, start: '', held: '', deltas: [], ended: false });
    return '';
  }

  #enqueue(block: Pending): string {
    return this.#messageStart() + this.#writer.enqueue(block);
  }

  #begin(block: Pending, start: string): string {
    block.start = start;
    return this.#enqueue(block);
  }

  #beginText(block: Pending): string {
    block.held = this.#blank;
    this.#blank = '';
    return this.#begin(block, TEXT_START);
  }

  /** Text and thinking start with their first piece: an empty block would be refused when it comes back in a history. */
  #piece(index: number, kind: 'text' | 'reasoning', text: string): string {
    const block = this.#blocks.get(index);
    if (block === undefined || text === '') return '';
    this.#characters += text.length;
    let frames = '';
    if (block.start === '') {
      // White space alone would be refused when it comes back: it waits for a visible character.
      if (kind === 'text' && text.trim() === '') {
        this.#blank += text;
        return '';
      }
      frames = kind === 'text' ? this.#beginText(block) : this.#begin(block, THINKING_START);
    }
    if (kind === 'reasoning' && this.#hideThinking) return frames;
    return frames + this.#writer.writePiece(block, text);
  }

  #cite({ index, citation }: Extract<StreamEvent, { type: 'citation' }>): string {
    const block = this.#blocks.get(index);
    (this.#sources ??= createSourceList(this.#context.request, 'messages')).add(citation);
    if (block === undefined || citation.protocol !== 'messages') return '';
    const frames = block.start === '' ? this.#beginText(block) : '';
    const delta = JSON.stringify({ type: 'citations_delta', citation: citation.raw });
    return frames + this.#writer.write(block, delta);
  }

  #end(index: number): string {
    const block = this.#blocks.get(index);
    if (block === undefined) return '';
    this.#blocks.delete(index);
    return this.#writer.end(block);
  }

  #endReasoning(index: number, signature: string | undefined): string {
    const block = this.#blocks.get(index);
    if (block === undefined) return '';
    let frames = '';
    if (block.start === '') {
      if (!signature) return this.#end(index);
      frames = this.#begin(block, THINKING_START);
    }
    // Strict readers wait for a signature; an empty one is taken out when the client sends it back.
    const delta = `{"type":"signature_delta","signature":${JSON.stringify(signature ?? '')}}`;
    return frames + this.#writer.write(block, delta) + this.#end(index);
  }

  // -- calls --

  #startTool(event: Extract<StreamEvent, { type: 'tool_start' }>): string {
    this.#hasCalls = true;
    this.#characters += event.name.length;
    const block: Pending = { kind: 'tool', start: startOfCall(event), held: '', deltas: [], ended: false };
    if (event.custom === true) block.free = '';
    else block.input = new CallInput();
    this.#blocks.set(event.index, block);
    return this.#enqueue(block);
  }

  #toolDelta(index: number, text: string): string {
    const block = this.#blocks.get(index);
    if (block === undefined || text === '') return '';
    this.#characters += text.length;
    if (block.free !== undefined) block.free += text;
    if (block.input === undefined) return '';
    const piece = block.input.push(text);
    if (block.input.isBroken) this.#takeBack(block);
    return piece === '' ? '' : this.#writer.writePiece(block, piece);
  }

  #endTool(index: number): string {
    const block = this.#blocks.get(index);
    if (block?.free !== undefined) {
      return this.#writer.writePiece(block, JSON.stringify({ input: block.free })) + this.#end(index);
    }
    // Half an object may be an answer that was cut: the stop reason decides.
    return block?.input?.isOpen === true ? '' : this.#endInput(block) + this.#end(index);
  }

  #endInput(block: Pending | undefined): string {
    if (block?.input === undefined) return '';
    if (block.input.isOpen) this.#takeBack(block);
    const rest = block.input.rest();
    return rest === '' ? '' : this.#writer.writePiece(block, rest);
  }

  #takeBack(block: Pending): void {
    if (!this.#writer.waits(block)) return;
    block.held = '';
    block.input?.takeBack();
  }

  // -- the message --

  #messageStart(): string {
    if (this.#isStarted) return '';
    this.#isStarted = true;
    const start = this.#startEvent;
    const usage: Usage = start?.usage ?? estimateUsage(this.#context.estimateInput(), 0);
    const theirs = start?.id ?? '';
    const id = messageId(theirs, this.#context.ids);
    this.#replyIds = replyIdsOf(theirs, id);
    const message: WireMessage = {
      id,
      type: 'message',
      role: 'assistant',
      model: start?.model ?? '',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      stop_details: null,
      usage: encodeUsage({ ...usage, output: 1, reasoning: undefined }, start?.serviceTier),
    };
    return `event: message_start\ndata: ${JSON.stringify({ type: 'message_start', message })}\n\n${PING}`;
  }

  #finish(event: EndEvent): string {
    this.#isOver = true;
    let frames = this.#messageStart();
    const stop = encodeStop(event.stop, this.#hasCalls);
    // Arguments stay cut off if the stop reason is a length limit; a call that will be run must be complete.
    if (stop.stop_reason === 'tool_use') {
      for (const block of this.#blocks.values()) frames += this.#endInput(block);
    }
    for (const index of [...this.#blocks.keys()]) frames += this.#end(index);
    const usage = event.usage ?? this.#estimatedUsage();
    const data = JSON.stringify({ type: 'message_delta', delta: stop, usage: encodeDeltaUsage(usage) });
    return `${frames}event: message_delta\ndata: ${data}\n\n${MESSAGE_STOP}`;
  }

  #estimatedUsage(): Usage {
    const input = this.#startEvent?.usage?.input ?? this.#context.estimateInput();
    return estimateUsage(input, this.#characters);
  }
}
