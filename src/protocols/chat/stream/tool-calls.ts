// Tool calls of a chat stream, kept apart from the rest because servers disagree here most: indexes that repeat or are missing,
// names that come late or again, arguments that are objects, or whole a second time. One call in, one canonical block out.
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import type { StreamEvent } from '../../../canonical/events.ts';
import { createUniqueIds } from '../../../canonical/tool-pairing.ts';
import type { Ids } from '../../../ids.ts';
import { rawObjectJson } from '../../json/raw-json.ts';
import { PartialObject } from '../../json/partial-object.ts';
import { mayDiffer, type ArgumentsPath } from '../../json/raw-arguments.ts';
import { isFilled } from '../zero-values.ts';

interface Call {
  id: string;
  /** As the server counts; several calls may share one. */
  index: number | undefined;
  name: string;
  custom: boolean;
  /** The block's index, once the name is known. */
  block: number | undefined;
  arguments: string;
  /** Tells whether they are whole, but for the pieces that it was not asked about yet. */
  prefix: PartialObject;
  unread: string[];
  extra: JsonObject | undefined;
  extraTold: boolean;
}

function text(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

function isWholeObject(json: string): boolean {
  if (!json.startsWith('{') || !json.trimEnd().endsWith('}')) return false;
  try {
    JSON.parse(json);
    return true;
  } catch {
    return false;
  }
}

function hasWholeArguments({ prefix, unread }: Call): boolean {
  for (const piece of unread.splice(0)) prefix.push(piece);
  return prefix.state === 'whole';
}

/** `arguments` as servers write them: text, or the object itself. */
export function argumentsText(value: JsonValue | undefined): string {
  if (isObject(value) || Array.isArray(value)) return rawObjectJson(value);
  return text(value);
}

/** Arguments that are sent as objects, where JavaScript may not hold them as they were written; `steps` lead to the message. */
export function addUnlikeArguments(
  places: ArgumentsPath[],
  message: JsonObject,
  steps: () => ArgumentsPath['steps'],
): void {
  const { tool_calls: calls, function_call: legacy } = message;
  if (Array.isArray(calls)) {
    for (let index = 0; index < calls.length; index++) {
      const call = calls[index];
      if (!isObject(call) || !isObject(call.function) || !mayDiffer(call.function.arguments)) continue;
      const way = [...steps(), 'tool_calls', index, 'function'];
      places.push({ holder: call.function, name: 'arguments', steps: way });
    }
  }
  if (isObject(legacy) && mayDiffer(legacy.arguments)) {
    places.push({ holder: legacy, name: 'arguments', steps: [...steps(), 'function_call'] });
  }
}

export interface CallTracker {
  count(): number;
  /** One item of `delta.tool_calls`; `position` is its place in that list. */
  push(item: JsonObject, position: number, out: StreamEvent[]): void;
  /** Ends every call in order of opening; false: one had no name, so it can't be told. */
  finish(out: StreamEvent[]): boolean;
}

/** `open` gives the index of a new block (and closes what must not overlap it). */
export function createCallTracker(ids: Ids, open: (out: StreamEvent[]) => number): CallTracker {
  const calls: Call[] = [];
  const byIndex = new Map<number, Call>();
  /** By the id that the server gave: the newest. */
  const byId = new Map<string, Call>();
  /** By index and id: the first. */
  const byBoth = new Map<string, Call>();
  const unique = createUniqueIds();

  function create(index: number | undefined, id: string): Call {
    const call: Call = {
      id,
      index,
      name: '',
      custom: false,
      block: undefined,
      arguments: '',
      prefix: new PartialObject(),
      unread: [],
      extra: undefined,
      extraTold: false,
    };
    calls.push(call);
    if (id !== '') {
      byId.set(id, call);
      putBoth(call, id);
    }
    if (index !== undefined) byIndex.set(index, call);
    return call;
  }

  function putBoth(call: Call, id: string): void {
    const key = `${call.index}/${id}`;
    if (!byBoth.has(key)) byBoth.set(key, call);
  }

  /** Some servers tell a call's id after its name. */
  function setId(call: Call, id: string): void {
    call.id = id;
    if (!byId.has(id)) byId.set(id, call);
    putBoth(call, id);
  }

  /** Whether a delta for a known index is another call: servers of parallel calls reuse index 0. */
  function isAnother(call: Call, id: string, name: string, hasArguments: boolean): boolean {
    if (name === '') return false;
    if (id !== '' && call.id !== '') return id !== call.id;
    if (call.name === '') return false;
    return name !== call.name || (hasArguments && hasWholeArguments(call));
  }

  /** Without an index, under an id that was seen: servers that give all their calls the same one send them whole. */
  function beginsAnother(call: Call, name: string, args: string): boolean {
    if (name === '' || call.name === '') return false;
    if (name !== call.name) return true;
    return args !== call.arguments && isWholeObject(args) && hasWholeArguments(call);
  }

  function find(item: JsonObject, position: number, name: string, args: string): Call {
    const id = text(item.id);
    if (typeof item.index === 'number') {
      const call = byBoth.get(`${item.index}/${id}`) ?? byIndex.get(item.index);
      if (!call || (isAnother(call, id, name, args !== '') && !repeats(call, id, name, args))) {
        return create(item.index, id);
      }
      return call;
    }
    const known = byId.get(id);
    if (known) return beginsAnother(known, name, args) ? create(undefined, id) : known;
    // Neither index nor id: a name begins a call, anything else goes on with the last one.
    const last = calls.at(-1);
    if (!last || (name !== '' && !repeats(last, id, name, args)) || position >= calls.length)
      return create(undefined, id);
    return last;
  }

  /** A last delta that tells the whole call again. */
  function repeats(call: Call, id: string, name: string, args: string): boolean {
    if (id !== '' && call.id !== '' && id !== call.id) return false;
    return call.name === name && args !== '' && args === call.arguments && isWholeObject(args);
  }

  function begin(call: Call, out: StreamEvent[]): number {
    const block = open(out);
    call.block = block;
    if (call.id === '') call.id = `call_${ids.random(24)}`;
    const event: StreamEvent = { type: 'tool_start', index: block, id: unique(call.id), name: call.name };
    if (call.custom) event.custom = true;
    if (call.extra) {
      event.extra = call.extra;
      call.extraTold = true;
    }
    out.push(event);
    if (call.arguments !== '') out.push({ type: 'tool_delta', index: block, text: call.arguments });
    return block;
  }

  return {
    count: () => calls.length,
    push(item, position, out) {
      const custom = isObject(item.custom) && isFilled(item.custom) ? item.custom : undefined;
      const body = custom ?? (isObject(item.function) ? item.function : {});
      const name = text(body.name);
      const args = custom ? text(custom.input) : argumentsText(body.arguments);
      const id = text(item.id);
      const extra = isObject(item.extra_content) ? { extra_content: item.extra_content } : undefined;
      if (name === '' && args === '' && id === '' && !extra) return;
      const call = find(item, position, name, args);
      if (custom || item.type === 'custom') call.custom = true;
      if (call.id === '' && id !== '') setId(call, id);
      if (extra) call.extra = extra;
      if (call.name === '') call.name = name;
      const again = args !== '' && args === call.arguments && isWholeObject(args);
      const fresh = again ? '' : args;
      if (fresh !== '') {
        call.arguments += fresh;
        call.unread.push(fresh);
      }
      if (call.block === undefined) {
        if (call.name !== '') begin(call, out);
      } else if (fresh !== '') {
        out.push({ type: 'tool_delta', index: call.block, text: fresh });
      }
    },
    finish(out) {
      for (const call of calls) {
        if (call.block === undefined) return false;
        if (call.arguments === '' && !call.custom) {
          out.push({ type: 'tool_delta', index: call.block, text: '{}' });
        }
        const event: StreamEvent = { type: 'tool_end', index: call.block };
        if (call.extra && !call.extraTold) event.extra = call.extra;
        out.push(event);
      }
      return true;
    },
  };
}
