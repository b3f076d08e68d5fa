// What is stored of an answer: one record under its own id, with all that it was made from, and one under the id of each of its items.
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import type { AnswerPlace, AnswerToStore, NewStored } from '../../protocol.ts';

/** One record under the id of its answer. */
export interface AnswerRecord {
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

  has(id: string): boolean {
    return this.#texts.has(id);
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
    const record = JSON.parse(text) as Partial<AnswerRecord & ItemRecord>;
    this.#parsed.set(id, record);
    return record;
  }
}

export function answerRecord(text: string): AnswerRecord | undefined {
  return new StoredRecords(new Map([['', text]])).answer('');
}

export const isWanted = (value: JsonObject): boolean => value.store !== false;

/** A text is one message of the user. */
export function inputItems({ input }: JsonObject): JsonValue[] {
  if (Array.isArray(input)) return input;
  return typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : [];
}

export function outputOf({ output }: JsonObject): JsonObject[] {
  return Array.isArray(output) ? output.filter(isObject) : [];
}

export function toStore({ request, answer, holder, keptAt, hidden }: AnswerToStore): NewStored[] {
  if (typeof answer.id !== 'string' || (request !== undefined && !isWanted(request))) return [];
  const isWhole = hidden === undefined || hidden.size === 0;
  const output = isWhole ? outputOf(answer) : outputOf(answer).map((item) => withHidden(item, hidden));
  const response = isWhole ? answer : { ...answer, output };
  const input = request === undefined ? undefined : inputItems(request);
  const record: AnswerRecord = { response, input, heldBy: holder, keptAt };
  const items = output.flatMap((item) => {
    if (typeof item.id !== 'string') return [];
    const one: ItemRecord = { item, heldBy: holder };
    return [{ id: item.id, text: JSON.stringify(one) }];
  });
  return [{ id: answer.id, text: JSON.stringify(record) }, ...items];
}

/** Thinking that the client did not ask to have is stored with its item, opened: the record is encrypted. */
function withHidden(item: JsonObject, hidden: ReadonlyMap<string, string> | undefined): JsonObject {
  const content = typeof item.id === 'string' ? hidden?.get(item.id) : undefined;
  return content === undefined ? item : { ...item, encrypted_content: content };
}
