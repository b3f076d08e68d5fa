// The blocks of a chat stream that is decoded. The wire has none: a block is open as long as deltas of its kind follow one another.
import { append, isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import type { StreamEvent } from '../../../canonical/reply.ts';
import type { NativePart } from '../../../canonical/request.ts';
import type { Ids } from '../../../ids.ts';
import { decodeAnnotation, pagesBeside } from '../reply/citations.ts';
import { readBeside, readContent, sourcesAlone, type ReplyContent } from '../reply/decode.ts';
import {
  addedText,
  continues,
  isRaw,
  readReasoning,
  type OpenReasoning,
  type ReasoningPiece,
} from '../reply/reasoning.ts';
import { CallTracker } from './tool-calls.ts';

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

/** Every method adds the events that are due to `out`. */
export class Blocks {
  #count = 0;
  #open: OpenBlock | undefined;
  /** Blank text after calls: held back, as most of it is the template's noise. */
  #blank = '';
  #textLength = 0;
  #refusal = '';
  #hasContent = false;
  /** Annotations for which no text is open: OpenRouter names the pages of a search before the text that cites them. */
  #waiting: JsonValue[] = [];
  /** The last chunk and the last delta that list pages; undefined: none did. */
  #pages: [chunk: JsonObject, delta: JsonObject] | undefined;
  readonly #cited = new Set<string | undefined>();
  readonly #closed = new ClosedReasoning();
  readonly #ids: Ids;
  #callTracker: CallTracker | undefined;

  constructor(ids: Ids) {
    this.#ids = ids;
  }

  /** Made for the first call: most answers have none. */
  get #calls(): CallTracker {
    return (this.#callTracker ??= new CallTracker(this.#ids, (out) => {
      this.#close(out);
      return this.#count++;
    }));
  }

  hasContent(): boolean {
    return this.#hasContent || this.hasCalls() || this.#waiting.length > 0;
  }

  hasCalls(): boolean {
    return this.#callTracker !== undefined && this.#callTracker.count() > 0;
  }

  /** Whether text is open, so that more of it needs no start. */
  isText(): boolean {
    return this.#open?.kind === 'text';
  }

  refusal(): string {
    return this.#refusal;
  }

  /** Whether a signature came after its block was closed: the client does not get it. */
  hasLateSignature(): boolean {
    return this.#closed.hasLateSignature;
  }

  /** Pages that a chunk lists beside its choices. */
  readPages(chunk: JsonObject): void {
    if (chunk.citations || chunk.search_results) (this.#pages ??= [{}, {}])[0] = chunk;
  }

  push(delta: JsonObject, out: StreamEvent[]): void {
    if (delta.reasoning_content || delta.reasoning_details) this.#reasoning(delta, out);
    const { content, refusal } = delta;
    if (typeof content === 'string') {
      if (content !== '') this.text(content, out);
    } else if (content) this.#content(readContent(content), out);
    if (typeof refusal === 'string' && refusal !== '') this.#piece('refusal', refusal, out);
    if (delta.images || delta.audio || delta.extra_content) this.#content(readBeside(delta), out);
    if (delta.citations || delta.search_results) (this.#pages ??= [{}, {}])[1] = delta;
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

  text(text: string, out: StreamEvent[]): void {
    this.#piece('text', text, out);
  }

  /** Closes everything that is open; false: a call had no name. */
  finish(out: StreamEvent[]): boolean {
    this.#close(out);
    for (const part of sourcesAlone(this.#waiting.splice(0))) this.#native(part, out);
    return this.#callTracker?.finish(out) ?? true;
  }

  #content(pieces: readonly ReplyContent[], out: StreamEvent[]): void {
    for (const piece of pieces) {
      if (piece.kind === 'native') this.#native(piece.part, out);
      else if (piece.text === '') continue;
      else if (piece.kind === 'thinking') this.#think({ text: piece.text }, true, out);
      else this.#piece(piece.kind, piece.text, out);
    }
  }

  #native(part: NativePart, out: StreamEvent[]): void {
    this.#hasContent = true;
    out.push({ type: 'native', index: this.#count++, part });
  }

  #reasoning(delta: JsonObject, out: StreamEvent[]): void {
    const isOwn = isRaw(delta);
    for (const piece of readReasoning(delta)) {
      if (this.#closed.isRepeated(piece)) continue;
      if (piece.redacted === undefined) this.#think(piece, isOwn, out);
      else {
        this.#close(out);
        this.#closed.seal(piece.redacted, piece);
        this.#hasContent = true;
        out.push({ type: 'redacted', index: this.#count++, data: piece.redacted });
      }
    }
  }

  #think(piece: ReasoningPiece, isOwn: boolean, out: StreamEvent[]): void {
    if (this.#open?.kind !== 'reasoning' || !continues(this.#open, piece, false)) {
      if (this.#closed.isLate(piece)) return;
      this.#close(out);
    }
    const block = this.#block('reasoning', out, isOwn);
    const text = addedText(block, piece);
    block.key ??= piece.key;
    if (piece.signature !== undefined) {
      block.signature = piece.signature;
      this.#closed.seal(piece.signature, block);
    }
    if (text === '') return;
    block.text += text;
    this.#hasContent = true;
    out.push({ type: 'reasoning_delta', index: block.index, text });
  }

  #piece(kind: 'text' | 'refusal', text: string, out: StreamEvent[]): void {
    if (this.hasCalls() && this.#open?.kind !== kind && text.trim() === '') {
      this.#blank += text;
      return;
    }
    const whole = this.#blank + text;
    this.#blank = '';
    const { index } = this.#block(kind, out);
    this.#hasContent = true;
    out.push({ type: 'text_delta', index, text: whole });
    if (kind === 'text') this.#textLength += whole.length;
    else this.#refusal += whole;
  }

  /** The open block of this kind; another kind is closed first, as text and reasoning never overlap. */
  #block(kind: OpenBlock['kind'], out: StreamEvent[], isOwn = false): OpenBlock {
    if (this.#open?.kind === kind) return this.#open;
    this.#close(out);
    const block: OpenBlock = { kind, index: this.#count++, text: '', offset: this.#textLength };
    this.#open = block;
    if (kind === 'reasoning') {
      out.push({ type: 'reasoning_start', index: block.index, ...(isOwn && { raw: true }) });
    } else if (kind === 'refusal') out.push({ type: 'text_start', index: block.index, refusal: true });
    else out.push({ type: 'text_start', index: block.index });
    return block;
  }

  #annotations(annotations: JsonValue[], out: StreamEvent[]): void {
    const open = this.#open;
    if (open?.kind === 'text') this.#cite(open, annotations, out);
    else append(this.#waiting, annotations);
  }

  #cite(text: OpenBlock, annotations: readonly JsonValue[], out: StreamEvent[]): void {
    for (const value of annotations) {
      const citation = decodeAnnotation(value, text.offset);
      if (citation === undefined) continue;
      this.#cited.add(citation.url);
      out.push({ type: 'citation', index: text.index, citation });
    }
  }

  /** Servers list pages in every chunk, or in the last: they are read when the text ends. */
  #citePages(index: number, out: StreamEvent[]): void {
    for (const citation of (this.#pages ?? []).flatMap(pagesBeside)) {
      if (this.#cited.has(citation.url)) continue;
      this.#cited.add(citation.url);
      out.push({ type: 'citation', index, citation });
    }
    this.#pages = undefined;
  }

  #close(out: StreamEvent[]): void {
    const open = this.#open;
    if (!open) return;
    this.#open = undefined;
    if (open.kind !== 'reasoning') {
      if (open.kind === 'text') {
        if (this.#waiting.length > 0) this.#cite(open, this.#waiting.splice(0), out);
        if (this.#pages !== undefined) this.#citePages(open.index, out);
      }
      out.push({ type: 'text_end', index: open.index });
      return;
    }
    this.#closed.add(open);
    if (open.signature === undefined) out.push({ type: 'reasoning_end', index: open.index });
    else out.push({ type: 'reasoning_end', index: open.index, signature: open.signature });
  }
}

/**
 * Blocks of reasoning that are over. A signature that comes after other content has no place any more: its block was closed on the
 * client's side, and text is not held back for what may never come.
 */
class ClosedReasoning {
  hasLateSignature = false;
  readonly #keys = new Set<string | number>();
  /** By signature, or by redacted data. */
  readonly #sealed = new Map<string, OpenReasoning>();
  #last: OpenReasoning | undefined;

  add(block: OpenReasoning): void {
    this.#last = block;
    if (block.key !== undefined) this.#keys.add(block.key);
  }

  /** `block`, closed or still open, has this signature or redacted data. */
  seal(seal: string, block: OpenReasoning): void {
    this.#sealed.set(seal, block);
  }

  /** Whether a piece is a sealed block once more: some servers list all of them at the end of an answer. */
  isRepeated({ redacted, signature, key, text }: ReasoningPiece): boolean {
    return key === undefined && this.#sealed.get(redacted ?? signature ?? '')?.text.endsWith(text) === true;
  }

  /** Whether a piece is only the signature of a closed block, which nobody gets. */
  isLate(piece: ReasoningPiece): boolean {
    if (piece.text !== '' || !this.#belongs(piece)) return false;
    this.hasLateSignature = true;
    return true;
  }

  #belongs({ key }: ReasoningPiece): boolean {
    const last = this.#last;
    if (key !== undefined && this.#keys.has(key)) return true;
    if (last === undefined || last.signature !== undefined) return false;
    return key === undefined || last.key === undefined;
  }
}
