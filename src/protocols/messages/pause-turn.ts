// A turn whose server tools run longer than the provider allows one call to last stops with `pause_turn`, and continues when it is sent
// back unchanged. Clients of this protocol do that themselves; for others the gateway does, and joins the parts into one answer.
// https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons
import { isObject, type JsonObject, type JsonValue } from '../../canonical/json.ts';
import { rawJson, keepSource, mayDiffer, type ArgumentsPath, type Source } from '../json/raw-json.ts';
import { scanMembers, splice, type Edit } from '../json/splice.ts';
import type { PauseTurn, TurnJoiner } from '../interface/features.ts';
import { makeFrame, type Frame } from '../sse/frame.ts';
import { list, text } from './wire-types.ts';
import { createSpliceWatch, unfoldStart } from './stream/message-start.ts';
import { addUsage, readUsage, writeTally, type UsageTally } from './reply/ending.ts';
import { argumentsToObject } from '../shared/tools/tool-names.ts';
import { addMembers } from './stream/decoder-blocks.ts';

const PAUSE = 'pause_turn';

function isPaused(value: unknown): value is JsonObject {
  return isObject(value) && value.stop_reason === PAUSE && Array.isArray(value.content);
}

/** Files of server tools are in the container, so the next call must name it. */
function resume(bytes: Buffer, turn: JsonObject): Buffer {
  const members = scanMembers(bytes, Infinity);
  const edits: Edit[] = [];
  const messages = members.get('messages');
  if (messages !== undefined) {
    const end = messages.end - 1;
    const isFirst = end === messages.start + 1;
    const message = rawJson({ role: 'assistant', content: list(turn.content) });
    edits.push({ start: end, end, text: `${isFirst ? '' : ','}${message}` });
  }
  const id = isObject(turn.container) ? text(turn.container.id) : undefined;
  if (id !== undefined) {
    const { start, end } = members.get('container') ?? { start: members.close, end: members.close };
    const name = start === end ? ',"container":' : '';
    edits.push({ start, end, text: name + JSON.stringify(id) });
  }
  return splice(bytes, edits);
}

/** Those of server tools, too: they are sent back as well. `steps` lead to the list. */
function keepInputs(reply: JsonObject, source: Source, steps: ArgumentsPath['steps'] = ['content']): void {
  const places: ArgumentsPath[] = [];
  for (const [index, block] of list(reply.content).entries()) {
    if (isObject(block) && mayDiffer(block.input)) {
      places.push({ holder: block, name: 'input', steps: [...steps, index] });
    }
  }
  keepSource(source, places);
}

/** The stop reason is that of the later reply; the content of the earlier one comes first, and the usage is the sum of both. */
function join(first: JsonObject, second: JsonObject): JsonObject {
  const tally: UsageTally = {};
  for (const { usage } of [first, second]) {
    const part: UsageTally = {};
    readUsage(part, usage);
    addUsage(tally, part);
  }
  return {
    ...second,
    id: first.id ?? null,
    content: [...list(first.content), ...list(second.content)],
    container: second.container ?? first.container ?? null,
    usage: { ...(isObject(second.usage) ? second.usage : {}), ...writeTally(tally) },
  };
}

function frameOf(value: JsonObject): Frame {
  return makeFrame(text(value.type) ?? '', rawJson(value));
}

/** The frames of several calls as those of one stream: blocks are counted on, usage is added up. */
class StreamJoiner implements TurnJoiner {
  #content: JsonValue[] = [];
  #container: JsonValue = null;
  /** Of the calls before this one. */
  readonly #before: UsageTally = {};
  /** Calls before this one, and their blocks. */
  #calls = 0;
  #offset = 0;
  // -- this call --
  #kept = new TurnBlocks();
  #isSpliced = createSpliceWatch();
  #tally: UsageTally = {};
  #blocks = 0;
  /** The last frames of a paused turn. They are not sent if the turn continues. */
  #held: Frame[] = [];
  #letGo = false;

  push(frame: Frame): Frame[] {
    if (this.#held.length > 0) {
      this.#held.push(frame);
      return [];
    }
    const { value } = frame;
    if (!isObject(value)) return [frame];
    switch (value.type) {
      case 'message_start':
        return this.#messageStart(frame, value);
      case 'message_delta':
        return this.#messageDelta(frame, value);
      case 'content_block_start':
      case 'content_block_delta':
      case 'content_block_stop':
        if (!this.#letGo) this.#kept.push(value, frame.data);
        return [this.#numbered(frame, value)];
      default:
        return [frame];
    }
  }

  /** One start is enough, unless it is another message's: that is for the reader to see. */
  #messageStart(frame: Frame, value: JsonObject): Frame[] {
    const { message } = value;
    if (this.#isSpliced(message)) return [frame];
    readUsage(this.#tally, isObject(message) ? message.usage : undefined);
    const [start = value, ...rest] = unfoldStart(value);
    if (rest.length === 0) return this.#calls === 0 ? [frame] : [];
    if (isObject(message)) keepInputs(message, frame.data, ['message', 'content']);
    const frames = this.#calls === 0 ? [frameOf(start)] : [];
    for (const event of rest) frames.push(...this.push(frameOf(event)));
    return frames;
  }

  #numbered(frame: Frame, value: JsonObject): Frame {
    const { index } = value;
    if (typeof index !== 'number') return frame;
    this.#blocks = Math.max(this.#blocks, index + 1);
    return this.#offset === 0
      ? frame
      : makeFrame(frame.event, rawJson({ ...value, index: index + this.#offset }));
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
    return { content: [...this.#content, ...this.#kept.all()], container: this.#container };
  }

  next(turn: JsonObject): Frame[] {
    addUsage(this.#before, this.#tally);
    this.#content = list(turn.content);
    this.#calls++;
    this.#offset += this.#blocks;
    this.#blocks = 0;
    this.#tally = {};
    this.#held = [];
    this.#kept = new TurnBlocks();
    this.#isSpliced = createSpliceWatch();
    // What was paid for up to here counts even if the rest fails.
    const delta = { type: 'message_delta', delta: { stop_reason: null }, usage: writeTally(this.#before) };
    return [makeFrame('message_delta', JSON.stringify(delta))];
  }

  letGo(): void {
    if (this.#letGo) return;
    this.#letGo = true;
    this.#content = [];
    this.#kept = new TurnBlocks();
  }

  giveUp(): Frame[] {
    return this.#held.splice(0);
  }
}

export const pauseTurn: PauseTurn = {
  isPaused,
  keepInputs: (reply, source) => keepInputs(reply, source),
  resume,
  join,
  createJoiner: () => new StreamJoiner(),
};

const STEPS = ['content_block'];

interface Building {
  block: JsonObject;
  /** Pieces of its input so far. */
  json: string;
  open: boolean;
}

class TurnBlocks {
  readonly #order: Building[] = [];
  readonly #byIndex = new Map<unknown, Building>();

  /** A content_block_* event, which was read from `source`. */
  push(value: JsonObject, source: string): void {
    const { type, index, content_block: block, delta } = value;
    if (type === 'content_block_start') {
      if (isObject(block)) this.#start(index, block, source);
      return;
    }
    const building = this.#byIndex.get(index);
    if (building === undefined) return;
    if (type === 'content_block_stop') building.open = false;
    else if (isObject(delta)) add(building, delta);
  }

  #start(index: unknown, block: JsonObject, source: string): void {
    const before = this.#byIndex.get(index);
    // llama.cpp once sent the start of an open block twice.
    if (before?.open === true && before.block.type === block.type) return;
    if (mayDiffer(block.input)) keepSource(source, [{ holder: block, name: 'input', steps: STEPS }]);
    const building = { block: copyOf(block), json: '', open: true };
    this.#order.push(building);
    this.#byIndex.set(index, building);
  }

  all(): JsonObject[] {
    return this.#order.map(whole);
  }
}

/** Deltas are added to the copy; the frame's own value has other readers. */
function copyOf(block: JsonObject): JsonObject {
  const { citations } = block;
  return Array.isArray(citations) ? { ...block, citations: [...citations] } : { ...block };
}

function add(building: Building, delta: JsonObject): void {
  const { block } = building;
  switch (delta.type) {
    case 'text_delta':
      block.text = (text(block.text) ?? '') + (text(delta.text) ?? '');
      return;
    case 'thinking_delta':
      block.thinking = (text(block.thinking) ?? '') + (text(delta.thinking) ?? '');
      return;
    case 'signature_delta':
      block.signature = delta.signature ?? block.signature ?? null;
      return;
    case 'input_json_delta':
      building.json += text(delta.partial_json) ?? '';
      return;
    case 'citations_delta':
      cite(block, delta.citation);
      return;
    default:
      addMembers(block, delta);
  }
}

function cite(block: JsonObject, citation: JsonValue | undefined): void {
  if (citation === undefined) return;
  if (Array.isArray(block.citations)) block.citations.push(citation);
  else block.citations = [citation];
}

/** An input that is no object stays as the start frame had it. */
function whole({ block, json }: Building): JsonObject {
  if (json === '') return block;
  const { value: input, repaired } = argumentsToObject(json);
  return repaired ? block : { ...block, input };
}
