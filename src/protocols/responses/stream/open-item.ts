// The items of a stream while they are written: each knows its frames, and what it is so far.
import { append, type JsonObject } from '../../../canonical/json.ts';
import type { Citation } from '../../../canonical/request.ts';
import { encodeCitation } from '../reply/citations.ts';
import {
  callItem,
  messageItem,
  rawPart,
  refusalPart,
  summaryPart,
  textPart,
  type CallIds,
  type ItemStatus,
} from '../reply/items.ts';
import type { ClientTool } from '../request/tools.ts';

/** Frames with rising numbers. */
export class Numbered {
  #sequence = 0;

  frame(type: string, members: JsonObject): string {
    return this.raw(type, JSON.stringify(members).slice(1));
  }

  /** `members` as JSON, without the first brace. */
  raw(type: string, members: string): string {
    return `event: ${type}\ndata: {"type":"${type}","sequence_number":${this.#sequence++},${members}\n\n`;
  }

  next(): number {
    return this.#sequence++;
  }
}

/** Deltas of one part differ in their number and their text alone. */
class Deltas {
  readonly #frames: Numbered;
  readonly #before: string;
  readonly #middle: string;
  readonly #after: string;
  /** All of it so far. */
  text = '';

  constructor(frames: Numbered, type: string, place: JsonObject, more = '') {
    this.#frames = frames;
    this.#before = `event: ${type}\ndata: {"type":"${type}","sequence_number":`;
    this.#middle = `,${JSON.stringify(place).slice(1, -1)},"delta":`;
    this.#after = `${more}}\n\n`;
  }

  /** `after`: what follows the text, if it is not what always does. */
  write(piece: string, after = this.#after): string {
    this.text += piece;
    return this.#before + this.#frames.next() + this.#middle + JSON.stringify(piece) + after;
  }
}

export interface OpenItem {
  /** The frame that opens it. */
  begin(): string;
  /** The frames that end it. */
  close(status: 'completed' | 'incomplete'): string;
  /** As it stands. */
  value(status: ItemStatus): JsonObject;
}

abstract class Item implements OpenItem {
  protected readonly frames: Numbered;
  readonly id: string;
  protected readonly output_index: number;

  constructor(frames: Numbered, id: string, index: number) {
    this.frames = frames;
    this.id = id;
    this.output_index = index;
  }

  abstract value(status: ItemStatus): JsonObject;
  protected abstract closeParts(): string;

  protected get place(): JsonObject {
    return { item_id: this.id, output_index: this.output_index };
  }

  begin(): string {
    const { output_index } = this;
    return this.frames.frame('response.output_item.added', { output_index, item: this.value('in_progress') });
  }

  close(status: 'completed' | 'incomplete'): string {
    const { output_index } = this;
    const parts = this.closeParts();
    return parts + this.frames.frame('response.output_item.done', { output_index, item: this.value(status) });
  }
}

type PartKind = 'text' | 'refusal';

interface MessagePart {
  kind: PartKind;
  deltas: Deltas;
  annotations: JsonObject[];
  /** Log probabilities. */
  tokens: JsonObject[];
}

const DELTA = {
  text: ['response.output_text.delta', ',"logprobs":[]'],
  refusal: ['response.refusal.delta', ''],
} as const satisfies Record<PartKind, readonly [string, string]>;

export class MessageItem extends Item {
  readonly #parts: MessagePart[] = [];
  #open: MessagePart | undefined;

  /** Text of this kind follows: it extends the open part of the same kind. */
  part(kind: PartKind): string {
    if (this.#open?.kind === kind) return '';
    const frames = this.closeParts();
    const place = { ...this.place, content_index: this.#parts.length };
    const [type, more] = DELTA[kind];
    this.#open = { kind, deltas: new Deltas(this.frames, type, place, more), annotations: [], tokens: [] };
    this.#parts.push(this.#open);
    return (
      frames + this.frames.frame('response.content_part.added', { ...place, part: partValue(this.#open) })
    );
  }

  /** `tokens`: with their log probabilities, of this piece. */
  delta(piece: string, tokens?: readonly JsonObject[]): string {
    const open = this.#open;
    if (open === undefined) return '';
    if (tokens === undefined || open.kind === 'refusal') return open.deltas.write(piece);
    append(open.tokens, tokens);
    return open.deltas.write(piece, `,"logprobs":${JSON.stringify(tokens)}}\n\n`);
  }

  /** `length`: of the canonical text that ends here, and that the citations are of. */
  cite(citations: readonly Citation[], length: number): string {
    const open = this.#open;
    if (open?.kind !== 'text') return '';
    const offset = open.deltas.text.length - length;
    let frames = '';
    for (const citation of citations) {
      const annotation = encodeCitation(citation, offset, length);
      if (annotation === undefined) continue;
      frames += this.frames.frame('response.output_text.annotation.added', {
        ...this.place,
        content_index: this.#parts.length - 1,
        annotation_index: open.annotations.length,
        annotation,
      });
      open.annotations.push(annotation);
    }
    return frames;
  }

  protected closeParts(): string {
    const open = this.#open;
    if (open === undefined) return '';
    this.#open = undefined;
    const place = { ...this.place, content_index: this.#parts.length - 1 };
    const { text } = open.deltas;
    const done =
      open.kind === 'text'
        ? this.frames.frame('response.output_text.done', { ...place, text, logprobs: open.tokens })
        : this.frames.frame('response.refusal.done', { ...place, refusal: text });
    return done + this.frames.frame('response.content_part.done', { ...place, part: partValue(open) });
  }

  value(status: ItemStatus): JsonObject {
    return messageItem(this.id, this.#parts.map(partValue), status);
  }
}

function partValue({ kind, deltas, annotations, tokens }: MessagePart): JsonObject {
  return kind === 'text' ? textPart(deltas.text, [...annotations], [...tokens]) : refusalPart(deltas.text);
}

/** What a client sees of reasoning: raw text goes out as a summary too, the one thing that many clients show. */
type ShownReasoning = 'hidden' | 'summary' | 'raw';

export class ReasoningItem extends Item {
  readonly #shown: ShownReasoning;
  #summary: Deltas | undefined;
  #content: Deltas | undefined;
  /** Of a summary that the client does not see, all the same. */
  text = '';
  /** Set where the block ends. */
  encrypted: string | undefined;

  constructor(frames: Numbered, id: string, index: number, shown: ShownReasoning) {
    super(frames, id, index);
    this.#shown = shown;
  }

  delta(piece: string): string {
    this.text += piece;
    if (this.#shown === 'hidden') return '';
    const opening = this.#summary === undefined ? this.#openParts() : '';
    return opening + (this.#summary?.write(piece) ?? '') + (this.#content?.write(piece) ?? '');
  }

  get #summaryPlace(): JsonObject {
    return { ...this.place, summary_index: 0 };
  }

  get #contentPlace(): JsonObject {
    return { ...this.place, content_index: 0 };
  }

  #openParts(): string {
    const place = this.#summaryPlace;
    this.#summary = new Deltas(this.frames, 'response.reasoning_summary_text.delta', place);
    const added = { ...place, part: summaryPart('') };
    const opening = this.frames.frame('response.reasoning_summary_part.added', added);
    if (this.#shown !== 'raw') return opening;
    const at = this.#contentPlace;
    this.#content = new Deltas(this.frames, 'response.reasoning_text.delta', at);
    return opening + this.frames.frame('response.content_part.added', { ...at, part: rawPart('') });
  }

  protected closeParts(): string {
    if (this.#summary === undefined) return '';
    const place = this.#summaryPlace;
    const { text } = this.#summary;
    const closing =
      this.frames.frame('response.reasoning_summary_text.done', { ...place, text }) +
      this.frames.frame('response.reasoning_summary_part.done', { ...place, part: summaryPart(text) });
    if (this.#content === undefined) return closing;
    const at = this.#contentPlace;
    return (
      closing +
      this.frames.frame('response.reasoning_text.done', { ...at, text }) +
      this.frames.frame('response.content_part.done', { ...at, part: rawPart(text) })
    );
  }

  value(status: ItemStatus): JsonObject {
    const summary = this.#summary === undefined ? [] : [summaryPart(this.#summary.text)];
    const item: JsonObject = { id: this.id, type: 'reasoning', summary };
    if (this.#content !== undefined) item.content = [rawPart(this.#content.text)];
    if (this.encrypted !== undefined) item.encrypted_content = this.encrypted;
    if (status === 'incomplete') item.status = status;
    return item;
  }
}

/** A call whose arguments stream. */
export class CallItem extends Item {
  readonly #tool: ClientTool;
  readonly #ids: CallIds;
  readonly #deltas: Deltas;

  constructor(frames: Numbered, tool: ClientTool, ids: CallIds, index: number) {
    super(frames, ids.item, index);
    this.#tool = tool;
    this.#ids = ids;
    const type =
      tool.kind === 'custom'
        ? 'response.custom_tool_call_input.delta'
        : 'response.function_call_arguments.delta';
    this.#deltas = new Deltas(frames, type, this.place);
  }

  delta(piece: string): string {
    return this.#deltas.write(piece);
  }

  protected closeParts(): string {
    const { kind, name } = this.#tool;
    if (kind === 'custom') {
      return this.frames.frame('response.custom_tool_call_input.done', {
        ...this.place,
        input: this.#deltas.text,
      });
    }
    // Clients parse the arguments, also of a call without any.
    const filled = this.#deltas.text === '' ? this.#deltas.write('{}') : '';
    const done = { ...this.place, name, arguments: this.#deltas.text };
    return filled + this.frames.frame('response.function_call_arguments.done', done);
  }

  value(status: ItemStatus): JsonObject {
    return callItem(this.#tool, this.#ids, this.#deltas.text, status);
  }
}

/** An item that has no pieces. */
export class WholeItem extends Item {
  readonly #make: (status: ItemStatus) => JsonObject;

  constructor(frames: Numbered, index: number, make: (status: ItemStatus) => JsonObject) {
    super(frames, '', index);
    this.#make = make;
  }

  protected closeParts(): string {
    return '';
  }

  value(status: ItemStatus): JsonObject {
    return this.#make(status);
  }
}
