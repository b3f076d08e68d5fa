// The content blocks of a stream that is decoded: which wire index is which canonical block, and which of them are open.
import type { StreamEvent } from '../../../canonical/reply.ts';
import { isObject, type JsonObject } from '../../../canonical/json.ts';
import { createUniqueIds } from '../../../canonical/tool-pairing.ts';
import type { Ids } from '../../../ids.ts';
import { decodeCitation, decodeCitations } from '../reply/citations.ts';
import { argumentsToObject } from '../../shared/tools/tool-names.ts';
import { callExtra, inputText } from '../reply/decode.ts';
import { text } from '../wire-types.ts';

/** Blocks whose deltas are all known. */
const KNOWN: ReadonlySet<string> = new Set(['text', 'thinking', 'redacted_thinking', 'tool_use']);

/** Losses that are reported, and the characters of each: the log redacts and cuts them further. */
const MOST_LOSSES = 20;
const LONGEST_LOSS = 2000;

interface Block {
  /** The wire's word. */
  type: string;
  /** Canonical; -1 until the block has an event. */
  index: number;
  /** The last signature of a thinking block. */
  signature?: string;
  /** tool_use, native: the input in the start frame, used if no delta brings one. */
  input: string;
  /** tool_use: its last delta, '' if there was none. native: its deltas so far. */
  json: string;
  /** native: the block itself. */
  value: JsonObject;
}

function initialInput(input: unknown): string {
  return isObject(input) && Object.keys(input).length === 0 ? '' : inputText(input);
}

/** A server tool's input comes in pieces too; one that is no object stays as the start frame had it. */
function nativeValue(block: Block): JsonObject {
  if (block.json === '') return block.value;
  const { value: input, repaired } = argumentsToObject(block.json);
  return repaired ? block.value : { ...block.value, input };
}

/** Each is defined, as `__proto__` can't be assigned; the type stays. */
export function addMembers(to: JsonObject, from: JsonObject): void {
  for (const name of Object.keys(from)) {
    if (name === 'type') continue;
    Object.defineProperty(to, name, {
      value: from[name],
      writable: true,
      enumerable: true,
      configurable: true,
    });
  }
}

/** The content blocks of one stream. Every method adds the events that are due to `events`. */
export class Blocks {
  readonly #ids: Ids;
  readonly #blocks = new Map<number, Block>();
  /** Only calls are open side by side. */
  readonly #open = new Set<Block>();
  readonly #unique = createUniqueIds();
  readonly #losses = new Set<string>();
  #next = 0;
  #last: Block | undefined;

  constructor(ids: Ids) {
    this.#ids = ids;
  }

  /** A content_block_* event. Returns what is wrong if it can't be understood. */
  push(value: JsonObject, events: StreamEvent[]): string | undefined {
    const wireIndex = typeof value.index === 'number' ? value.index : undefined;
    if (value.type === 'content_block_start') return this.#start(wireIndex, value.content_block, events);
    const block = wireIndex === undefined ? this.#last : this.#blocks.get(wireIndex);
    if (value.type === 'content_block_stop') {
      if (block !== undefined) this.#close(block, events);
      return undefined;
    }
    if (block === undefined || !this.#open.has(block)) return 'a delta for a block that is not open';
    return isObject(value.delta) ? this.#delta(block, value.delta, events) : 'a delta without content';
  }

  hasContent(): boolean {
    return this.#next > 0;
  }

  /** Deltas that no protocol knows, so that nobody was given them. */
  losses(): readonly string[] {
    return [...this.#losses];
  }

  #textDelta(block: Block, piece: string, events: StreamEvent[]): void {
    if (piece === '') return;
    if (block.index < 0) {
      block.index = this.#next++;
      events.push({ type: 'text_start', index: block.index });
    }
    events.push({ type: 'text_delta', index: block.index, text: piece });
  }

  #cite(block: Block, citation: JsonObject, events: StreamEvent[]): void {
    if (block.index < 0) {
      block.index = this.#next++;
      events.push({ type: 'text_start', index: block.index });
    }
    events.push({ type: 'citation', index: block.index, citation: decodeCitation(citation) });
  }

  #startTool(block: Block, value: JsonObject, events: StreamEvent[]): void {
    block.index = this.#next++;
    block.input = initialInput(value.input);
    const id = this.#unique(text(value.id) || `toolu_${this.#ids.random(24)}`);
    const event: StreamEvent = { type: 'tool_start', index: block.index, id, name: text(value.name) ?? '' };
    const extra = callExtra(value);
    if (extra !== undefined) event.extra = extra;
    events.push(event);
  }

  /** The start frame may hold content as well: some servers put everything there. */
  #begin(block: Block, value: JsonObject, events: StreamEvent[]): void {
    switch (block.type) {
      case 'text':
        this.#textDelta(block, text(value.text) ?? '', events);
        for (const citation of decodeCitations(value.citations)) this.#cite(block, citation.raw, events);
        return;
      case 'thinking': {
        block.index = this.#next++;
        block.signature = text(value.signature);
        events.push({ type: 'reasoning_start', index: block.index });
        const thinking = text(value.thinking) ?? '';
        if (thinking !== '') events.push({ type: 'reasoning_delta', index: block.index, text: thinking });
        return;
      }
      case 'redacted_thinking':
        events.push({ type: 'redacted', index: this.#next++, data: text(value.data) ?? '' });
        return;
      case 'tool_use':
        this.#startTool(block, value, events);
    }
  }

  #close(block: Block, events: StreamEvent[]): void {
    if (!this.#open.delete(block)) return;
    const { index } = block;
    switch (block.type) {
      case 'text':
        if (index >= 0) events.push({ type: 'text_end', index });
        return;
      case 'thinking': {
        const { signature } = block;
        events.push(
          signature === undefined
            ? { type: 'reasoning_end', index }
            : { type: 'reasoning_end', index, signature },
        );
        return;
      }
      case 'redacted_thinking':
        return;
      case 'tool_use':
        if (block.json === '') events.push({ type: 'tool_delta', index, text: block.input || '{}' });
        events.push({ type: 'tool_end', index });
        return;
      default:
        events.push({
          type: 'native',
          index: this.#next++,
          part: { type: 'native', protocol: 'messages', kind: block.type, value: nativeValue(block) },
        });
    }
  }

  closeAll(events: StreamEvent[]): void {
    for (const block of this.#open) this.#close(block, events);
  }

  #start(wireIndex: number | undefined, value: unknown, events: StreamEvent[]): string | undefined {
    if (!isObject(value)) return 'a block without content';
    const at = wireIndex ?? this.#blocks.size;
    const type = text(value.type) ?? '';
    if (type === 'tool_use' && !text(value.name)) return 'a call of a tool without a name';
    const before = this.#blocks.get(at);
    // llama.cpp once sent the start of an open block twice.
    if (before !== undefined && this.#open.has(before) && before.type === type) return undefined;
    // A stop that never came: calls may stay open side by side, anything else ends when the next block begins.
    if (type !== 'tool_use' || this.#last?.type !== 'tool_use') this.closeAll(events);
    else if (before !== undefined) this.#close(before, events);
    this.#last = { type, index: -1, input: '', json: '', value };
    this.#blocks.set(at, this.#last);
    this.#open.add(this.#last);
    this.#begin(this.#last, value, events);
    return undefined;
  }

  #delta(block: Block, value: JsonObject, events: StreamEvent[]): string | undefined {
    switch (value.type) {
      case 'text_delta':
        if (block.type !== 'text') break;
        this.#textDelta(block, text(value.text) ?? '', events);
        return undefined;
      case 'thinking_delta': {
        if (block.type !== 'thinking') break;
        const piece = text(value.thinking) ?? '';
        if (piece !== '') events.push({ type: 'reasoning_delta', index: block.index, text: piece });
        return undefined;
      }
      case 'input_json_delta': {
        if (block.type === 'text' || block.type === 'thinking') break;
        const piece = inputText(value.partial_json);
        if (piece === '') return undefined;
        if (block.type !== 'tool_use') block.json += piece;
        else {
          block.json = piece;
          events.push({ type: 'tool_delta', index: block.index, text: piece });
        }
        return undefined;
      }
      case 'signature_delta':
        block.signature = text(value.signature) ?? block.signature;
        return undefined;
      case 'citations_delta':
        if (block.type === 'text' && isObject(value.citation)) this.#cite(block, value.citation, events);
        return undefined;
      default:
        if (KNOWN.has(block.type)) this.#lose(`a delta of type ${text(value.type) ?? ''}`);
        // A delta of a block that only this protocol knows (compaction): its members belong to the block.
        else addMembers(block.value, value);
        return undefined;
    }
    return `a ${value.type} in a block of type ${block.type}`;
  }

  #lose(what: string): void {
    if (this.#losses.size < MOST_LOSSES) this.#losses.add(what.slice(0, LONGEST_LOSS));
  }
}
