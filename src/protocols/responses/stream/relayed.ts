// A relayed stream of the responses protocol: its output so far, and its frames if it continues a stream that the gateway
// itself opened. Then a second `response.created` is dropped: readers take it for a second answer. Numbers continue those of
// the opening. The Response has the id of the opening in each event, since some readers take the id from the first event (AI SDK,
// LangChain) and others from the last (Codex, the official SDK); an answer that the gateway does not store has the provider's id,
// which alone can be referred to.
import { isObject, type JsonObject, type JsonValue, stringOf } from '../../../canonical/json.ts';
import type { ReplyContext, ReplyIds } from '../../interface/answer.ts';
import { parseJson } from '../../json/values.ts';
import type { Frame } from '../../sse/splitter.ts';
import { listOf } from '../reply/decode.ts';
import { isReferable } from '../reply/response.ts';
import { typeOf } from './decoder.ts';
import type { Numbered } from './open-item.ts';

/** Characters of frames that wait. */
const MOST_WAITING = 1024 * 1024;

/** Where a piece goes: a member of its item, or of the part of one of its lists. */
interface Place {
  member: string;
  list?: 'content' | 'summary';
}

const PLACES: ReadonlyMap<string, Place> = new Map<string, Place>([
  ['output_text', { list: 'content', member: 'text' }],
  ['refusal', { list: 'content', member: 'refusal' }],
  ['reasoning_text', { list: 'content', member: 'text' }],
  ['reasoning_summary_text', { list: 'summary', member: 'text' }],
  ['function_call_arguments', { member: 'arguments' }],
  ['mcp_call_arguments', { member: 'arguments' }],
  ['custom_tool_call_input', { member: 'input' }],
  ['code_interpreter_call_code', { member: 'code' }],
]);

/** The output as far as it came. Frames of pieces wait unread until the output is asked for while their item is open, or until many wait. */
export class OutputSoFar {
  /** By output index. */
  readonly #items = new Map<number, JsonObject>();
  readonly #open = new Set<number>();
  /** Items and lists that were made here: pieces are put into them. All others belong to the frames that brought them. */
  #own = new WeakSet<object>();
  #waiting: string[] = [];
  #size = 0;

  /** An item begins, or is whole. */
  item(index: number, item: JsonObject, isWhole: boolean): void {
    if (isWhole) this.#open.delete(index);
    // Mostly its pieces are in it, and nothing else waits.
    if (isWhole && this.#open.size === 0) this.#clear();
    else this.#settle();
    if (!isWhole) this.#open.add(index);
    this.#items.set(index, item);
  }

  /** Frames of pieces, as latin1. */
  pieces(frames: string): void {
    this.#waiting.push(frames);
    this.#size += frames.length;
    if (this.#size > MOST_WAITING) this.#settle();
  }

  list(): JsonObject[] {
    this.#settle();
    this.#own = new WeakSet();
    return [...this.#items].sort(([a], [b]) => a - b).map(([, item]) => item);
  }

  #clear(): void {
    this.#waiting = [];
    this.#size = 0;
  }

  #settle(): void {
    if (this.#waiting.length === 0) return;
    const text = Buffer.from(this.#waiting.join(''), 'latin1').toString();
    this.#clear();
    // Pieces that follow one another in one place are one.
    let last: JsonObject | undefined;
    for (const frame of text.replaceAll('\r', '').split('\n\n')) {
      const value = dataOf(frame);
      if (value === undefined) continue;
      if (last !== undefined && goesOn(last, value)) {
        last.delta = stringOf(last.delta) + stringOf(value.delta);
        continue;
      }
      if (last !== undefined) this.#piece(last);
      last = value;
    }
    if (last !== undefined) this.#piece(last);
  }

  #piece(value: JsonObject): void {
    const { output_index: index } = value;
    const item = typeof index === 'number' ? this.#items.get(index) : undefined;
    if (typeof index !== 'number' || item === undefined) return;
    const [, name = '', end] =
      /^response\.(.+?)(?:_part)?\.(added|delta|done)$/.exec(typeOf(value, '')) ?? [];
    if (isObject(value.part)) {
      this.#putPart(index, item, name === 'content' ? 'content' : 'summary', value, value.part);
      return;
    }
    const place = PLACES.get(name);
    if (place === undefined || end === undefined) return;
    const { list, member } = place;
    if (list === undefined) {
      this.#items.set(index, extended(item, member, value));
      return;
    }
    const part = listOf(item[list])[placeIn(list, value)];
    if (isObject(part)) this.#putPart(index, item, list, value, extended(part, member, value));
  }

  /** Lists are copied once, not for each of their parts. */
  #putPart(
    index: number,
    item: JsonObject,
    list: 'content' | 'summary',
    value: JsonObject,
    part: JsonObject,
  ): void {
    const at = placeIn(list, value);
    let parts = listOf(item[list]);
    // A part comes behind those before it: a provider's number beyond them would make a list of holes.
    if (!Number.isInteger(at) || at < 0 || at > parts.length) return;
    if (!this.#own.has(parts)) {
      parts = [...parts];
      this.#own.add(parts);
      this.#items.set(index, { ...item, [list]: parts });
    }
    parts[at] = part;
  }
}

const DATA = 'data:';

function goesOn(last: JsonObject, value: JsonObject): boolean {
  return (
    typeof value.delta === 'string' &&
    typeof last.delta === 'string' &&
    last.type === value.type &&
    last.output_index === value.output_index &&
    last.content_index === value.content_index &&
    last.summary_index === value.summary_index
  );
}

/** The event of a frame; undefined: a comment, or nothing that can be read. */
export function dataOf(frame: string): JsonObject | undefined {
  const start = frame.startsWith(DATA) ? 0 : frame.indexOf(`\n${DATA}`) + 1;
  if (start === 0 && !frame.startsWith(DATA)) return undefined;
  try {
    const value = parseJson(frame.slice(start + DATA.length).replaceAll(`\n${DATA}`, '\n'));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function placeIn(list: 'content' | 'summary', value: JsonObject): number {
  const at = list === 'content' ? value.content_index : value.summary_index;
  return typeof at === 'number' ? at : 0;
}

/** With the piece at the end of the member, or with all of it. */
function extended(part: JsonObject, member: string, { delta, ...value }: JsonObject): JsonObject {
  const whole: JsonValue | undefined = value[member];
  if (typeof delta === 'string') return { ...part, [member]: stringOf(part[member]) + delta };
  return typeof whole === 'string' ? { ...part, [member]: whole } : part;
}

/** Not inside a string, where its quotes would be escaped. */
const NUMBER = /"sequence_number": ?\d+/;
const DELTA = '.delta';
const NOTHING = Buffer.alloc(0);

/** Frames that continue an opened stream. */
export class AdoptedFrames {
  readonly #frames: Numbered;
  readonly #id: string;
  readonly #context: ReplyContext;
  #replyIds: ReplyIds | undefined;
  /** The Response of the last event that had one. */
  #response: JsonObject | undefined;
  /** Some servers leave the output to the items' own events. */
  readonly #output = new OutputSoFar();

  /** `id`: of the Response that was opened. */
  constructor(frames: Numbered, id: string, context: ReplyContext) {
    this.#frames = frames;
    this.#id = id;
    this.#context = context;
  }

  adopt(frame: Frame): Buffer {
    if (frame.event.endsWith(DELTA)) return latin1(this.#numbered(frame.text));
    const { value } = frame;
    if (!isObject(value)) return frame.bytes;
    const type = typeOf(value, frame.event);
    const { response, item, output_index: index } = value;
    if (isObject(response)) this.#response = response;
    if (isObject(item) && typeof index === 'number') this.#output.item(index, item, type.endsWith('.done'));
    if (type === 'response.created') return NOTHING;
    return latin1(this.#named(this.#numbered(frame.text), response));
  }

  answer(): JsonObject | undefined {
    if (this.#response === undefined) return undefined;
    const output = listOf(this.#response.output).length > 0 ? this.#response.output : this.#output.list();
    return { ...this.#response, id: this.#id, output };
  }

  replyIds(): ReplyIds | undefined {
    return this.#replyIds;
  }

  #numbered(text: string): string {
    return text.replace(NUMBER, () => `"sequence_number":${this.#frames.next()}`);
  }

  #named(text: string, response: unknown): string {
    const id = isObject(response) ? stringOf(response.id) : '';
    if (id === '' || id === this.#id || !isReferable(this.#context)) return text;
    this.#replyIds = { theirs: id, ours: this.#id };
    return text.replace(`"${id}"`, () => `"${this.#id}"`);
  }
}

function latin1(text: string): Buffer {
  return Buffer.from(text, 'latin1');
}
