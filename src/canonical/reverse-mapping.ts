// An answer put back into the form that the client knows: its own tool names, its custom tools, its structured output, and an
// end at the stop sequences that the provider was not asked for.
import { createCollector, replay } from './collect.ts';
import type { StreamEvent, Reply } from './reply.ts';
import { createCustomToolInput } from './custom-tool-input.ts';
import type { CustomToolInput } from './custom-tool-input.ts';
import { sequencesOf, StopCutter } from './stop-sequences.ts';

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
