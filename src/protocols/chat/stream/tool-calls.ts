// Tool calls of a chat stream, in a file of their own because servers differ here most: indexes that repeat or are missing,
// names that come late or again, arguments that are objects, or whole a second time. One call in, one canonical block out.
import { isObject, type JsonObject, stringOf } from '../../../canonical/json.ts';
import type { StreamEvent } from '../../../canonical/reply.ts';
import { createUniqueIds } from '../../../canonical/tool-pairing.ts';
import type { Ids } from '../../../ids.ts';
import { argumentsText, mayDiffer, type ArgumentsPath } from '../../json/raw-json.ts';
import { PartialObject } from '../../json/partial-object.ts';

interface Call {
  id: string;
  /** As the server counts; several calls may share one. */
  index: number | undefined;
  name: string;
  custom: boolean;
  /** The block's index, once the name is known. */
  block: number | undefined;
  arguments: string;
  /** The arguments up to the last time that somebody asked whether they are whole, and the pieces since then. */
  prefix: PartialObject;
  unread: string[];
  extra: JsonObject | undefined;
  /** `extra` went out with the start. */
  hasSentExtra: boolean;
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

/** One item of `delta.tool_calls`. */
interface Piece {
  id: string;
  index: number | undefined;
  name: string;
  args: string;
  custom: boolean;
  extra: JsonObject | undefined;
  /** Its place in the list. */
  position: number;
}

function readPiece(item: JsonObject, position: number): Piece {
  const custom = isObject(item.custom) ? item.custom : undefined;
  const body = custom ?? (isObject(item.function) ? item.function : {});
  return {
    id: stringOf(item.id),
    index: typeof item.index === 'number' ? item.index : undefined,
    name: stringOf(body.name),
    args: custom ? stringOf(custom.input) : argumentsText(body.arguments),
    custom: custom !== undefined || item.type === 'custom',
    extra: isObject(item.extra_content) ? { extra_content: item.extra_content } : undefined,
    position,
  };
}

function isEmpty({ id, name, args, extra }: Piece): boolean {
  return name === '' && args === '' && id === '' && !extra;
}

/** Whether a delta for a known index is another call: servers of parallel calls reuse index 0. */
function isAnother(call: Call, { id, name, args }: Piece): boolean {
  if (name === '') return false;
  if (id !== '' && call.id !== '') return id !== call.id;
  if (call.name === '') return false;
  return name !== call.name || (args !== '' && hasWholeArguments(call));
}

/** Without an index, under an id that was seen: servers that give all their calls the same one send them whole. */
function beginsAnother(call: Call, { name, args }: Piece): boolean {
  if (name === '' || call.name === '') return false;
  if (name !== call.name) return true;
  return args !== call.arguments && isWholeObject(args) && hasWholeArguments(call);
}

/** A last delta with the whole call again. */
function repeats(call: Call, { id, name, args }: Piece): boolean {
  if (id !== '' && call.id !== '' && id !== call.id) return false;
  return call.name === name && args !== '' && args === call.arguments && isWholeObject(args);
}

export class CallTracker {
  readonly #ids: Ids;
  readonly #open: (out: StreamEvent[]) => number;
  readonly #calls: Call[] = [];
  readonly #byIndex = new Map<number, Call>();
  /** By the id that the server gave: the newest. */
  readonly #byId = new Map<string, Call>();
  /** By index and id: the first. */
  readonly #byBoth = new Map<string, Call>();
  readonly #unique = createUniqueIds();

  /** `open` gives the index of a new block (and closes what must not overlap it). */
  constructor(ids: Ids, open: (out: StreamEvent[]) => number) {
    this.#ids = ids;
    this.#open = open;
  }

  count(): number {
    return this.#calls.length;
  }

  /** One item of `delta.tool_calls`; `position` is its place in that list. */
  push(item: JsonObject, position: number, out: StreamEvent[]): void {
    const piece = readPiece(item, position);
    if (isEmpty(piece)) return;
    const call = this.#find(piece);
    const { id, args } = piece;
    if (piece.custom) call.custom = true;
    if (call.id === '' && id !== '') this.#setId(call, id);
    if (piece.extra) call.extra = piece.extra;
    if (call.name === '') call.name = piece.name;
    const isRepeated = args !== '' && args === call.arguments && isWholeObject(args);
    const fresh = isRepeated ? '' : args;
    if (fresh !== '') {
      call.arguments += fresh;
      call.unread.push(fresh);
    }
    if (call.block === undefined) {
      if (call.name !== '') this.#start(call, out);
    } else if (fresh !== '') {
      out.push({ type: 'tool_delta', index: call.block, text: fresh });
    }
  }

  /** Ends every call in order of opening; false: one had no name, so it has no block. */
  finish(out: StreamEvent[]): boolean {
    for (const call of this.#calls) {
      if (call.block === undefined) return false;
      if (call.arguments === '' && !call.custom) {
        out.push({ type: 'tool_delta', index: call.block, text: '{}' });
      }
      const event: StreamEvent = { type: 'tool_end', index: call.block };
      if (call.extra && !call.hasSentExtra) event.extra = call.extra;
      out.push(event);
    }
    return true;
  }

  /** The call that a piece belongs to: a new one if it belongs to none. */
  #find(piece: Piece): Call {
    const { id, index, name, position } = piece;
    if (index !== undefined) {
      const call = this.#byBoth.get(`${index}/${id}`) ?? this.#byIndex.get(index);
      const isNew = !call || (isAnother(call, piece) && !repeats(call, piece));
      return isNew ? this.#create(index, id) : call;
    }
    const known = this.#byId.get(id);
    if (known) return beginsAnother(known, piece) ? this.#create(undefined, id) : known;
    // Neither index nor id: a name begins a call, anything else extends the last one.
    const last = this.#calls.at(-1);
    const isNew = !last || (name !== '' && !repeats(last, piece)) || position >= this.#calls.length;
    return isNew ? this.#create(undefined, id) : last;
  }

  #create(index: number | undefined, id: string): Call {
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
      hasSentExtra: false,
    };
    this.#calls.push(call);
    if (id !== '') {
      this.#byId.set(id, call);
      this.#setBoth(call, id);
    }
    if (index !== undefined) this.#byIndex.set(index, call);
    return call;
  }

  /** Some servers send a call's id after its name. */
  #setId(call: Call, id: string): void {
    call.id = id;
    if (!this.#byId.has(id)) this.#byId.set(id, call);
    this.#setBoth(call, id);
  }

  #setBoth(call: Call, id: string): void {
    const key = `${call.index}/${id}`;
    if (!this.#byBoth.has(key)) this.#byBoth.set(key, call);
  }

  #start(call: Call, out: StreamEvent[]): void {
    const block = this.#open(out);
    call.block = block;
    if (call.id === '') call.id = `call_${this.#ids.random(24)}`;
    const event: StreamEvent = {
      type: 'tool_start',
      index: block,
      id: this.#unique(call.id),
      name: call.name,
    };
    if (call.custom) event.custom = true;
    if (call.extra) {
      event.extra = call.extra;
      call.hasSentExtra = true;
    }
    out.push(event);
    if (call.arguments !== '') out.push({ type: 'tool_delta', index: block, text: call.arguments });
  }
}
