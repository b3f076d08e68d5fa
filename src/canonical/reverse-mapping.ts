// An answer put back into the form that the client knows: its own tool names, its custom tools, its structured output, and an
// end at the stop sequences that the provider was not asked for.
import { createCollector, replay } from './collect.ts';
import type { StreamEvent, Reply } from './reply.ts';
import { createCustomToolInput, type CustomToolInput } from './custom-tool-input.ts';

/** Made with the encoded request, used on its reply. */
export interface ReverseMapping {
  /** Tool names on the wire -> the client's, where they differ. */
  toolNames: ReadonlyMap<string, string>;
  /** Tools (client's names) that were sent as functions in place of custom tools: `{"input": text}` is unwrapped. */
  customTools: ReadonlySet<string>;
  /** A forced tool (name on the wire) that stands for structured output: its arguments become the answer's text. */
  structuredTool?: string;
  /** Stop sequences that the gateway itself must cut at. */
  stop: readonly string[];
}

/** Nothing is put back. */
export const NO_MAPPING: ReverseMapping = { toolNames: new Map(), customTools: new Set(), stop: [] };

export interface EventRestorer {
  push(event: StreamEvent): StreamEvent[];
  /** A stop sequence matched and `end` was emitted: further output of the provider is ignored. */
  done(): boolean;
}

type EventOf<T extends StreamEvent['type']> = Extract<StreamEvent, { type: T }>;

export function createEventRestorer(mapping: ReverseMapping): EventRestorer {
  return new Restorer(mapping);
}

class Restorer implements EventRestorer {
  readonly #mapping: ReverseMapping;
  readonly #stops: ReturnType<typeof sequencesOf>;
  /** Of open text blocks. */
  readonly #cutters = new Map<number, StopCutter>();
  /** Of open calls of custom tools. */
  readonly #inputs = new Map<number, CustomToolInput>();
  /** Open calls of the tool that stands for structured output. */
  readonly #structured = new Set<number>();
  readonly #openCalls = new Set<number>();
  #calls = 0;
  #wasStructured = false;
  #done = false;

  constructor(mapping: ReverseMapping) {
    this.#mapping = mapping;
    this.#stops = sequencesOf(mapping.stop);
  }

  done(): boolean {
    return this.#done;
  }

  push(event: StreamEvent): StreamEvent[] {
    if (this.#done) return [];
    switch (event.type) {
      case 'text_delta':
        return this.#stops.length === 0 ? [event] : this.#textDelta(event);
      case 'text_end':
        return this.#endText(event);
      case 'tool_start':
        return this.#startCall(event);
      case 'tool_delta':
        return this.#callDelta(event);
      case 'tool_end':
        return this.#endCall(event);
      case 'end':
        return this.#end(event);
      default:
        return [event];
    }
  }

  #textDelta({ index, text }: EventOf<'text_delta'>): StreamEvent[] {
    let cutter = this.#cutters.get(index);
    if (cutter === undefined) this.#cutters.set(index, (cutter = new StopCutter(this.#stops)));
    const { text: given, stop } = cutter.push(text);
    const events: StreamEvent[] = given === '' ? [] : [{ type: 'text_delta', index, text: given }];
    if (stop === undefined) return events;
    this.#done = true;
    events.push({ type: 'text_end', index });
    for (const call of this.#openCalls) events.push(...this.#endCall({ type: 'tool_end', index: call }));
    events.push({ type: 'end', stop: { reason: 'stop_sequence', sequence: stop } });
    return events;
  }

  #endText(event: EventOf<'text_end'>): StreamEvent[] {
    const rest = this.#cutters.get(event.index)?.finish() ?? '';
    this.#cutters.delete(event.index);
    return rest === '' ? [event] : [{ type: 'text_delta', index: event.index, text: rest }, event];
  }

  #startCall(event: EventOf<'tool_start'>): StreamEvent[] {
    const { index } = event;
    const { structuredTool, toolNames, customTools } = this.#mapping;
    if (event.name === structuredTool) {
      this.#wasStructured = true;
      this.#structured.add(index);
      return [{ type: 'text_start', index }];
    }
    this.#calls++;
    this.#openCalls.add(index);
    const name = toolNames.get(event.name) ?? event.name;
    if (!customTools.has(name)) return [name === event.name ? event : { ...event, name }];
    this.#inputs.set(index, createCustomToolInput());
    return [{ ...event, name, custom: true }];
  }

  #callDelta({ index, text }: EventOf<'tool_delta'>): StreamEvent[] {
    const input = this.#inputs.get(index);
    const given = input === undefined ? text : input.push(text);
    if (given === '') return [];
    return [{ type: this.#structured.has(index) ? 'text_delta' : 'tool_delta', index, text: given }];
  }

  #endCall(event: EventOf<'tool_end'>): StreamEvent[] {
    const { index } = event;
    if (this.#structured.delete(index)) return [{ type: 'text_end', index }];
    this.#openCalls.delete(index);
    const rest = this.#inputs.get(index)?.finish() ?? '';
    this.#inputs.delete(index);
    return rest === '' ? [event] : [{ type: 'tool_delta', index, text: rest }, event];
  }

  #end(event: EventOf<'end'>): StreamEvent[] {
    if (!this.#wasStructured || this.#calls > 0 || event.stop.reason !== 'tool_calls') return [event];
    return [{ ...event, stop: { ...event.stop, reason: 'end' } }];
  }
}

/** The same for a whole reply, by way of its events: both give the same answer. */
export function restoreReply(reply: Reply, restore: ReverseMapping): Reply {
  const restorer = createEventRestorer(restore);
  const collector = createCollector();
  for (const event of replay(reply)) {
    for (const restored of restorer.push(event)) collector.push(restored);
  }
  const result = collector.result();
  if ('failure' in result) return reply;
  // The provider's usage counts, whether the text was cut or not.
  if (reply.usage !== undefined) result.reply.usage = reply.usage;
  if (reply.serviceTier !== undefined) result.reply.serviceTier = reply.serviceTier;
  return result.reply;
}

/** A sequence, and for each of its beginnings the length of the longest shorter one that this ends with. */
interface Sequence {
  text: string;
  borders: Uint32Array;
}

type Sequences = readonly Sequence[];

function sequencesOf(texts: readonly string[]): Sequences {
  return texts.filter((text) => text !== '').map((text) => ({ text, borders: bordersOf(text) }));
}

function bordersOf(text: string): Uint32Array {
  const borders = new Uint32Array(text.length);
  for (let at = 1; at < text.length; at++) {
    borders[at] = advance({ text, borders }, borders[at - 1] ?? 0, text.charCodeAt(at));
  }
  return borders;
}

/** How much of the sequence is met behind a further character, where `met` of it were met before. */
function advance({ text, borders }: Sequence, met: number, code: number): number {
  let length = met;
  while (length > 0 && text.charCodeAt(length) !== code) length = borders[length - 1] ?? 0;
  return text.charCodeAt(length) === code ? length + 1 : length;
}

class StopCutter {
  readonly #sequences: Sequences;
  readonly #met: number[];
  /** Text that is held back, since it may be the start of a sequence: from `#offset` of the piece `#first` on. */
  #pieces: string[] = [];
  #first = 0;
  #offset = 0;
  #length = 0;

  constructor(sequences: Sequences) {
    this.#sequences = sequences;
    this.#met = sequences.map(() => 0);
  }

  /** What may go out; with `stop` it is the last: the sequence that is complete first, so that pieces make no difference. */
  push(piece: string): { text: string; stop?: string } {
    for (let at = 0; at < piece.length; at++) {
      const stop = this.#next(piece.charCodeAt(at));
      if (stop === undefined) continue;
      this.#add(piece.slice(0, at + 1));
      return { text: this.#take(this.#length - stop.length), stop };
    }
    this.#add(piece);
    return { text: this.#take(this.#length - this.#met.reduce((most, met) => Math.max(most, met), 0)) };
  }

  /** The rest: no sequence became of it. */
  finish(): string {
    return this.#take(this.#length);
  }

  /** The longest sequence that ends with this character. */
  #next(code: number): string | undefined {
    let found: string | undefined;
    for (const [index, sequence] of this.#sequences.entries()) {
      const met = advance(sequence, this.#met[index] ?? 0, code);
      this.#met[index] = met;
      if (met === sequence.text.length && met > (found?.length ?? 0)) found = sequence.text;
    }
    return found;
  }

  #add(piece: string): void {
    this.#pieces.push(piece);
    this.#length += piece.length;
  }

  #take(length: number): string {
    let text = '';
    while (text.length < length) {
      const piece = this.#pieces[this.#first] ?? '';
      const part = piece.slice(this.#offset, this.#offset + length - text.length);
      text += part;
      this.#offset += part.length;
      if (this.#offset < piece.length) continue;
      this.#first++;
      this.#offset = 0;
    }
    this.#length -= length;
    if (this.#first === this.#pieces.length) {
      this.#pieces = [];
      this.#first = 0;
    } else if (this.#first > 1000 && 2 * this.#first > this.#pieces.length) {
      this.#pieces.splice(0, this.#first);
      this.#first = 0;
    }
    return text;
  }
}
