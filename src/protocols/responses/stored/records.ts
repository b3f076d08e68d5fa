// What is stored of an answer: one record under its own id, with all that it was made from, and one under the id of each of its items.
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import type { AnswerPlace, AnswerToStore, NewStored } from '../../interface/features.ts';
import type { RelayedBody } from '../../interface/bodies.ts';
import { parseJson } from '../../json/values.ts';

/** One record under the id of its answer. */
interface AnswerRecord {
  response: JsonObject;
  /** All that the answer was made from, references resolved; absent where that is more than one request may hold. */
  input?: JsonValue[];
  /** The provider that knows the answer under the same id, as it was relayed. */
  heldBy?: string;
  /** A provider that keeps the answer under an id of its own. */
  keptAt?: AnswerPlace;
}

/** One record under the id of an output item. */
interface ItemRecord {
  item: JsonObject;
  heldBy?: string;
}

/** Records of stored texts. Each text is parsed at most once, however often a body names it. */
export class StoredRecords {
  readonly #texts: ReadonlyMap<string, string>;
  readonly #parsed = new Map<string, Partial<AnswerRecord & ItemRecord>>();

  constructor(texts: ReadonlyMap<string, string>) {
    this.#texts = texts;
  }

  /** undefined: nothing is stored under this id, or it is an answer's. */
  item(id: string): JsonObject | undefined {
    return this.#record(id)?.item;
  }

  /** undefined: nothing is stored under this id, or it is an item's. */
  answer(id: string): AnswerRecord | undefined {
    const record = this.#record(id);
    return record?.response === undefined ? undefined : (record as AnswerRecord);
  }

  /** The provider that knows it under this id. */
  holder(id: string): string | undefined {
    return this.#record(id)?.heldBy;
  }

  #record(id: string): Partial<AnswerRecord & ItemRecord> | undefined {
    const known = this.#parsed.get(id);
    if (known !== undefined) return known;
    const text = this.#texts.get(id);
    if (text === undefined) return undefined;
    const record = parseJson(text) as Partial<AnswerRecord & ItemRecord>;
    this.#parsed.set(id, record);
    return record;
  }
}

/** Where an answer is kept; undefined: the text is not an answer's. */
export function placeOf(
  id: string,
  text: string,
): { items: string[]; keptAt: AnswerPlace | undefined } | undefined {
  const records = new StoredRecords(new Map([['', text]]));
  const holder = records.holder('');
  const held = holder === undefined ? undefined : { provider: holder, id };
  const record = records.answer('');
  if (record === undefined) {
    return held === undefined || records.item('') ? undefined : { items: [], keptAt: held };
  }
  const items = outputOf(record.response).flatMap((item) => (typeof item.id === 'string' ? [item.id] : []));
  return { items, keptAt: record.keptAt ?? held };
}

export function answerRecord(text: string): AnswerRecord | undefined {
  return new StoredRecords(new Map([['', text]])).answer('');
}

export const isWanted = (value: JsonObject): boolean => value.store !== false;

export function outputOf({ output }: JsonObject): JsonObject[] {
  return Array.isArray(output) ? output.filter(isObject) : [];
}

/** Characters of an answer and its items: about all that an account may store. What is larger, the provider that holds it keeps alone;
 * here is known whose it is. */
const MOST_BESIDE_HOLDER = 60 * 1024 * 1024;

const QUOTE = 0x22;
const OPEN_ARRAY = 0x5b;

/** The items of the input as JSON, as the client wrote them; a text is one message of the user. */
function inputJson({ bytes, members }: Pick<RelayedBody, 'bytes' | 'members'>): string {
  const input = members.get('input');
  const first = input === undefined ? undefined : bytes[input.start];
  if (input === undefined || (first !== QUOTE && first !== OPEN_ARRAY)) return '[]';
  const json = bytes.toString('utf8', input.start, input.end);
  return first === QUOTE ? `[{"type":"message","role":"user","content":${json}}]` : json;
}

export function toStore({ request, answer, holder, keptAt, hidden }: AnswerToStore): NewStored[] {
  if (typeof answer.id !== 'string') return [];
  const held = holder === undefined ? '' : `"heldBy":${JSON.stringify(holder)}`;
  const heldBy = held === '' ? '' : `,${held}`;
  const items = outputOf(answer).map((item) => new WrittenOnce(withHidden(item, hidden)));
  const record = (): string => {
    const input = request === undefined ? '' : `,"input":${inputJson(request)}`;
    const kept = keptAt === undefined ? '' : `,"keptAt":${JSON.stringify(keptAt)}`;
    return `{"response":${responseJson(answer, items)}${input}${heldBy}${kept}}`;
  };
  const size = items.reduce((sum, item) => sum + item.size, request?.bytes.length ?? 0);
  const stored = items.flatMap((item) =>
    item.id === undefined
      ? []
      : [{ id: item.id, text: () => `{"item":${item.json}${heldBy}}`, size: item.size }],
  );
  const all = [{ id: answer.id, text: record, size }, ...stored];
  const total = all.reduce((sum, one) => sum + one.size, 0);
  if (held === '' || total <= MOST_BESIDE_HOLDER) return all;
  return all.map(({ id }) => ({ id, text: () => `{${held}}`, size: held.length }));
}

/** An item stands in its own record and in its answer's. */
class WrittenOnce {
  readonly id: string | undefined;
  readonly size: number;
  readonly #item: JsonObject;
  #json: string | undefined;

  constructor(item: JsonObject) {
    this.id = typeof item.id === 'string' ? item.id : undefined;
    this.size = sizeOf(item);
    this.#item = item;
  }

  get json(): string {
    return (this.#json ??= JSON.stringify(this.#item));
  }
}

/** Members keep their order. */
function responseJson(answer: JsonObject, items: readonly WrittenOnce[]): string {
  const members = Object.entries(answer).flatMap(([name, value]) => {
    if (value === undefined) return [];
    const json = name === 'output' ? `[${items.map((item) => item.json).join(',')}]` : JSON.stringify(value);
    return [`${JSON.stringify(name)}:${json}`];
  });
  return `{${members.join(',')}}`;
}

/** Characters of a value as JSON, about: to count them takes less than to write them. */
function sizeOf(value: JsonValue | undefined): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value !== 'object' || value === null) return 5;
  let size = 2;
  if (Array.isArray(value)) for (const item of value) size += sizeOf(item) + 1;
  else for (const name in value) size += name.length + 4 + sizeOf(value[name]);
  return size;
}

/** Thinking that the client did not ask to have is stored with its item, opened: the record is encrypted. */
function withHidden(item: JsonObject, hidden: ReadonlyMap<string, string> | undefined): JsonObject {
  const content = typeof item.id === 'string' ? hidden?.get(item.id) : undefined;
  return content === undefined ? item : { ...item, encrypted_content: content };
}
