// Canonical events as a stream of this protocol. One item is on the wire at a time, with indexes 0, 1, 2 …: what belongs to
// others waits until it closes. An item closes when the next one begins or the answer ends, since only then is it known whether
// it was cut.
import { rawJson } from '../../json/raw-json.ts';
import { estimateUsage, type StreamEvent, type StopReason, type Usage } from '../../../canonical/reply.ts';
import { append, type JsonObject, stringOf } from '../../../canonical/json.ts';
import type { NativePart, ReasoningPart } from '../../../canonical/request.ts';
import { isSealed } from '../../../canonical/thinking-signature.ts';
import type { GatewayError } from '../../../errors.ts';
import type { HiddenTexts, ReplyContext, ReplyIds } from '../../interface/answer.ts';
import type { StreamEncoder } from '../../interface/stream.ts';
import type { Frame } from '../../sse/splitter.ts';
import { gatewayErrorOf, replyIdsOf } from '../../shared/client.ts';
import { errorEvent, responseError } from '../errors.ts';
import { callIds, callItem, clientToolOf, encryptedContent, itemId } from '../reply/items.ts';

import { deltaOf, type Block, type CallStart } from './block.ts';
import {
  completedAt,
  echoOf,
  responseJson,
  responseOf,
  responseId,
  type ResponseHead,
  type ResponseState,
} from '../reply/response.ts';
import { encodeStop, endsWithText, holdsAnswer, refusalWords, encodeUsage } from '../reply/ending.ts';
import { toolDirectory, type ToolDirectory } from '../request/tools.ts';
import { AdoptedFrames } from './relayed.ts';
import { CallItem, MessageItem, Numbered, ReasoningItem, WholeItem, type OpenItem } from './open-item.ts';

const DONE = 'data: [DONE]\n\n';

type Start = Extract<StreamEvent, { type: 'start' }>;
type End = Extract<StreamEvent, { type: 'end' }>;

class ResponsesWriter implements StreamEncoder {
  readonly #context: ReplyContext;
  readonly #tools: ToolDirectory;
  readonly #hideReasoning: boolean;
  /** The request's members of every Response, as JSON without braces. */
  readonly #echo: string;
  readonly #frames = new Numbered();
  #head: ResponseHead | undefined;
  /** The provider's id of the answer; '' while there is none. */
  #theirs = '';
  readonly #hidden = new Map<string, string>();
  /** Items that are whole. */
  readonly #output: JsonObject[] = [];
  #item: OpenItem | undefined;
  readonly #blocks = new Map<number, Block>();
  /** In order of opening; those before `#next` were on the wire. */
  #queue: Block[] = [];
  #next = 0;
  #current: Block | undefined;
  /** Another protocol's block stood between two texts: they are two messages. */
  #apart = false;
  #characters = 0;
  #refused = false;
  #over = false;
  /** How the complete answer ended. */
  #final: ResponseState | undefined;
  /** Set once the stream continues with a relayed one. */
  #adopted: AdoptedFrames | undefined;

  constructor(context: ReplyContext) {
    const { asked = {}, reasoning } = context.request;
    this.#context = context;
    this.#tools = toolDirectory(asked);
    this.#hideReasoning = reasoning?.hidden === true;
    this.#echo = rawJson(echoOf(context));
  }

  push(event: StreamEvent): string {
    if (this.#over) return '';
    switch (event.type) {
      case 'text_delta':
      case 'reasoning_delta':
      case 'tool_delta':
        return this.#piece(event.index, event.text);
      case 'start':
        return this.#start(event);
      case 'text_start':
        return this.#open(event.index, { kind: event.refusal ? 'refusal' : 'text' });
      case 'reasoning_start':
        return this.#open(event.index, { kind: 'reasoning', raw: event.raw });
      case 'tool_start':
        this.#characters += event.name.length;
        return this.#open(event.index, { kind: 'call', call: event });
      case 'citation':
        this.#blocks.get(event.index)?.citations.push(event.citation);
        return '';
      case 'logprobs':
        this.#tokens(event.index, event.tokens);
        return '';
      case 'text_end':
      case 'tool_end':
        return this.#close(event.index);
      case 'reasoning_end':
        return this.#close(event.index, event.signature);
      case 'redacted':
        return (
          this.#open(event.index, { kind: 'reasoning', redacted: event.data }) + this.#close(event.index)
        );
      case 'native':
        return this.#open(event.index, { kind: 'native', native: event.part }) + this.#close(event.index);
      case 'end':
        return this.#end(event);
      case 'error':
        return this.fail(gatewayErrorOf(event.failure), '');
    }
  }

  keepAlive(): string {
    if (this.#over) return '';
    if (this.#head === undefined) return this.#begin({});
    const output = this.#soFar('in_progress');
    return this.#lifecycle('response.in_progress', { status: 'in_progress', output });
  }

  adopt(frame: Frame): Buffer {
    if (this.#head === undefined) return frame.bytes;
    this.#adopted ??= new AdoptedFrames(this.#frames, this.#head.id, this.#context);
    return this.#adopted.adopt(frame);
  }

  answer(): JsonObject | undefined {
    if (this.#adopted !== undefined) return this.#adopted.answer();
    if (this.#head === undefined || this.#final === undefined) return undefined;
    return responseOf(this.#head, this.#final, this.#context);
  }

  hidden(): HiddenTexts {
    return this.#hidden;
  }

  replyIds(): ReplyIds | undefined {
    if (this.#adopted !== undefined) return this.#adopted.replyIds();
    if (this.#head === undefined || this.#theirs === '') return undefined;
    return replyIdsOf(this.#theirs, this.#head.id);
  }

  fail(error: GatewayError, _requestId: string): string {
    if (this.#over) return '';
    const opening = this.#begin({});
    this.#over = true;
    const state: ResponseState = {
      status: 'failed',
      output: this.#soFar('incomplete'),
      error: responseError(error),
    };
    const frame = this.#frames.frame('error', errorEvent(error));
    return opening + frame + this.#lifecycle('response.failed', state) + DONE;
  }

  // -- the Response --

  #start(event: Start): string {
    if (this.#head === undefined) return this.#begin(event);
    // The stream was opened before the provider answered: the id stays.
    const { id, model, serviceTier } = event;
    this.#head = { ...this.#head, model, serviceTier };
    this.#theirs = id;
    return '';
  }

  /** The first two frames, unless they are written already. */
  #begin({ id = '', created = this.#context.created, model, serviceTier }: Partial<Start>): string {
    if (this.#head !== undefined) return '';
    this.#theirs = id;
    this.#head = {
      id: responseId(id, this.#context.ids),
      created,
      model: model ?? stringOf(this.#context.request.asked?.model),
      serviceTier,
    };
    const state: ResponseState = { status: 'in_progress', output: [] };
    return this.#lifecycle('response.created', state) + this.#lifecycle('response.in_progress', state);
  }

  #lifecycle(type: string, state: ResponseState): string {
    if (this.#head === undefined) return '';
    return this.#frames.raw(type, `"response":${responseJson(this.#head, state, this.#echo)}}`);
  }

  #soFar(status: 'in_progress' | 'incomplete'): JsonObject[] {
    return this.#item === undefined ? this.#output : [...this.#output, this.#item.value(status)];
  }

  #end({ stop, usage, serviceTier }: End): string {
    let frames = this.#begin({});
    for (const index of [...this.#blocks.keys()]) frames += this.#close(index);
    const said = stop.reason === 'refusal' ? this.#soFar('in_progress') : [];
    frames += this.#explain(stop, said);
    const { status, reason } = encodeStop(stop, this.#refused && !holdsAnswer(said));
    frames += this.#closeItem(status);
    const state: ResponseState = { status, output: this.#output, usage: this.#usage(usage) };
    if (reason !== undefined) state.reason = reason;
    if (this.#head !== undefined) {
      if (status === 'completed') state.completedAt = completedAt(this.#head, this.#context);
      this.#head.serviceTier = serviceTier ?? this.#head.serviceTier;
    }
    this.#over = true;
    this.#final = state;
    return frames + this.#lifecycle(`response.${status}`, state) + DONE;
  }

  #usage(usage: Usage | undefined): JsonObject {
    return encodeUsage(usage ?? estimateUsage(this.#context.estimateInput(), this.#characters));
  }

  /** The words of a refusal: clients look for the part. Where they are those of the text, they have streamed. */
  #explain(stop: StopReason, said: readonly JsonObject[]): string {
    const words = this.#refused ? '' : refusalWords(stop);
    if (words === '' || endsWithText(said, words)) return '';
    const block: Block = { kind: 'refusal', held: '', length: 0, citations: [], ended: false };
    return this.#write(block, words);
  }

  // -- blocks --

  #piece(index: number, text: string): string {
    const block = this.#blocks.get(index);
    if (block === undefined || text === '') return '';
    this.#characters += text.length;
    if (block === this.#current) return this.#write(block, text);
    block.held += text;
    return '';
  }

  #tokens(index: number, tokens: readonly JsonObject[]): void {
    const block = this.#blocks.get(index);
    if (block !== undefined) append((block.tokens ??= []), tokens);
  }

  #open(index: number, members: Pick<Block, 'kind' | 'call' | 'native' | 'redacted' | 'raw'>): string {
    const block: Block = { ...members, held: '', length: 0, citations: [], ended: false };
    this.#blocks.set(index, block);
    this.#queue.push(block);
    return this.#advance();
  }

  #close(index: number, signature?: string): string {
    const block = this.#blocks.get(index);
    if (block === undefined) return '';
    this.#blocks.delete(index);
    block.ended = true;
    block.signature = signature;
    return block === this.#current ? this.#leave(block) + this.#advance() : '';
  }

  /** Puts the next block on the wire, and those after it while they are complete already. */
  #advance(): string {
    let frames = '';
    while (this.#current === undefined) {
      const block = this.#queue[this.#next++];
      if (block === undefined) {
        this.#queue = [];
        this.#next = 0;
        break;
      }
      this.#current = block;
      if (block.call !== undefined) frames += this.#beginCall(block, block.call);
      const { held } = block;
      block.held = '';
      if (held !== '') frames += this.#write(block, held);
      if (block.ended) frames += this.#leave(block);
    }
    return frames;
  }

  #write(block: Block, text: string): string {
    block.length += text.length;
    if (block.item !== undefined) return deltaOf(block, text);
    switch (block.kind) {
      case 'text':
      case 'refusal':
        return this.#beginText(block, block.kind) + deltaOf(block, text);
      case 'reasoning':
        return this.#beginReasoning(block) + deltaOf(block, text);
      // The arguments of a call that goes out whole.
      case 'call':
      case 'native':
        block.held += text;
        return '';
    }
  }

  /** The block has ended: what is known only then. Its item stays open. */
  #leave(block: Block): string {
    this.#current = undefined;
    switch (block.kind) {
      case 'text':
      case 'refusal':
        return block.item instanceof MessageItem ? block.item.cite(block.citations, block.length) : '';
      case 'reasoning':
        return this.#seal(block);
      case 'call':
        return block.item === undefined ? this.#wholeCall(block) : '';
      case 'native':
        return this.#native(block.native);
    }
  }

  // -- items --

  #beginItem(item: OpenItem): string {
    this.#item = item;
    this.#apart = false;
    return item.begin();
  }

  #closeItem(status: 'completed' | 'incomplete'): string {
    const item = this.#item;
    if (item === undefined) return '';
    this.#item = undefined;
    const frames = item.close(status);
    this.#output.push(item.value(status));
    return frames;
  }

  #beginText(block: Block, kind: 'text' | 'refusal'): string {
    if (kind === 'refusal') this.#refused = true;
    const open = this.#item;
    if (open instanceof MessageItem && !this.#apart) {
      block.item = open;
      return open.part(kind);
    }
    const closed = this.#closeItem('completed');
    const item = new MessageItem(this.#frames, itemId('msg', this.#context.ids), this.#output.length);
    block.item = item;
    return closed + this.#beginItem(item) + item.part(kind);
  }

  #beginReasoning(block: Block): string {
    const frames = this.#closeItem('completed');
    const id = itemId('rs', this.#context.ids);
    const shown = this.#hideReasoning ? 'hidden' : block.raw === true ? 'raw' : 'summary';
    const item = new ReasoningItem(this.#frames, id, this.#output.length, shown);
    block.item = item;
    return frames + this.#beginItem(item);
  }

  #seal(block: Block): string {
    const { signature, redacted, raw } = block;
    const text = block.item instanceof ReasoningItem ? block.item.text : '';
    const part: ReasoningPart = { type: 'reasoning', text, signature, redacted, raw };
    const frames = block.item === undefined && isSealed(part) ? this.#beginReasoning(block) : '';
    if (block.item instanceof ReasoningItem) {
      block.item.encrypted = encryptedContent(part, block.item.id, this.#context, this.#hidden);
    }
    return frames;
  }

  #beginCall(block: Block, call: CallStart): string {
    const tool = clientToolOf(this.#tools, call);
    if (tool.kind !== 'function' && tool.kind !== 'custom') return '';
    const ids = callIds(tool, call.id, this.#context.ids);
    const frames = this.#closeItem('completed');
    const item = new CallItem(this.#frames, tool, ids, this.#output.length);
    block.item = item;
    return frames + this.#beginItem(item);
  }

  #wholeCall({ call, held }: Block): string {
    if (call === undefined) return '';
    const tool = clientToolOf(this.#tools, call);
    const ids = callIds(tool, call.id, this.#context.ids);
    return this.#whole((status) => callItem(tool, ids, held || '{}', status));
  }

  #native(part: NativePart | undefined): string {
    if (part?.protocol !== 'responses') {
      this.#apart = true;
      return '';
    }
    return this.#whole(() => part.value);
  }

  #whole(make: WholeItem['value']): string {
    const frames = this.#closeItem('completed');
    return frames + this.#beginItem(new WholeItem(this.#frames, this.#output.length, make));
  }
}

export function createStreamEncoder(context: ReplyContext): StreamEncoder {
  return new ResponsesWriter(context);
}
