// Writes the content blocks of a stream. Only one may be open, with indexes 0, 1, 2 … and no gap (readers look blocks up by
// position): frames of the open block are sent at once, those of other blocks wait until it closes.
import { isObject, type JsonObject } from '../../../canonical/json.ts';
import type { NativePart } from '../../../canonical/request.ts';
import { rawJson } from '../../json/raw-json.ts';
import { PartialObject } from '../../json/partial-object.ts';
import { argumentsToObject, rawObject } from '../../shared/tools/tool-names.ts';

/** A canonical block that is being written. Its frames lack the index, which is known only when the block is opened on the wire. */
export interface Pending {
  kind: 'text' | 'reasoning' | 'tool' | 'native';
  /** The `content_block` of its start; '' while the block has no content. */
  start: string;
  /** Text, or arguments of the call, that wait: they become one delta. */
  held: string;
  /** Further `delta`s that wait: a signature, citations. */
  deltas: string[];
  ended: boolean;
  /** For a tool call: its arguments, if they are JSON. */
  input?: CallInput;
  /** For a call of a custom tool: its free text, which is written as one JSON string at the end. */
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

/** A block without later deltas. */
export function wholeBlock(value: JsonObject, held: string): Pending {
  return { kind: 'native', start: JSON.stringify(value), held, deltas: [], ended: true };
}

/** A whole block of this protocol. The input of a server tool is sent as a delta, where readers expect it. */
export function nativeBlock(part: NativePart): Pending {
  const { input } = part.value;
  if (!isObject(input) || Object.keys(input).length === 0) return wholeBlock(part.value, '');
  return wholeBlock({ ...part.value, input: {} }, JSON.stringify(input));
}

/** Each function returns the frames to send now. */
interface BlockWriter {
  /** Adds a block. It is sent as soon as no earlier block is open. */
  enqueue(block: Pending): string;
  /** A `delta` of the block, as JSON. */
  write(block: Pending, delta: string): string;
  /** A piece of the block's text or arguments. */
  writePiece(block: Pending, text: string): string;
  end(block: Pending): string;
  /** Whether no frame of the block has been sent yet. */
  waits(block: Pending): boolean;
}

export function createBlockWriter(): BlockWriter {
  /** Blocks before `next` have been sent. An index, since shifting a long list moves all of it for each block. */
  let waiting: Pending[] = [];
  let next = 0;
  /** The open block, and its index on the wire. */
  let current: Pending | undefined;
  let wireIndex = -1;

  function deltaFrame(delta: string): string {
    return `event: content_block_delta\ndata: {"type":"content_block_delta","index":${wireIndex},"delta":${delta}}\n\n`;
  }

  function stopFrame(): string {
    return `event: content_block_stop\ndata: {"type":"content_block_stop","index":${wireIndex}}\n\n`;
  }

  /** Sends waiting blocks, up to and including the first that is not complete. */
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

export class CallInput {
  readonly #prefix = new PartialObject();
  #text = '';
  /** The length of the text that was written to the client. */
  #sent = 0;

  /** What may be written now: the piece, while all of it can still become an object. */
  push(piece: string): string {
    this.#text += piece;
    if (this.#prefix.state === 'broken' || !this.#prefix.push(piece) || this.#prefix.state === 'blank') {
      return '';
    }
    this.#sent = this.#text.length;
    return piece;
  }

  /** The text is the beginning of an object: cut off or broken, which the stop reason shows. */
  get isOpen(): boolean {
    return this.#prefix.state === 'open';
  }

  /** Whether it is known that the text becomes no object, whatever follows. */
  get isBroken(): boolean {
    return this.#prefix.state === 'broken';
  }

  /** What `push` gave was not written after all: `rest` gives all of it. */
  takeBack(): void {
    this.#sent = 0;
  }

  /**
   * The last piece; '' where nothing is missing. Arguments that are no object are wrapped as in a whole reply, if nothing of
   * them was sent. Else what was sent is made an object: its members are taken back, each with a null of the same name (readers
   * take the last), so that no client runs a tool with half of its arguments; then comes all that the model wrote, as `_raw`.
   * An error would throw the whole answer away, where a tool that refuses its input lets the model try again. An object with
   * something behind it stays that object.
   */
  rest(): string {
    const { state } = this.#prefix;
    if (state === 'whole' || state === 'blank') return '';
    if (this.#sent === 0) {
      const whole = rawJson(argumentsToObject(this.#text).value);
      return whole === '{}' ? '' : whole;
    }
    const sent = this.#text.slice(0, this.#sent);
    const prefix = new PartialObject();
    prefix.push(sent);
    if (prefix.state === 'whole') return '';
    const { text, empty } = prefix.completion();
    const names = Object.keys(JSON.parse(`${sent}${text}}`) as object);
    const taken = Object.fromEntries(names.map((name) => [name, null]));
    const members = rawJson({ ...taken, ...rawObject(this.#text) }).slice(1);
    return `${text}${empty ? '' : ','}${members}`;
  }
}
