// A provider's chat stream as canonical events: one synchronous machine, fed frame by frame (PROTOCOL 4.3).
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import type { StreamEvent } from '../../../canonical/events.ts';
import type { StopReason } from '../../../canonical/reply.ts';
import type { NativePart } from '../../../canonical/request.ts';
import type { Traits } from '../../../canonical/traits.ts';
import type { Usage } from '../../../canonical/usage.ts';
import type { ProviderFailure } from '../../../errors.ts';
import type { Ids } from '../../../ids.ts';
import type { StreamDecoder } from '../../protocol.ts';
import type { Frame } from '../../sse/splitter.ts';
import { decodeAnnotation, pagesBeside } from '../reply/citations.ts';
import {
  BROKEN_OFF,
  failureOfStray,
  malformed,
  NO_ANSWER,
  failureIn,
  failureOf,
  failureOfEvent,
} from '../provider-error.ts';
import { decodeStop, failureOfSilence, isFinish } from '../reply/stop-reason.ts';
import { failureOfFinish, isDone } from './relay.ts';
import { createCallTracker, type CallTracker } from './tool-calls.ts';
import { readBeside, readContent, sourcesAlone, type ReplyContent } from '../reply/content.ts';
import {
  addedText,
  continues,
  readReasoning,
  type ReasoningPiece,
  type OpenReasoning,
} from '../reply/reasoning.ts';
import { usageIn } from '../reply/usage.ts';
import { DeltaTemplate } from '../../sse/delta-template.ts';

interface OpenBlock {
  kind: 'text' | 'refusal' | 'reasoning';
  index: number;
  /** reasoning: all of it so far. */
  text: string;
  signature?: string;
  key?: string | number;
  /** Characters of text before this block. */
  offset: number;
}

const NONE: StreamEvent[] = [];

class ChatStream implements StreamDecoder {
  #ended = false;
  /** A choice came. */
  #started = false;
  /** The start was told, which waits for content: usage may come before it. */
  #told = false;
  #id = '';
  #model = '';
  #created: number | undefined;
  #tier: string | undefined;
  #blocks = 0;
  #open: OpenBlock | undefined;
  #calls: CallTracker;
  /** Blank text after calls: kept back, as most of it is the template's noise. */
  #held = '';
  #textLength = 0;
  #refusal = '';
  #hasContent = false;
  #finish: string | undefined;
  #stopReason: JsonValue | undefined;
  #usage: Usage | undefined;
  /** What last had pages in it: the chunk, and the delta. */
  #pages: [chunk: JsonObject, delta: JsonObject] = [{}, {}];
  readonly #cited = new Set<string | undefined>();
  readonly #past = createClosedReasoning();
  readonly #shape = createTextShape();

  constructor(ids: Ids) {
    this.#calls = createCallTracker(ids, (out) => {
      this.#close(out);
      return this.#blocks++;
    });
  }

  usage(): Usage | undefined {
    return this.#usage;
  }

  stopped(): boolean {
    return this.#finish !== undefined;
  }

  push(frame: Frame): StreamEvent[] {
    if (this.#ended) return NONE;
    const out: StreamEvent[] = [];
    const text = this.#shape.read(frame);
    if (text !== undefined) this.#text('text', text, out);
    else this.#other(frame, out);
    return out;
  }

  #other(frame: Frame, out: StreamEvent[]): void {
    const stray = failureOfStray(frame);
    if (stray) return this.#fail(stray, out);
    if (frame.data === '' && frame.event !== 'error') return;
    this.#shape.forget();
    if (isDone(frame)) return this.#done(out);
    this.#chunk(frame, out);
    if (out.length === 1 && out[0]?.type === 'text_delta' && this.#open?.kind === 'text') {
      this.#shape.learn(frame);
    }
  }

  finish(clean: boolean): StreamEvent[] {
    if (this.#ended) return NONE;
    const out: StreamEvent[] = [];
    if (clean && this.#finish !== undefined) this.#end(out);
    else this.#fail(this.#started || !clean ? BROKEN_OFF : NO_ANSWER, out);
    return out;
  }

  #chunk(frame: Frame, out: StreamEvent[]): void {
    const chunk = readChunk(frame);
    if ('failure' in chunk) return this.#fail(chunk.failure, out);
    const { value } = chunk;
    this.#head(value);
    if (Array.isArray(value.choices) && value.choices.length > 0) this.#choices(value.choices, out);
  }

  /** What stands beside the choices. Some servers leave the id and the model of the first chunk empty. */
  #head(value: JsonObject): void {
    if (!this.#told) {
      if (typeof value.id === 'string') this.#id ||= value.id;
      if (typeof value.model === 'string') this.#model ||= value.model;
      if (typeof value.created === 'number' && value.created > 0) this.#created ??= value.created;
    }
    if (value.citations || value.search_results) this.#pages[0] = value;
    if (typeof value.service_tier === 'string') this.#tier = value.service_tier;
    this.#usage = usageIn(value) ?? this.#usage;
  }

  #choices(choices: JsonValue[], out: StreamEvent[]): void {
    const choice = choices.find((item) => isObject(item) && (item.index ?? 0) === 0);
    if (!isObject(choice)) return;
    const { finish_reason: finish } = choice;
    if (isFinish(finish)) {
      const failure = failureOfFinish(finish, choices);
      if (failure) return this.#fail(failure, out);
    }
    this.#started = true;
    const delta = choice.delta ?? choice.message;
    if (isObject(delta)) this.#delta(delta, out);
    if (out.length > 0) this.#start(out);
    if (isFinish(finish)) {
      this.#finish ??= finish;
      this.#stopReason ??= choice.stop_reason;
    }
  }

  #start(out: StreamEvent[]): void {
    if (this.#told) return;
    this.#told = true;
    const event: StreamEvent = { type: 'start', id: this.#id, model: this.#model };
    if (this.#created !== undefined) event.created = this.#created;
    if (this.#usage) event.usage = this.#usage;
    if (this.#tier !== undefined) event.serviceTier = this.#tier;
    out.unshift(event);
  }

  #delta(delta: JsonObject, out: StreamEvent[]): void {
    if (delta.reasoning_content || delta.reasoning || delta.reasoning_details || delta.thinking_blocks)
      this.#reasoning(delta, out);
    const { content, refusal } = delta;
    if (typeof content === 'string') {
      if (content !== '') this.#text('text', content, out);
    } else if (content) this.#said(readContent(content), out);
    if (typeof refusal === 'string' && refusal !== '') this.#text('refusal', refusal, out);
    if (delta.images || delta.audio || delta.extra_content) this.#said(readBeside(delta), out);
    if (delta.citations || delta.search_results) this.#pages[1] = delta;
    if (Array.isArray(delta.annotations)) this.#annotations(delta.annotations, out);
    if (Array.isArray(delta.tool_calls)) {
      delta.tool_calls.forEach((item, position) => {
        if (isObject(item)) this.#calls.push(item, position, out);
      });
    }
    if (isObject(delta.function_call)) {
      this.#calls.push({ index: 0, function: delta.function_call }, 0, out);
    }
  }

  #said(said: readonly ReplyContent[], out: StreamEvent[]): void {
    for (const piece of said) {
      if (piece.kind === 'native') this.#native(piece.part, out);
      else if (piece.text === '') continue;
      else if (piece.kind === 'thinking') this.#think({ text: piece.text }, out);
      else this.#text(piece.kind, piece.text, out);
    }
  }

  #native(part: NativePart, out: StreamEvent[]): void {
    this.#hasContent = true;
    out.push({ type: 'native', index: this.#blocks++, part });
  }

  #reasoning(delta: JsonObject, out: StreamEvent[]): void {
    for (const thought of readReasoning(delta)) {
      if (this.#past.isRepeated(thought)) continue;
      if (thought.redacted === undefined) this.#think(thought, out);
      else {
        this.#close(out);
        this.#past.seal(thought.redacted, thought);
        this.#hasContent = true;
        out.push({ type: 'redacted', index: this.#blocks++, data: thought.redacted });
      }
    }
  }

  #think(thought: ReasoningPiece, out: StreamEvent[]): void {
    if (this.#open?.kind !== 'reasoning' || !continues(this.#open, thought, false)) {
      if (this.#past.isLate(thought)) return;
      this.#close(out);
    }
    const block = this.#block('reasoning', out);
    const text = addedText(block, thought);
    block.key ??= thought.key;
    if (thought.signature !== undefined) {
      block.signature = thought.signature;
      this.#past.seal(thought.signature, block);
    }
    if (text === '') return;
    block.text += text;
    this.#hasContent = true;
    out.push({ type: 'reasoning_delta', index: block.index, text });
  }

  #text(kind: 'text' | 'refusal', text: string, out: StreamEvent[]): void {
    if (this.#calls.count() > 0 && this.#open?.kind !== kind && text.trim() === '') {
      this.#held += text;
      return;
    }
    const whole = this.#held + text;
    this.#held = '';
    const { index } = this.#block(kind, out);
    this.#hasContent = true;
    out.push({ type: 'text_delta', index, text: whole });
    if (kind === 'text') this.#textLength += whole.length;
    else this.#refusal += whole;
  }

  /** The open block of this kind; another kind is closed first, as text and reasoning never overlap. */
  #block(kind: OpenBlock['kind'], out: StreamEvent[]): OpenBlock {
    if (this.#open?.kind === kind) return this.#open;
    this.#close(out);
    const block: OpenBlock = { kind, index: this.#blocks++, text: '', offset: this.#textLength };
    this.#open = block;
    if (kind === 'reasoning') out.push({ type: 'reasoning_start', index: block.index });
    else if (kind === 'refusal') out.push({ type: 'text_start', index: block.index, refusal: true });
    else out.push({ type: 'text_start', index: block.index });
    return block;
  }

  #annotations(annotations: JsonValue[], out: StreamEvent[]): void {
    const open = this.#open;
    if (open?.kind !== 'text') {
      for (const part of sourcesAlone(annotations)) this.#native(part, out);
      return;
    }
    for (const value of annotations) {
      const citation = decodeAnnotation(value, open.offset);
      if (citation === undefined) continue;
      this.#cited.add(citation.url);
      out.push({ type: 'citation', index: open.index, citation });
    }
  }

  /** Servers tell them with every chunk, or with the last: they are read where the text ends. */
  #citePages(index: number, out: StreamEvent[]): void {
    for (const citation of this.#pages.flatMap(pagesBeside)) {
      if (this.#cited.has(citation.url)) continue;
      this.#cited.add(citation.url);
      out.push({ type: 'citation', index, citation });
    }
    this.#pages = [{}, {}];
  }

  #close(out: StreamEvent[]): void {
    const open = this.#open;
    if (!open) return;
    this.#open = undefined;
    if (open.kind !== 'reasoning') {
      if (open.kind === 'text') this.#citePages(open.index, out);
      out.push({ type: 'text_end', index: open.index });
      return;
    }
    this.#past.add(open);
    if (open.signature === undefined) out.push({ type: 'reasoning_end', index: open.index });
    else out.push({ type: 'reasoning_end', index: open.index, signature: open.signature });
  }

  /** `[DONE]`: the provider says that it ended, so a missing finish reason is forgiven where there was an answer. */
  #done(out: StreamEvent[]): void {
    if (this.#finish !== undefined || !this.#isSilent()) this.#end(out);
    else this.#fail(NO_ANSWER, out);
  }

  #end(out: StreamEvent[]): void {
    const silence = this.#isSilent() ? failureOfSilence(this.#finish ?? '') : undefined;
    if (silence) return this.#fail(silence, out);
    this.#start(out);
    this.#close(out);
    if (!this.#calls.finish(out))
      return this.#fail(malformed('The provider called a tool without a name.'), out);
    this.#ended = true;
    const event: StreamEvent = { type: 'end', stop: this.#stop() };
    if (this.#usage) event.usage = this.#usage;
    if (this.#past.lost()) event.lost = ['the signature of thinking, which came late'];
    if (this.#tier !== undefined) event.serviceTier = this.#tier;
    out.push(event);
  }

  #isSilent = (): boolean => !this.#hasContent && this.#calls.count() === 0;

  #stop(): StopReason {
    const hasCalls = this.#calls.count() > 0;
    const [finish, stopReason, refusal] = [this.#finish, this.#stopReason, this.#refusal];
    return decodeStop({ finish, stopReason, hasCalls, refusal });
  }

  #fail(failure: ProviderFailure, out: StreamEvent[]): void {
    this.#ended = true;
    out.push({ type: 'error', failure });
  }
}

export function createStreamDecoder({ ids }: { ids: Ids; traits: Traits }): StreamDecoder {
  return new ChatStream(ids);
}

// A frame of a chat stream as the chunk that it should hold, or as the failure that it is.

type Chunk = { value: JsonObject } | { failure: ProviderFailure };

export function readChunk(frame: Frame): Chunk {
  if (frame.event === 'error') return { failure: failureOfEvent(frame.data) };
  const { value } = frame;
  if (value === undefined) return { failure: malformed('The provider sent a frame that is not JSON.') };
  if (Array.isArray(value)) return { failure: failureOf(value) };
  if (!isObject(value)) return { failure: malformed('The provider sent a frame that is not an object.') };
  const failure = failureIn(value);
  return failure ? { failure } : { value };
}

// Which chunks of a chat stream are a piece of text and nothing else.

function createTextShape(): DeltaTemplate {
  return new DeltaTemplate(/"content": ?"/, isTextAlone);
}

/** A stricter reading than the decoder's: what may be told in another way is decoded. */
function isTextAlone(value: JsonObject, text: string): boolean {
  const { choices } = value;
  if (value.usage || value.x_groq || !Array.isArray(choices) || choices.length !== 1) return false;
  const [choice] = choices;
  if (!isObject(choice) || typeof choice.finish_reason === 'string' || !isObject(choice.delta)) return false;
  const { delta } = choice;
  for (const name in delta) {
    const member = delta[name];
    if (name === 'content' || name === 'role' || !member) continue;
    if (!Array.isArray(member) || member.length > 0) return false;
  }
  return delta.content === text;
}

// The thoughts of a stream whose blocks are over. A signature that comes after other content has no place any more: its block
// was closed on the client's side, and text is not held back for what may never come.

interface ClosedReasoning {
  /** A block that is over. */
  add(block: OpenReasoning): void;
  /** A block, over or not, whose seal is told. */
  seal(seal: string, block: OpenReasoning): void;
  /** Whether it is such a block once more: some servers list all of them at the end of an answer. */
  isRepeated(thought: ReasoningPiece): boolean;
  /** Whether a piece is only the signature of such a block: it is then lost. */
  isLate(thought: ReasoningPiece): boolean;
  lost(): boolean;
}

function createClosedReasoning(): ClosedReasoning {
  const keys = new Set<string | number>();
  const sealed = new Map<string, OpenReasoning>();
  let last: OpenReasoning | undefined;
  let lost = false;

  function belongs({ key }: ReasoningPiece): boolean {
    if (key !== undefined && keys.has(key)) return true;
    if (last === undefined || last.signature !== undefined) return false;
    return key === undefined || last.key === undefined;
  }

  return {
    add(block) {
      last = block;
      if (block.key !== undefined) keys.add(block.key);
    },
    seal: (name, block) => sealed.set(name, block),
    isRepeated: ({ redacted, signature, key, text }) =>
      key === undefined && sealed.get(redacted ?? signature ?? '')?.text.endsWith(text) === true,
    isLate(thought) {
      if (thought.text !== '' || !belongs(thought)) return false;
      lost = true;
      return true;
    },
    lost: () => lost,
  };
}
