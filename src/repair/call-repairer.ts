// The answer of a model whose server leaves its calls unfinished: calls written as text become calls, names and arguments are made
// those of the offered tools. Works on the events of a stream; a whole answer takes the same way.
import type { StreamEvent } from '../canonical/reply.ts';
import type { Ids } from '../ids.ts';
import { fitted, readArguments } from './arguments.ts';
import type { OfferedTool } from './offered-tools.ts';
import { TextScanner, type Found, type ScannerOptions } from './text-scanner.ts';

interface RepairOptions extends ScannerOptions {
  ids: Ids;
}

type EventOf<T extends StreamEvent['type']> = Extract<StreamEvent, { type: T }>;

/** A call of the server's own, until its arguments are whole. */
interface OpenCall {
  index: number;
  tool: OfferedTool | undefined;
  name: string;
  pieces: string[];
}

const MOST_NAMED = 20;
const LONGEST_NAME = 64;

export class CallRepairer {
  readonly #options: RepairOptions;
  readonly #repaired = new Set<string>();
  readonly #indexes = new Map<number, number>();
  readonly #calls = new Map<number, OpenCall>();
  #nextIndex = 0;
  #text:
    { scanner: TextScanner; index: number | undefined; space: string; refusal: true | undefined } | undefined;
  /** Events behind a call that can be judged only when it is known how the answer ended. */
  #waiting: { call: OpenCall; end: EventOf<'tool_end'> }[] = [];
  #later: StreamEvent[] = [];
  #count = 0;

  constructor(options: RepairOptions) {
    this.#options = options;
  }

  /** What was repaired, as `NAME: what`, each once. */
  repaired(): readonly string[] {
    return [...this.#repaired];
  }

  /** Something waits, or what came out is not yet what came in. */
  isHolding(): boolean {
    const { scanner, index } = this.#text ?? {};
    const isTextOpen = scanner !== undefined && (index === undefined || scanner.isHolding());
    return isTextOpen || this.#calls.size > 0 || this.#later.length > 0;
  }

  push(event: StreamEvent): StreamEvent[] {
    if (event.type === 'end' || event.type === 'error') return this.#end(event);
    const events = this.#map(event);
    if (this.#later.length === 0) return events;
    this.#later.push(...events);
    return [];
  }

  /** The answer broke off: what was held back, as it came. */
  giveUp(): StreamEvent[] {
    const before = this.#endText();
    const events = [...this.#later, ...before];
    this.#later = [];
    return events;
  }

  #map(event: Exclude<StreamEvent, EventOf<'end' | 'error'>>): StreamEvent[] {
    switch (event.type) {
      case 'start':
        return [event];
      case 'text_start':
        this.#text = {
          scanner: new TextScanner(this.#options),
          index: undefined,
          space: '',
          refusal: event.refusal,
        };
        this.#indexes.delete(event.index);
        return [];
      case 'text_delta':
        return this.#text === undefined ? [] : this.#found(this.#text.scanner.push(event.text));
      case 'text_end':
        return this.#endText();
      case 'citation':
        return [...this.#openText(), { ...event, index: this.#text?.index ?? 0 }];
      case 'tool_start':
        return this.#startCall(event);
      case 'tool_delta':
        return this.#callDelta(event);
      case 'tool_end':
        return this.#endCall(event);
      case 'reasoning_start':
      case 'redacted':
      case 'native':
        return [{ ...event, index: this.#newIndex(event.index) }];
      default:
        return [{ ...event, index: this.#indexes.get(event.index) ?? event.index }];
    }
  }

  #newIndex(theirs?: number): number {
    const index = this.#nextIndex++;
    if (theirs !== undefined) this.#indexes.set(theirs, index);
    return index;
  }

  #found(all: readonly Found[]): StreamEvent[] {
    return all.flatMap((found) => ('text' in found ? this.#passText(found.text) : this.#writeCall(found)));
  }

  /** White space opens no block: round a call it belongs to the form. */
  #passText(text: string): StreamEvent[] {
    const state = this.#text;
    if (state === undefined) return [];
    if (state.index === undefined && text.trim() === '') {
      state.space += text;
      return [];
    }
    const opened = this.#openText();
    const delta = state.space + text;
    state.space = '';
    return [...opened, { type: 'text_delta', index: state.index ?? 0, text: delta }];
  }

  #openText(): StreamEvent[] {
    const state = this.#text;
    if (state === undefined || state.index !== undefined) return [];
    state.index = this.#newIndex();
    return [{ type: 'text_start', index: state.index, ...(state.refusal && { refusal: state.refusal }) }];
  }

  #closeText(): StreamEvent[] {
    const index = this.#text?.index;
    if (this.#text === undefined || index === undefined) return [];
    this.#text.index = undefined;
    return [{ type: 'text_end', index }];
  }

  #endText(): StreamEvent[] {
    const state = this.#text;
    if (state === undefined) return [];
    const events = this.#found(state.scanner.finish());
    if (this.#count === 0 && state.index === undefined && state.space !== '') {
      events.push(...this.#openText(), { type: 'text_delta', index: state.index ?? 0, text: state.space });
    }
    events.push(...this.#closeText());
    this.#text = undefined;
    return events;
  }

  #writeCall({ call, form }: Exclude<Found, { text: string }>): StreamEvent[] {
    const closed = this.#closeText();
    if (this.#text !== undefined) this.#text.space = '';
    const index = this.#newIndex();
    const { name } = call.tool;
    this.#count++;
    this.#note(name, `written as text (${form})`);
    const id = `call_${this.#options.ids.random(24)}`;
    return [
      ...closed,
      { type: 'tool_start', index, id, name },
      { type: 'tool_delta', index, text: call.arguments },
      { type: 'tool_end', index },
    ];
  }

  #startCall(event: EventOf<'tool_start'>): StreamEvent[] {
    const { offered, ids } = this.#options;
    this.#count++;
    const index = this.#newIndex(event.index);
    const tool = offered.find(event.name);
    const name = tool?.name ?? event.name;
    if (name !== event.name) this.#note(name, 'name');
    if (event.custom !== true) this.#calls.set(event.index, { index, tool, name, pieces: [] });
    const id = event.id === '' ? `call_${ids.random(24)}` : event.id;
    return [{ ...event, index, id, name }];
  }

  #callDelta(event: EventOf<'tool_delta'>): StreamEvent[] {
    const call = this.#calls.get(event.index);
    if (call === undefined) return [{ ...event, index: this.#indexes.get(event.index) ?? event.index }];
    call.pieces.push(event.text);
    return [];
  }

  #endCall(event: EventOf<'tool_end'>): StreamEvent[] {
    const call = this.#calls.get(event.index);
    const end = { ...event, index: this.#indexes.get(event.index) ?? event.index };
    if (call === undefined) return [end];
    this.#calls.delete(event.index);
    const text = call.pieces.join('');
    const args = readArguments(text === '' ? '{}' : text, false);
    if (args === undefined) {
      this.#waiting.push({ call, end });
      this.#later.push(end);
      return [];
    }
    return [...this.#argumentsOf(call, text, args), end];
  }

  /** The arguments as they came where nothing is to be mended. */
  #argumentsOf(
    call: OpenCall,
    text: string,
    args: NonNullable<ReturnType<typeof readArguments>>,
  ): StreamEvent[] {
    const fit = fitted(args, call.tool?.parameters);
    const isSame = fit === args && (text === '' || isJsonObject(text));
    if (!isSame) this.#note(call.name, 'arguments');
    return [
      { type: 'tool_delta', index: call.index, text: isSame && text !== '' ? text : JSON.stringify(fit) },
    ];
  }

  #end(event: EventOf<'end' | 'error'>): StreamEvent[] {
    // A call that was cut by the output limit stays cut: a half-written file must not look whole.
    const isWhole =
      event.type === 'end' && event.stop.reason !== 'length' && event.stop.reason !== 'context_window';
    const before = this.#endText();
    const ends = new Map(this.#waiting.map(({ call, end }) => [end as StreamEvent, call]));
    const later = this.#later.flatMap((item): StreamEvent[] => {
      const call = ends.get(item);
      if (call === undefined) return [item];
      const text = call.pieces.join('');
      const args = isWhole ? readArguments(text, true) : undefined;
      if (args !== undefined) return [...this.#argumentsOf(call, text, args), item];
      return [{ type: 'tool_delta', index: call.index, text }, item];
    });
    this.#later = [];
    return [...later, ...before, this.#withStop(event)];
  }

  #withStop(event: EventOf<'end' | 'error'>): StreamEvent {
    if (event.type === 'error' || this.#count === 0 || event.stop.reason !== 'end') return event;
    this.#repaired.add('finish');
    return { ...event, stop: { ...event.stop, reason: 'tool_calls' } };
  }

  #note(name: string, what: string): void {
    if (this.#repaired.size < MOST_NAMED) this.#repaired.add(`${name.slice(0, LONGEST_NAME)}: ${what}`);
  }
}

function isJsonObject(text: string): boolean {
  try {
    return typeof JSON.parse(text) === 'object';
  } catch {
    return false;
  }
}
