// Canonical events as a chat stream, shaped by what the official readers need: every chunk has id and choices,
// calls are numbered from 0, their arguments are never empty, and only comments keep the line alive.
import type { StreamEvent, StopReason, Usage } from '../../../canonical/reply.ts';
import { append, type JsonObject } from '../../../canonical/json.ts';
import type { Citation } from '../../../canonical/request.ts';
import type { ReplyContext, ReplyIds } from '../../interface/answer.ts';
import type { StreamEncoder } from '../../interface/stream.ts';
import { replyIdsOf } from '../../shared/client.ts';
import { encodeCitation } from '../reply/citations.ts';
import { chatExtra } from '../request/encode-tools.ts';
import { SaidText } from './said-text.ts';
import { encodeStreamFailure } from '../errors.ts';
import { encodeServiceTier } from '../../shared/openai/fields.ts';
import { encodeFinish, encodeUsage } from '../reply/ending.ts';
import { fitReplyId, gapBetween, separates } from '../reply/encode.ts';
import { isSealed, reasoningDetail, thinkingBlock, type SealedThought } from '../reply/reasoning.ts';

const DONE = 'data: [DONE]\n\n';
const ROLE = '{"role":"assistant","content":"","refusal":null}';

interface OpenCall {
  /** The running number of the call, from 0. */
  number: number;
  id: string;
  name: string;
  hasArguments: boolean;
  /** The text of a custom call, which is sent whole. */
  input: string | undefined;
}

interface OpenText {
  refusal: boolean;
  offset: number;
  length: number;
  citations: Citation[];
}

class ChatWriter implements StreamEncoder {
  readonly #context: ReplyContext;
  readonly #legacy: boolean;
  readonly #hideReasoning: boolean;
  #replyIds: ReplyIds | undefined;
  /** Everything of a chunk before and after its delta. */
  #head = '';
  #prefix = '';
  #suffix = '';
  #opened = false;
  #calls = new Map<number, OpenCall>();
  #callCount = 0;
  #texts = new Map<number, OpenText>();
  #textLength = 0;
  /** Log probabilities of the text that comes next. */
  readonly #tokens: JsonObject[] = [];
  /** The end of the text, two characters at least. */
  #tail = '';
  /** A server tool ran since then. */
  #apart = false;
  readonly #annotations: JsonObject[] = [];
  /** Of the open block of thinking. */
  #thought = '';
  readonly #sealed: JsonObject[] = [];
  #refused = false;
  /** All text that is no refusal. */
  readonly #said = new SaidText();

  constructor(context: ReplyContext) {
    const { request } = context;
    this.#context = context;
    this.#legacy = request.legacyFunctions === true;
    this.#hideReasoning = request.reasoning?.hidden === true;
    this.#suffix = `,"logprobs":null,"finish_reason":null}]${this.#usage()}}\n\n`;
  }

  push(event: StreamEvent): string {
    switch (event.type) {
      case 'text_delta':
        return this.#text(event.index, event.text);
      case 'reasoning_delta':
        if (this.#hideReasoning || event.text === '') return '';
        this.#thought += event.text;
        return this.#delta(this.#thoughtDelta(JSON.stringify(event.text)));
      case 'tool_delta':
        return this.#callDelta(event.index, event.text);
      case 'start':
        this.#start(event);
        return '';
      case 'logprobs':
        append(this.#tokens, event.tokens);
        return '';
      case 'text_start':
        this.#texts.set(event.index, {
          refusal: event.refusal === true,
          offset: this.#textLength,
          length: 0,
          citations: [],
        });
        return '';
      case 'citation':
        this.#texts.get(event.index)?.citations.push(event.citation);
        return '';
      case 'text_end':
        this.#textEnd(event.index);
        return this.#tokens.length === 0 ? '' : this.#delta('{"content":""}');
      case 'tool_start':
        return this.#sources() + this.#callStart(event);
      case 'tool_end':
        return this.#callEnd(event.index);
      case 'end':
        return this.#end(event.stop, event.usage, event.serviceTier);
      case 'error':
        return encodeStreamFailure(event.failure);
      case 'reasoning_start':
        this.#thought = '';
        return '';
      case 'reasoning_end':
        return this.#seal({ text: this.#thought, signature: event.signature });
      case 'redacted':
        return this.#seal({ text: '', redacted: event.data });
      // This protocol has no form for it; the log reports what is left out of an answer.
      case 'native':
        this.#apart ||= separates(event.part);
        return '';
    }
  }

  replyIds(): ReplyIds | undefined {
    return this.#replyIds;
  }

  #start(event: Extract<StreamEvent, { type: 'start' }>): void {
    const id = fitReplyId(event.id, this.#context.ids);
    this.#replyIds = replyIdsOf(event.id, id);
    const created = event.created ?? this.#context.created;
    const tier = encodeServiceTier(event.serviceTier);
    const head = `data: {"id":${JSON.stringify(id)},"object":"chat.completion.chunk","created":${created},"model":${JSON.stringify(event.model)}`;
    this.#head = tier === undefined ? head : `${head},"service_tier":${JSON.stringify(tier)}`;
    this.#prefix = `${this.#head},"choices":[{"index":0,"delta":`;
  }

  #usage(): string {
    return this.#context.request.includeUsage ? ',"usage":null' : '';
  }

  /** One chunk; the first is preceded by the one that names the role. */
  #delta(delta: string): string {
    const suffix = this.#tokens.length === 0 ? this.#suffix : this.#suffixWithTokens();
    if (this.#opened) return this.#prefix + delta + suffix;
    this.#opened = true;
    return this.#prefix + ROLE + this.#suffix + this.#prefix + delta + suffix;
  }

  #suffixWithTokens(): string {
    const logprobs = JSON.stringify({ content: this.#tokens.splice(0), refusal: null });
    return `,"logprobs":${logprobs},"finish_reason":null}]${this.#usage()}}\n\n`;
  }

  /** `json`: a piece of thinking. */
  #thoughtDelta(json: string): string {
    const { readsReasoning = false } = this.#context.request;
    return readsReasoning
      ? `{"reasoning_content":${json},"reasoning":${json}}`
      : `{"reasoning_content":${json}}`;
  }

  #text(index: number, text: string): string {
    if (text === '') return '';
    const open = this.#texts.get(index);
    if (open?.refusal) {
      this.#refused = true;
      return this.#delta(`{"refusal":${JSON.stringify(text)}}`);
    }
    if (this.#apart) return this.#paragraph(open, text);
    if (open) open.length += text.length;
    this.#said.add(text);
    this.#textLength += text.length;
    this.#tail = text.length > 1 ? text : this.#tail.slice(-1) + text;
    return this.#delta(`{"content":${JSON.stringify(text)}}`);
  }

  /** The first text behind a server tool's block. */
  #paragraph(open: OpenText | undefined, text: string): string {
    const gap = this.#textLength === 0 ? '' : gapBetween(this.#tail, text);
    this.#apart = false;
    this.#said.add(gap + text);
    this.#textLength += gap.length + text.length;
    this.#tail = text;
    if (open) {
      open.offset += gap.length;
      open.length += text.length;
    }
    return this.#delta(JSON.stringify({ content: gap + text }));
  }

  /** Each block is sent when it ends, and all blocks again at the end of the answer, for readers that ignore the index. */
  #seal(thought: SealedThought): string {
    if (this.#hideReasoning || !isSealed(thought)) return '';
    const detail = reasoningDetail(thought, this.#sealed.length);
    this.#sealed.push(thinkingBlock(thought));
    return this.#delta(JSON.stringify({ reasoning_details: [detail] }));
  }

  #thinkingBlocks(): string {
    if (this.#sealed.length === 0) return '';
    return this.#delta(JSON.stringify({ thinking_blocks: this.#sealed }));
  }

  #textEnd(index: number): void {
    const open = this.#texts.get(index);
    if (!open) return;
    this.#texts.delete(index);
    for (const citation of open.citations) {
      const annotation = encodeCitation(citation, open.offset, open.length);
      if (annotation !== undefined) this.#annotations.push(annotation);
    }
  }

  /** All at once, as readers keep the last list alone. */
  #sources(): string {
    if (this.#annotations.length === 0) return '';
    const annotations = this.#annotations.splice(0);
    return this.#delta(JSON.stringify({ annotations }));
  }

  #callStart(event: Extract<StreamEvent, { type: 'tool_start' }>): string {
    const call: OpenCall = {
      number: this.#callCount++,
      id: event.id || `call_${this.#context.ids.random(24)}`,
      name: event.name,
      hasArguments: false,
      input: event.custom ? '' : undefined,
    };
    this.#calls.set(event.index, call);
    if (call.input !== undefined) return '';
    const func = `{"name":${JSON.stringify(call.name)},"arguments":""}`;
    // The legacy form has room for one call.
    if (this.#legacy) return call.number === 0 ? this.#delta(`{"function_call":${func}}`) : '';
    const item = { index: call.number, id: call.id, type: 'function', ...chatExtra(event.extra) };
    return this.#delta(`{"tool_calls":[${JSON.stringify(item).slice(0, -1)},"function":${func}}]}`);
  }

  #callDelta(index: number, text: string): string {
    const call = this.#calls.get(index);
    if (!call || text === '') return '';
    call.hasArguments = true;
    if (call.input !== undefined) {
      call.input += text;
      return '';
    }
    const args = JSON.stringify(text);
    if (this.#legacy) return call.number === 0 ? this.#delta(`{"function_call":{"arguments":${args}}}`) : '';
    return this.#delta(`{"tool_calls":[{"index":${call.number},"function":{"arguments":${args}}}]}`);
  }

  #callEnd(index: number): string {
    const call = this.#calls.get(index);
    if (!call) return '';
    if (call.input !== undefined) {
      const { number, id, name, input } = call;
      return this.#delta(
        JSON.stringify({ tool_calls: [{ index: number, id, type: 'custom', custom: { name, input } }] }),
      );
    }
    // Clients JSON.parse the arguments, also of a call without any.
    return call.hasArguments ? '' : this.#callDelta(index, '{}');
  }

  #end(stop: StopReason, usage: Usage | undefined, tier: string | undefined): string {
    let frames = this.#sources() + this.#thinkingBlocks();
    // A provider may refuse in its text and explain it in the same words.
    if (stop.reason === 'refusal' && stop.explanation && !this.#refused && !this.#said.is(stop.explanation)) {
      frames += this.#delta(`{"refusal":${JSON.stringify(stop.explanation)}}`);
    }
    if (!this.#opened) frames += this.#prefix + ROLE + this.#suffix;
    const matched = stop.sequence === undefined ? '' : `,"stop_reason":${JSON.stringify(stop.sequence)}`;
    const finish = encodeFinish(stop, this.#callCount > 0, this.#legacy);
    frames += `${this.#prefix}{},"logprobs":null,"finish_reason":"${finish}"${matched}}]${this.#usage()}}\n\n`;
    if (this.#context.request.includeUsage && usage) {
      const known = encodeServiceTier(tier);
      const extra =
        known === undefined || this.#head.includes('"service_tier"') ? '' : `,"service_tier":"${known}"`;
      frames += `${this.#head}${extra},"choices":[],"usage":${JSON.stringify(encodeUsage(usage))}}\n\n`;
    }
    return frames + DONE;
  }
}

export function createStreamEncoder(context: ReplyContext): StreamEncoder {
  return new ChatWriter(context);
}
