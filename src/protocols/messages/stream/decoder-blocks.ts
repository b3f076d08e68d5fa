// The content blocks of a stream that is read: which wire index is which canonical block, and what is still open.
import type { StreamEvent } from '../../../canonical/events.ts';
import { isObject, type JsonObject } from '../../../canonical/json.ts';
import { createUniqueIds } from '../../../canonical/tool-pairing.ts';
import type { Ids } from '../../../ids.ts';
import { decodeCitation, decodeCitations } from '../reply/citations.ts';
import { argumentsToObject } from '../../shared/tool-names.ts';
import { callExtra, inputText } from '../reply/decode.ts';
import { text } from '../wire-types.ts';

/** Blocks whose deltas are all known. */
const KNOWN: ReadonlySet<string> = new Set(['text', 'thinking', 'redacted_thinking', 'tool_use']);

/** Losses that are told, and the characters of each that are kept: whoever takes secrets out of them cuts them further. */
const MOST_LOSSES = 20;
const LONGEST_LOSS = 2000;

interface Block {
  /** The wire's word. */
  type: string;
  /** Canonical; -1 while nothing of the block was told. */
  index: number;
  /** thinking: as it came last. */
  signature?: string;
  /** tool_use, native: the input as it stood in the start frame, used where no delta brings one. */
  input: string;
  /** tool_use: a delta was told. native: its deltas so far. */
  json: string;
  /** native: the block itself. */
  value: JsonObject;
}

export interface Blocks {
  /** A content_block_* event. Adds to `events`; says what is wrong where it can't be understood. */
  push(value: JsonObject, events: StreamEvent[]): string | undefined;
  closeAll(events: StreamEvent[]): void;
  /** Whether there was any content. */
  told(): boolean;
  /** What is known to no protocol, so that nobody was given it. */
  lost(): readonly string[];
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

export function createBlocks(ids: Ids): Blocks {
  const blocks = new Map<number, Block>();
  /** Calls alone stand open side by side. */
  const open = new Set<Block>();
  const unique = createUniqueIds();
  const lost = new Set<string>();
  const lose = (what: string): void => {
    if (lost.size < MOST_LOSSES) lost.add(what.slice(0, LONGEST_LOSS));
  };
  let next = 0;
  let last: Block | undefined;

  function textDelta(block: Block, piece: string, events: StreamEvent[]): void {
    if (piece === '') return;
    if (block.index < 0) {
      block.index = next++;
      events.push({ type: 'text_start', index: block.index });
    }
    events.push({ type: 'text_delta', index: block.index, text: piece });
  }

  function cite(block: Block, citation: JsonObject, events: StreamEvent[]): void {
    if (block.index < 0) {
      block.index = next++;
      events.push({ type: 'text_start', index: block.index });
    }
    events.push({ type: 'citation', index: block.index, citation: decodeCitation(citation) });
  }

  function startTool(block: Block, value: JsonObject, events: StreamEvent[]): void {
    block.index = next++;
    block.input = initialInput(value.input);
    const id = unique(text(value.id) || `toolu_${ids.random(24)}`);
    const event: StreamEvent = { type: 'tool_start', index: block.index, id, name: text(value.name) ?? '' };
    const extra = callExtra(value);
    if (extra !== undefined) event.extra = extra;
    events.push(event);
  }

  /** What stands in the start frame is content as well: some servers put everything there. */
  function begin(block: Block, value: JsonObject, events: StreamEvent[]): void {
    switch (block.type) {
      case 'text':
        textDelta(block, text(value.text) ?? '', events);
        for (const citation of decodeCitations(value.citations)) cite(block, citation.raw, events);
        return;
      case 'thinking': {
        block.index = next++;
        block.signature = text(value.signature);
        events.push({ type: 'reasoning_start', index: block.index });
        const thinking = text(value.thinking) ?? '';
        if (thinking !== '') events.push({ type: 'reasoning_delta', index: block.index, text: thinking });
        return;
      }
      case 'redacted_thinking':
        events.push({ type: 'redacted', index: next++, data: text(value.data) ?? '' });
        return;
      case 'tool_use':
        startTool(block, value, events);
    }
  }

  function close(block: Block, events: StreamEvent[]): void {
    if (!open.delete(block)) return;
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
          index: next++,
          part: { type: 'native', protocol: 'messages', kind: block.type, value: nativeValue(block) },
        });
    }
  }

  function closeAll(events: StreamEvent[]): void {
    for (const block of open) close(block, events);
  }

  function start(wireIndex: number | undefined, value: unknown, events: StreamEvent[]): string | undefined {
    if (!isObject(value)) return 'a block without content';
    const at = wireIndex ?? blocks.size;
    const type = text(value.type) ?? '';
    if (type === 'tool_use' && !text(value.name)) return 'a call of a tool without a name';
    const before = blocks.get(at);
    // llama.cpp once sent the start of an open block twice.
    if (before !== undefined && open.has(before) && before.type === type) return undefined;
    // A stop that never came: calls may go on side by side, anything else is over when the next begins.
    if (type !== 'tool_use' || last?.type !== 'tool_use') closeAll(events);
    else if (before !== undefined) close(before, events);
    last = { type, index: -1, input: '', json: '', value };
    blocks.set(at, last);
    open.add(last);
    begin(last, value, events);
    return undefined;
  }

  function delta(block: Block, value: JsonObject, events: StreamEvent[]): string | undefined {
    switch (value.type) {
      case 'text_delta':
        if (block.type !== 'text') break;
        textDelta(block, text(value.text) ?? '', events);
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
        if (block.type === 'text' && isObject(value.citation)) cite(block, value.citation, events);
        return undefined;
      default:
        if (KNOWN.has(block.type)) lose(`a delta of type ${text(value.type) ?? ''}`);
        // A delta of a block that only this protocol knows (compaction): its members belong to the block.
        else addMembers(block.value, value);
        return undefined;
    }
    return `a ${value.type} in a block of type ${block.type}`;
  }

  return {
    push(value, events) {
      const wireIndex = typeof value.index === 'number' ? value.index : undefined;
      if (value.type === 'content_block_start') return start(wireIndex, value.content_block, events);
      const block = wireIndex === undefined ? last : blocks.get(wireIndex);
      if (value.type === 'content_block_stop') {
        if (block !== undefined) close(block, events);
        return undefined;
      }
      if (block === undefined || !open.has(block)) return 'a delta for a block that is not open';
      return isObject(value.delta) ? delta(block, value.delta, events) : 'a delta without content';
    },
    closeAll,
    told: () => next > 0,
    lost: () => [...lost],
  };
}
