// An answer put back into the form that the client knows: its own tool names, its custom tools, its structured output, and an
// end at the stop sequences that the provider was not asked for.
import { createCollector, replay } from './collect.ts';
import type { StreamEvent } from './events.ts';
import { createCustomToolInput } from './custom-tool-input.ts';
import type { CustomToolInput } from './custom-tool-input.ts';
import type { Reply } from './reply.ts';
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
  /** A stop sequence was met and the `end` given: whatever else the provider would say is not wanted. */
  done(): boolean;
}

type ToolStart = Extract<StreamEvent, { type: 'tool_start' }>;
type EndEvent = Extract<StreamEvent, { type: 'end' }>;

export function createEventRestorer(restore: ReverseMapping): EventRestorer {
  const stops = sequencesOf(restore.stop);
  /** Of open text blocks. */
  const cutters = new Map<number, StopCutter>();
  const custom = new Map<number, CustomToolInput>();
  const structured = new Set<number>();
  const openCalls = new Set<number>();
  let calls = 0;
  let wasStructured = false;
  let done = false;

  function startCall(event: ToolStart): StreamEvent[] {
    const { index } = event;
    if (event.name === restore.structuredTool) {
      wasStructured = true;
      structured.add(index);
      return [{ type: 'text_start', index }];
    }
    calls++;
    openCalls.add(index);
    const name = restore.toolNames.get(event.name) ?? event.name;
    if (!restore.customTools.has(name)) return [name === event.name ? event : { ...event, name }];
    custom.set(index, createCustomToolInput());
    return [{ ...event, name, custom: true }];
  }

  function callDelta(index: number, text: string): StreamEvent[] {
    const free = custom.get(index);
    const given = free === undefined ? text : free.push(text);
    if (given === '') return [];
    return [{ type: structured.has(index) ? 'text_delta' : 'tool_delta', index, text: given }];
  }

  function endCall(event: Extract<StreamEvent, { type: 'tool_end' }>): StreamEvent[] {
    const { index } = event;
    if (structured.delete(index)) return [{ type: 'text_end', index }];
    openCalls.delete(index);
    const rest = custom.get(index)?.finish() ?? '';
    custom.delete(index);
    return rest === '' ? [event] : [{ type: 'tool_delta', index, text: rest }, event];
  }

  function textDelta(index: number, text: string): StreamEvent[] {
    let cutter = cutters.get(index);
    if (cutter === undefined) cutters.set(index, (cutter = new StopCutter(stops)));
    const { text: given, stop } = cutter.push(text);
    const events: StreamEvent[] = given === '' ? [] : [{ type: 'text_delta', index, text: given }];
    if (stop === undefined) return events;
    done = true;
    events.push({ type: 'text_end', index });
    for (const call of openCalls) events.push(...endCall({ type: 'tool_end', index: call }));
    events.push({ type: 'end', stop: { reason: 'stop_sequence', sequence: stop } });
    return events;
  }

  function endText(event: Extract<StreamEvent, { type: 'text_end' }>): StreamEvent[] {
    const rest = cutters.get(event.index)?.finish() ?? '';
    cutters.delete(event.index);
    return rest === '' ? [event] : [{ type: 'text_delta', index: event.index, text: rest }, event];
  }

  function end(event: EndEvent): StreamEvent[] {
    if (!wasStructured || calls > 0 || event.stop.reason !== 'tool_calls') return [event];
    return [{ ...event, stop: { ...event.stop, reason: 'end' } }];
  }

  function push(event: StreamEvent): StreamEvent[] {
    switch (event.type) {
      case 'text_delta':
        return stops.length === 0 ? [event] : textDelta(event.index, event.text);
      case 'text_end':
        return endText(event);
      case 'tool_start':
        return startCall(event);
      case 'tool_delta':
        return callDelta(event.index, event.text);
      case 'tool_end':
        return endCall(event);
      case 'end':
        return end(event);
      default:
        return [event];
    }
  }

  return {
    push: (event) => (done ? [] : push(event)),
    done: () => done,
  };
}

/** Then every event and every reply stays what it is. */
export function isIdentityMapping({ toolNames, customTools, structuredTool, stop }: ReverseMapping): boolean {
  return (
    toolNames.size === 0 &&
    customTools.size === 0 &&
    structuredTool === undefined &&
    stop.every((text) => text === '')
  );
}

/** The same for a whole reply, by way of its events: both give the same answer. */
export function restoreReply(reply: Reply, restore: ReverseMapping): Reply {
  if (isIdentityMapping(restore)) return reply;
  const restorer = createEventRestorer(restore);
  const collector = createCollector();
  for (const event of replay(reply)) {
    for (const restored of restorer.push(event)) collector.push(restored);
  }
  const result = collector.result();
  if ('failure' in result) return reply;
  // Cut or not, the provider told what it used.
  if (reply.usage !== undefined) result.reply.usage = reply.usage;
  if (reply.serviceTier !== undefined) result.reply.serviceTier = reply.serviceTier;
  return result.reply;
}
