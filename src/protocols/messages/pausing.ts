// A turn whose server tools ran longer than the provider lets one call last: it stops with `pause_turn` and goes on when it is
// sent back as it is. Clients of this protocol do that themselves; for others the gateway does, and makes one answer of all.
// https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons
import { createCollector } from '../../canonical/collect.ts';
import { isObject, type JsonObject, type JsonValue } from '../../canonical/json.ts';
import type { Ids } from '../../ids.ts';
import { exactJson } from '../exact-json.ts';
import { scanMembers, splice, type Edit } from '../json-members.ts';
import { keepSource, mayDiffer, type Place } from '../kept-source.ts';
import type { Pausing, TurnJoiner } from '../protocol.ts';
import { makeFrame, type Frame } from '../sse-frame.ts';
import { encodeContent } from './reply.ts';
import { list, parseObject, text } from './schema.ts';
import { createStreamDecoder } from './stream-decoder.ts';
import { addUsage, readUsage, writeTally, type UsageTally } from './usage.ts';

const PAUSE = 'pause_turn';

function isPaused(value: unknown): value is JsonObject {
  return isObject(value) && value.stop_reason === PAUSE && Array.isArray(value.content);
}

/** What server tools have made lives in the container: the next call has to name it. */
function resume(bytes: Buffer, turn: JsonObject): Buffer {
  const members = scanMembers(bytes, Infinity);
  const edits: Edit[] = [];
  const messages = members.get('messages');
  if (messages !== undefined) {
    const end = messages.end - 1;
    const isFirst = end === messages.start + 1;
    const said = exactJson({ role: 'assistant', content: list(turn.content) });
    edits.push({ start: end, end, text: `${isFirst ? '' : ','}${said}` });
  }
  const id = isObject(turn.container) ? text(turn.container.id) : undefined;
  if (id !== undefined) {
    const { start, end } = members.get('container') ?? { start: members.close, end: members.close };
    const name = start === end ? ',"container":' : '';
    edits.push({ start, end, text: name + JSON.stringify(id) });
  }
  return splice(bytes, edits);
}

/** Those of server tools, too: they are sent back as well. */
function keepInputs(reply: JsonObject, source: Buffer | string): void {
  const places: Place[] = [];
  for (const [index, block] of list(reply.content).entries()) {
    if (isObject(block) && mayDiffer(block.input)) {
      places.push({ holder: block, name: 'input', steps: ['content', index] });
    }
  }
  keepSource(source, places);
}

/** The later reply says how it ended; what came before stands in front of it, and both were paid for. */
function join(first: JsonObject, second: JsonObject): JsonObject {
  const tally: UsageTally = {};
  for (const { usage } of [first, second]) {
    const told: UsageTally = {};
    readUsage(told, usage);
    addUsage(tally, told);
  }
  return {
    ...second,
    id: first.id ?? null,
    content: [...list(first.content), ...list(second.content)],
    container: second.container ?? first.container ?? null,
    usage: { ...(isObject(second.usage) ? second.usage : {}), ...writeTally(tally) },
  };
}

/** The frames of several calls as those of one stream: blocks are counted on, usage is added up. */
class StreamJoiner implements TurnJoiner {
  readonly #ids: Ids;
  #content: JsonValue[] = [];
  #container: JsonValue = null;
  /** Of the calls before this one. */
  readonly #before: UsageTally = {};
  /** Calls before this one, and their blocks. */
  #calls = 0;
  #offset = 0;
  // -- this call --
  #decoder;
  #collector = createCollector();
  #tally: UsageTally = {};
  #blocks = 0;
  /** The end of a paused turn, which is none if the turn goes on. */
  #held: Frame[] = [];
  #letGo = false;

  constructor(ids: Ids) {
    this.#ids = ids;
    this.#decoder = createStreamDecoder({ ids });
  }

  push(frame: Frame): Frame[] {
    if (this.#held.length > 0) {
      this.#held.push(frame);
      return [];
    }
    if (!this.#letGo) for (const event of this.#decoder.push(frame)) this.#collector.push(event);
    const value = parseObject(frame.data);
    if (value === undefined) return [frame];
    switch (value.type) {
      case 'message_start':
        readUsage(this.#tally, isObject(value.message) ? value.message.usage : undefined);
        return this.#calls === 0 ? [frame] : [];
      case 'message_delta':
        return this.#messageDelta(frame, value);
      case 'content_block_start':
      case 'content_block_delta':
      case 'content_block_stop':
        return [this.#numbered(frame, value)];
      default:
        return [frame];
    }
  }

  #numbered(frame: Frame, value: JsonObject): Frame {
    const { index } = value;
    if (typeof index !== 'number') return frame;
    this.#blocks = Math.max(this.#blocks, index + 1);
    return this.#offset === 0
      ? frame
      : makeFrame(frame.event, JSON.stringify({ ...value, index: index + this.#offset }));
  }

  #messageDelta(frame: Frame, value: JsonObject): Frame[] {
    readUsage(this.#tally, value.usage);
    const delta = isObject(value.delta) ? value.delta : {};
    if (delta.stop_reason === PAUSE && !this.#letGo) {
      this.#container = delta.container ?? this.#container;
      this.#held.push(this.#withUsage(frame, value));
      return [];
    }
    return [this.#withUsage(frame, value)];
  }

  #withUsage(frame: Frame, value: JsonObject): Frame {
    if (this.#calls === 0) return frame;
    const sum: UsageTally = {};
    addUsage(sum, this.#tally);
    addUsage(sum, this.#before);
    const usage = { ...(isObject(value.usage) ? value.usage : {}), ...writeTally(sum) };
    return makeFrame(frame.event, JSON.stringify({ ...value, usage }));
  }

  isPaused(): boolean {
    return this.#held.length > 0;
  }

  turn(): JsonObject {
    for (const event of this.#decoder.finish(true)) this.#collector.push(event);
    const result = this.#collector.result();
    const parts = 'reply' in result ? result.reply.parts : [];
    return { content: [...this.#content, ...encodeContent(parts)], container: this.#container };
  }

  next(turn: JsonObject): Frame[] {
    addUsage(this.#before, this.#tally);
    this.#content = list(turn.content);
    this.#calls++;
    this.#offset += this.#blocks;
    this.#blocks = 0;
    this.#tally = {};
    this.#held = [];
    this.#decoder = createStreamDecoder({ ids: this.#ids });
    this.#collector = createCollector();
    // What was paid for up to here counts even if the rest fails.
    const delta = { type: 'message_delta', delta: { stop_reason: null }, usage: writeTally(this.#before) };
    return [makeFrame('message_delta', JSON.stringify(delta))];
  }

  letGo(): void {
    if (this.#letGo) return;
    this.#letGo = true;
    this.#content = [];
    this.#collector = createCollector();
  }

  giveUp(): Frame[] {
    return this.#held.splice(0);
  }
}

export const pausing: Pausing = {
  isPaused,
  keepInputs,
  resume,
  join,
  createJoiner: (ids) => new StreamJoiner(ids),
};
