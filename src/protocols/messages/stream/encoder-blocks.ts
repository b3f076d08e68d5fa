// The blocks of a stream that is written. Only one may be open, with indexes 0, 1, 2 … and no gap (readers look blocks up by
// position): the open one streams live, what belongs to others waits until it closes. Nothing is lost.
import { isObject, type JsonObject } from '../../../canonical/json.ts';
import type { NativePart } from '../../../canonical/request.ts';
import type { CallInput } from './tool-calls.ts';

/** A canonical block on its way out. Its frames without the index, which is known only when its turn comes. */
export interface Pending {
  kind: 'text' | 'reasoning' | 'tool' | 'native';
  /** The `content_block` of its start; '' while nothing is worth a start. */
  start: string;
  /** Text (or the call's arguments) that waits: written as one delta. */
  held: string;
  /** Further `delta`s that wait: a signature, citations. */
  deltas: string[];
  ended: boolean;
  /** Of a call: its arguments, where they are not free text. */
  input?: CallInput;
  /** Free text of a custom call, which is one JSON string in the end. */
  free?: string;
}

const DELTA = {
  text: ['{"type":"text_delta","text":', '}'],
  reasoning: ['{"type":"thinking_delta","thinking":', '}'],
  tool: ['{"type":"input_json_delta","partial_json":', '}'],
  native: ['{"type":"input_json_delta","partial_json":', '}'],
} as const satisfies Record<Pending['kind'], readonly [string, string]>;

export const TEXT_START = '{"type":"text","text":""}';
export const THINKING_START = '{"type":"thinking","thinking":"","signature":""}';

function deltaOf(kind: Pending['kind'], piece: string): string {
  const [before, after] = DELTA[kind];
  return before + JSON.stringify(piece) + after;
}

/** A block that needs no more than its start. */
export function wholeBlock(value: JsonObject, held: string): Pending {
  return { kind: 'native', start: JSON.stringify(value), held, deltas: [], ended: true };
}

/** A block of this protocol, whole; the input of a server tool goes as a delta, where readers look for it. */
export function nativeBlock(part: NativePart): Pending {
  const { input } = part.value;
  if (!isObject(input) || Object.keys(input).length === 0) return wholeBlock(part.value, '');
  return wholeBlock({ ...part.value, input: {} }, JSON.stringify(input));
}

/** Each function gives the frames that are due. */
interface BlockWriter {
  /** The block goes out as soon as none before it is open. */
  enqueue(block: Pending): string;
  /** A `delta` of the block, as JSON. */
  write(block: Pending, delta: string): string;
  /** A piece of the block's text or arguments. */
  writePiece(block: Pending, text: string): string;
  end(block: Pending): string;
  /** Whether nothing of the block is on the wire yet. */
  waits(block: Pending): boolean;
}

export function createBlockWriter(): BlockWriter {
  /** Those before `next` were put on the wire: to shift a long list would move all of it for each block. */
  let waiting: Pending[] = [];
  let next = 0;
  /** The block on the wire, and its index there. */
  let current: Pending | undefined;
  let wireIndex = -1;

  function deltaFrame(delta: string): string {
    return `event: content_block_delta\ndata: {"type":"content_block_delta","index":${wireIndex},"delta":${delta}}\n\n`;
  }

  function stopFrame(): string {
    return `event: content_block_stop\ndata: {"type":"content_block_stop","index":${wireIndex}}\n\n`;
  }

  /** Puts the next waiting block on the wire, and the one after it if that one was complete already. */
  function advance(): string {
    let frames = '';
    while (current === undefined) {
      const block = waiting[next++];
      if (block === undefined) {
        waiting = [];
        next = 0;
        break;
      }
      wireIndex++;
      frames += `event: content_block_start\ndata: {"type":"content_block_start","index":${wireIndex},"content_block":${block.start}}\n\n`;
      if (block.held !== '') frames += deltaFrame(deltaOf(block.kind, block.held));
      for (const delta of block.deltas) frames += deltaFrame(delta);
      block.held = '';
      block.deltas = [];
      if (block.ended) frames += stopFrame();
      else current = block;
    }
    return frames;
  }

  return {
    enqueue(block) {
      waiting.push(block);
      return advance();
    },
    write(block, delta) {
      if (block === current) return deltaFrame(delta);
      block.deltas.push(delta);
      return '';
    },
    writePiece(block, text) {
      if (block === current) return deltaFrame(deltaOf(block.kind, text));
      block.held += text;
      return '';
    },
    end(block) {
      block.ended = true;
      if (block !== current) return '';
      current = undefined;
      return stopFrame() + advance();
    },
    waits: (block) => block !== current,
  };
}
