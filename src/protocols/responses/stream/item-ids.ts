// Ids for the items of a relayed stream whose server gives none: readers with schemas refuse its events. They are made of the
// Response's id, so that an item has the same one in all its events.
import { isObject, type JsonObject, type JsonValue, stringOf } from '../../../canonical/json.ts';
import { listOf } from '../reply/decode.ts';

const PREFIXES: ReadonlyMap<JsonValue | undefined, string> = new Map([
  ['message', 'msg'],
  ['reasoning', 'rs'],
  ['function_call', 'fc'],
  ['custom_tool_call', 'ctc'],
]);
/** Characters of a Response's id: an item's id has at most 64. */
const MOST_OF_ID = 40;
const MOST_ITEMS = 10_000;

export class ItemIds {
  #response = '';
  /** By output index. */
  readonly #ids = new Map<number, string>();

  /** The event with the ids that it lacks; the same object if it lacks none. */
  complete(value: JsonObject): JsonObject {
    const { output_index: index, item, item_id: given, response } = value;
    if (isObject(response)) return this.#withOutput(value, response);
    if (typeof index !== 'number') return value;
    if (isObject(item)) {
      const named = this.#named(item, index);
      return named === item ? value : { ...value, item: named };
    }
    if (stringOf(given) !== '') return value;
    const id = this.#ids.get(index);
    return id === undefined ? value : { ...value, item_id: id };
  }

  #withOutput(value: JsonObject, response: JsonObject): JsonObject {
    this.#response = stringOf(response.id) || this.#response;
    const output = listOf(response.output);
    const named = output.map((item, index) => (isObject(item) ? this.#named(item, index) : item));
    if (named.every((item, index) => item === output[index])) return value;
    return { ...value, response: { ...response, output: named } };
  }

  /** The same item if it has an id. */
  #named(item: JsonObject, index: number): JsonObject {
    const own = stringOf(item.id);
    const id = own || (this.#ids.get(index) ?? this.#made(item, index));
    if (this.#ids.size < MOST_ITEMS) this.#ids.set(index, id);
    return own === '' ? { ...item, id } : item;
  }

  #made({ type }: JsonObject, index: number): string {
    const unique = this.#response.replace(/^resp_/, '').slice(-MOST_OF_ID);
    return `${PREFIXES.get(type) ?? 'item'}_${unique}${unique === '' ? '' : '_'}${index}`;
  }
}
