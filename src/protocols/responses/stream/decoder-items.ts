// The items of a provider's stream as canonical blocks. Each piece is known by the item's index and the part's; what a `.done`
// event says in full is compared with the pieces that came, and only the rest of it is given out.
import type { StreamEvent } from '../../../canonical/reply.ts';
import { isObject, type JsonObject, type JsonValue, stringOf } from '../../../canonical/json.ts';
import { createUniqueIds } from '../../../canonical/tool-pairing.ts';
import type { ProviderFailure } from '../../../errors.ts';
import { tokensOf } from '../../../canonical/logprobs.ts';
import { argumentsText } from '../../json/raw-json.ts';
import { decodeAnnotation } from '../reply/citations.ts';
import { canonicalName, listOf, signatureOf, SUMMARY_GAP } from '../reply/decode.ts';
import type { Content } from '../reply/ending.ts';
import { NAMELESS_CALL } from '../../../failures.ts';

interface Item {
  type: string;
  /** Of the canonical block that is open; calls and reasoning have one, a message one for each part. */
  block: number | undefined;
  /** The part that the open block is of. */
  part: number;
  /** Of each part: the text that was given out, and how many of its annotations. */
  parts: Map<number, Part>;
  /** The raw thoughts stream, so that their summary says nothing new. */
  raw: boolean;
  done: boolean;
}

interface Part {
  text: string;
  cited: number;
}

type Delta = Extract<StreamEvent, { type: 'text_delta' | 'reasoning_delta' | 'tool_delta' }>;

interface Piece {
  type: Delta['type'];
  index: number;
  part: Part;
  refusal: boolean;
}

type Kind = 'text' | 'refusal' | 'reasoning' | 'call';

/** Reads the events of the items; a class, since a decoder is made for each stream. */
export class ItemDecoder {
  readonly #items = new Map<number, Item>();
  /** Which item an id is of, for servers that count otherwise. */
  readonly #indexes = new Map<string, number>();
  readonly #unique = createUniqueIds();
  #blocks = 0;
  #hasCalls = false;
  #refusal = '';
  /** The piece that was given out last. */
  #last: Piece | undefined;
  /** The item whose text or reasoning is open: these never overlap. */
  #open: Item | undefined;

  get content(): Content {
    return { hasCalls: this.#hasCalls, refusal: this.#refusal };
  }

  /** An event of an item; a failure if it can't be understood. */
  push(type: string, value: JsonObject, out: StreamEvent[]): ProviderFailure | undefined {
    const { item: whole } = value;
    switch (type) {
      case 'response.output_item.added':
        if (!isObject(whole)) return undefined;
        return this.#added(this.#itemOf(value, stringOf(whole.type)), whole, out);
      case 'response.output_item.done':
        return isObject(whole)
          ? this.#wholeItem(this.#itemOf(value, stringOf(whole.type)), whole, out)
          : undefined;
      default:
        this.#piece(type, value, out);
        return undefined;
    }
  }

  /** Another piece of what the last event was a piece of; undefined: there was none yet. */
  again(text: string): StreamEvent | undefined {
    return this.#last && this.#add(this.#last, text);
  }

  /** The end: what is open closes, and items of `output` that had no events are given out. */
  finish(output: readonly JsonValue[], out: StreamEvent[]): ProviderFailure | undefined {
    for (const [index, value] of output.entries()) {
      if (!isObject(value)) continue;
      const known = this.#indexes.get(stringOf(value.id)) ?? index;
      const item = this.#itemOf({ item: value, output_index: known }, stringOf(value.type));
      const failure = this.#wholeItem(item, value, out);
      if (failure !== undefined) return failure;
    }
    this.#closeOpen(out);
    for (const item of this.#items.values()) this.#endCall(item, out);
    return undefined;
  }

  #itemOf(value: JsonObject, type: string): Item {
    const id = stringOf(value.item_id) || (isObject(value.item) ? stringOf(value.item.id) : '');
    const stated = typeof value.output_index === 'number' ? value.output_index : undefined;
    const index = stated ?? (id === '' ? undefined : this.#indexes.get(id)) ?? this.#items.size;
    if (id !== '') this.#indexes.set(id, index);
    let item = this.#items.get(index);
    if (item === undefined) {
      item = { type, block: undefined, part: 0, parts: new Map(), raw: false, done: false };
      this.#items.set(index, item);
    }
    return item;
  }

  #partOf(item: Item, index: number): Part {
    let part = item.parts.get(index);
    if (part === undefined) item.parts.set(index, (part = { text: '', cited: 0 }));
    return part;
  }

  #add({ type, index, part, refusal: isRefusal }: Piece, text: string): Delta {
    part.text += text;
    if (isRefusal) this.#refusal += text;
    return { type, index, text };
  }

  #closeOpen(out: StreamEvent[], signature?: string): void {
    const item = this.#open;
    if (item?.block === undefined) return;
    this.#open = undefined;
    const index = item.block;
    item.block = undefined;
    if (item.type !== 'reasoning') out.push({ type: 'text_end', index });
    else out.push({ type: 'reasoning_end', index, ...(signature !== undefined && { signature }) });
  }

  #begin(item: Item, kind: Exclude<Kind, 'call'>, part: number, out: StreamEvent[]): number {
    const same = kind === 'reasoning' || item.part === part;
    if (this.#open === item && item.block !== undefined && same) return item.block;
    this.#closeOpen(out);
    const index = this.#blocks++;
    item.block = index;
    item.part = part;
    this.#open = item;
    if (kind === 'reasoning') out.push({ type: 'reasoning_start', index });
    else if (kind === 'refusal') out.push({ type: 'text_start', index, refusal: true });
    else out.push({ type: 'text_start', index });
    return index;
  }

  #say(
    item: Item,
    kind: 'text' | 'refusal',
    at: number,
    piece: string,
    out: StreamEvent[],
    logprobs?: JsonValue,
  ): void {
    if (piece === '' || item.done) return;
    const index = this.#begin(item, kind, at, out);
    const tokens = tokensOf(logprobs);
    if (tokens.length > 0) out.push({ type: 'logprobs', index, tokens });
    this.#last = { type: 'text_delta', index, part: this.#partOf(item, at), refusal: kind === 'refusal' };
    out.push(this.#add(this.#last, piece));
  }

  /** `at`: of the summary's part, or of the raw content's. */
  #think(item: Item, raw: boolean, at: number, piece: string, out: StreamEvent[]): void {
    if (piece === '' || item.done || (item.raw && !raw)) return;
    if (raw && !item.raw && item.parts.size > 0) return;
    item.raw = raw;
    item.type = 'reasoning';
    const fresh = !item.parts.has(at) && item.parts.size > 0;
    const index = this.#begin(item, 'reasoning', at, out);
    const gap = fresh && !raw ? SUMMARY_GAP : '';
    this.#last = { type: 'reasoning_delta', index, part: this.#partOf(item, at), refusal: false };
    const event = this.#add(this.#last, piece);
    out.push(gap === '' ? event : { ...event, text: gap + piece });
  }

  #beginCall(item: Item, call: JsonObject, out: StreamEvent[]): ProviderFailure | undefined {
    if (item.block !== undefined || item.done) return undefined;
    if (stringOf(call.name) === '') return NAMELESS_CALL;
    this.#closeOpen(out);
    this.#hasCalls = true;
    item.block = this.#blocks++;
    item.type = stringOf(call.type);
    const id = stringOf(call.call_id) || stringOf(call.id);
    const event: StreamEvent = {
      type: 'tool_start',
      index: item.block,
      id: id === '' ? id : this.#unique(id),
      name: canonicalName(call),
    };
    if (call.type === 'custom_tool_call') event.custom = true;
    out.push(event);
    return undefined;
  }

  #callDelta(item: Item, piece: string, out: StreamEvent[]): void {
    if (item.block === undefined || item.done || piece === '') return;
    this.#last = { type: 'tool_delta', index: item.block, part: this.#partOf(item, 0), refusal: false };
    out.push(this.#add(this.#last, piece));
  }

  /** What of `whole` did not come in pieces yet; nothing where the pieces said something else. */
  #rest(item: Item, at: number, whole: string): string {
    const { text } = this.#partOf(item, at);
    return whole.startsWith(text) ? whole.slice(text.length) : '';
  }

  #cite(item: Item, at: number, annotation: JsonValue | undefined, out: StreamEvent[]): void {
    const citation = decodeAnnotation(annotation);
    if (citation === undefined || item.done) return;
    const part = this.#partOf(item, at);
    // Its block is closed: another one would have no text.
    if (part.text !== '' && (this.#open !== item || item.part !== at)) return;
    part.cited++;
    out.push({ type: 'citation', index: this.#begin(item, 'text', at, out), citation });
  }

  #wholePart(item: Item, at: number, part: JsonValue | undefined, out: StreamEvent[]): void {
    if (!isObject(part)) return;
    if (part.type === 'refusal')
      return this.#say(item, 'refusal', at, this.#rest(item, at, stringOf(part.refusal)), out);
    if (part.type !== 'output_text' && part.type !== 'text') return;
    const whole = stringOf(part.text);
    const rest = this.#rest(item, at, whole);
    // Of a text that came in pieces, they came with the pieces.
    this.#say(item, 'text', at, rest, out, rest === whole ? part.logprobs : undefined);
    for (const annotation of listOf(part.annotations).slice(this.#partOf(item, at).cited)) {
      this.#cite(item, at, annotation, out);
    }
  }

  #wholeItem(item: Item, value: JsonObject, out: StreamEvent[]): ProviderFailure | undefined {
    if (item.done) return undefined;
    switch (value.type) {
      case 'message':
        for (const [at, part] of listOf(value.content).entries()) this.#wholePart(item, at, part, out);
        if (this.#open === item) this.#closeOpen(out);
        break;
      case 'reasoning':
        this.#wholeReasoning(item, value, out);
        break;
      case 'function_call':
      case 'custom_tool_call': {
        const failure = this.#beginCall(item, value, out);
        if (failure !== undefined) return failure;
        const custom = value.type === 'custom_tool_call';
        const whole = custom ? stringOf(value.input) : argumentsText(value.arguments) || '{}';
        this.#callDelta(item, this.#rest(item, 0, whole), out);
        this.#endCall(item, out);
        break;
      }
      default:
        this.#closeOpen(out);
        out.push({
          type: 'native',
          index: this.#blocks++,
          part: { type: 'native', protocol: 'responses', kind: stringOf(value.type), value },
        });
    }
    item.done = true;
    return undefined;
  }

  #wholeReasoning(item: Item, value: JsonObject, out: StreamEvent[]): void {
    const raw = listOf(value.content).some((part) => isObject(part) && stringOf(part.text) !== '');
    item.type = 'reasoning';
    if (item.parts.size === 0 || item.raw === raw) {
      for (const [at, part] of listOf(raw ? value.content : value.summary).entries()) {
        const text = isObject(part) ? stringOf(part.text) : '';
        const known = item.parts.has(at);
        const piece = known ? this.#rest(item, at, text) : text;
        this.#think(item, raw, at, piece, out);
      }
    }
    const signature = signatureOf(value);
    if (this.#open === item) this.#closeOpen(out, signature);
    else if (signature !== undefined && item.parts.size === 0) {
      this.#closeOpen(out);
      out.push(
        { type: 'reasoning_start', index: this.#blocks },
        { type: 'reasoning_end', index: this.#blocks++, signature },
      );
    }
  }

  #endCall(item: Item, out: StreamEvent[]): void {
    if (item.block === undefined) return;
    if (this.#partOf(item, 0).text === '' && item.type === 'function_call') this.#callDelta(item, '{}', out);
    out.push({ type: 'tool_end', index: item.block });
    item.block = undefined;
    item.done = true;
  }

  #added(item: Item, value: JsonObject, out: StreamEvent[]): ProviderFailure | undefined {
    item.type = stringOf(value.type);
    const isCall = item.type === 'function_call' || item.type === 'custom_tool_call';
    // A name that is missing may come with `output_item.done`.
    return isCall && stringOf(value.name) !== '' ? this.#beginCall(item, value, out) : undefined;
  }

  #piece(type: string, value: JsonObject, out: StreamEvent[]): void {
    const at = numberOf(value.content_index ?? value.summary_index);
    const delta = stringOf(value.delta);
    switch (type) {
      case 'response.output_text.delta':
        return this.#say(this.#itemOf(value, 'message'), 'text', at, delta, out, value.logprobs);
      case 'response.refusal.delta':
        return this.#say(this.#itemOf(value, 'message'), 'refusal', at, delta, out);
      case 'response.reasoning_summary_text.delta':
        return this.#think(this.#itemOf(value, 'reasoning'), false, at, delta, out);
      case 'response.reasoning_text.delta':
        return this.#think(this.#itemOf(value, 'reasoning'), true, at, delta, out);
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        return this.#callDelta(this.#itemOf(value, 'function_call'), delta, out);
      case 'response.output_text.done': {
        const item = this.#itemOf(value, 'message');
        const whole = stringOf(value.text);
        const rest = this.#rest(item, at, whole);
        return this.#say(item, 'text', at, rest, out, rest === whole ? value.logprobs : undefined);
      }
      case 'response.refusal.done': {
        const item = this.#itemOf(value, 'message');
        return this.#say(item, 'refusal', at, this.#rest(item, at, stringOf(value.refusal)), out);
      }
      case 'response.function_call_arguments.done': {
        const item = this.#itemOf(value, 'function_call');
        return this.#callDelta(item, this.#rest(item, 0, argumentsText(value.arguments)), out);
      }
      case 'response.custom_tool_call_input.done': {
        const item = this.#itemOf(value, 'custom_tool_call');
        return this.#callDelta(item, this.#rest(item, 0, stringOf(value.input)), out);
      }
      case 'response.output_text.annotation.added':
        return this.#cite(this.#itemOf(value, 'message'), at, value.annotation, out);
      case 'response.content_part.done':
        return this.#wholePart(this.#itemOf(value, 'message'), at, value.part, out);
    }
  }
}

function numberOf(value: JsonValue | undefined): number {
  return typeof value === 'number' ? value : 0;
}
