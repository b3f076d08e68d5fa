// Answers that later requests refer to, by `previous_response_id` or `item_reference`: what a body refers to, the body with what
// was stored in the references' place, and what to store of an answer.
// https://platform.openai.com/docs/guides/conversation-state
import { isObject, type JsonObject, type JsonValue } from '../../canonical/json.ts';
import { GatewayError } from '../../errors.ts';
import { cutsOf, splice } from '../json/splice.ts';
import type { AnswerToStore, NewStored, References, RelayedBody, StoredAnswers } from '../protocol.ts';
import { SEAL_MARK } from './reply/items.ts';

const REASONING_PREFIX = 'rs_';
/** All are read at once, before any other request goes on. A conversation of a day has some hundred. */
const MOST_REFERENCES = 2000;

/** One record under the id of its answer. */
interface AnswerRecord {
  response: JsonObject;
  /** All that the answer was made from, references resolved. */
  input: JsonValue[];
  /** The provider that knows the answer under the same id, as it was relayed. */
  heldBy?: string;
}

/** One record under the id of an output item. */
interface ItemRecord {
  item: JsonObject;
  heldBy?: string;
}

const isWanted = (value: JsonObject): boolean => value.store !== false;

const NONE: References = { ids: [], bare: [], sealed: [] };

/** Most items are messages without an id. */
function mayRefer(item: JsonValue): boolean {
  return isObject(item) && (item.id !== undefined || item.encrypted_content !== undefined);
}

function references(value: JsonObject): References {
  const { previous_response_id: previous, input } = value;
  const items = Array.isArray(input) ? input : [];
  const hasPrevious = typeof previous === 'string' && previous !== '';
  if (!hasPrevious && !items.some(mayRefer)) return NONE;
  const ids = new Set<string>(hasPrevious ? [previous] : []);
  const bare = new Set<string>();
  const sealed: string[] = [];
  for (const item of items) {
    if (!isObject(item)) continue;
    const { encrypted_content: content } = item;
    if (isReference(item)) ids.add(item.id);
    else if (isBare(item)) bare.add(item.id);
    else if (typeof content === 'string' && content.startsWith(SEAL_MARK)) sealed.push(content);
  }
  if (ids.size + bare.size > MOST_REFERENCES) {
    const message = `input refers to more than ${MOST_REFERENCES} stored items; send the items themselves`;
    throw new GatewayError('invalid_request', message, { param: 'input' });
  }
  return { ids: [...ids], bare: [...bare], sealed };
}

/** Reasoning as clients send it back that did not ask for its encrypted content. */
function isBare(item: JsonObject): item is JsonObject & { id: string } {
  return (
    item.type === 'reasoning' && typeof item.id === 'string' && typeof item.encrypted_content !== 'string'
  );
}

/** The type may be left out where there is nothing but an id. */
function isReference(item: JsonObject): item is JsonObject & { id: string } {
  if (typeof item.id !== 'string') return false;
  return item.type === 'item_reference' || (item.type === undefined && Object.keys(item).length === 1);
}

function inline(
  { bytes, members, value }: RelayedBody,
  { texts, opened }: { texts: ReadonlyMap<string, string>; opened: ReadonlyMap<string, string> },
  use: 'translated' | 'relayed',
): Buffer {
  const { previous_response_id: previous } = value;
  const before = typeof previous === 'string' && previous !== '' ? itemsBefore(previous, texts) : [];
  const own = inputItems(value).map((item) => {
    if (!isObject(item)) return item;
    if (isReference(item)) return itemOf(item.id, texts);
    if (isBare(item)) return completed(item, texts);
    const json = typeof item.encrypted_content === 'string' ? opened.get(item.encrypted_content) : undefined;
    return json === undefined ? item : { ...item, encrypted_content: json };
  });
  const items = [...before, ...own];
  const input = JSON.stringify(use === 'relayed' ? items.filter((item) => !isOnlyOurs(item)) : items);
  // The rest stays byte for byte: JSON.parse rounds the long integers of a tool's schema.
  const start = members.open + 1;
  const written = members.get('input');
  const edit =
    written === undefined ? { start, end: start, text: `"input":${input},` } : { ...written, text: input };
  const spans = members.list.map(({ nameStart, end }) => ({ start: nameStart, end }));
  const linked = members.list.findIndex(({ name }) => name === 'previous_response_id');
  const cuts = linked === -1 ? [] : cutsOf(spans, [linked]).map((range) => ({ ...range, text: '' }));
  return splice(bytes, [edit, ...cuts]);
}

/** Reasoning that another protocol's provider signed, or that is not stored any more: no provider of this protocol reads it. */
function isOnlyOurs(item: JsonValue): boolean {
  if (!isObject(item) || item.type !== 'reasoning') return false;
  const { encrypted_content: content } = item;
  return typeof content !== 'string' || content.startsWith(SEAL_MARK) || content.startsWith('{');
}

function itemsBefore(id: string, texts: ReadonlyMap<string, string>): JsonValue[] {
  const record = answerRecord(texts.get(id));
  if (record === undefined) {
    throw new GatewayError('invalid_request', `Previous response with id '${id}' not found.`, {
      param: 'previous_response_id',
      code: 'previous_response_not_found',
    });
  }
  return [...record.input, ...outputOf(record.response)];
}

/** Only hidden thoughts are lost with a reasoning item: what stands in its place is left out, and reported, when it is decoded. */
function itemOf(id: string, texts: ReadonlyMap<string, string>): JsonObject {
  const item = storedItem(id, texts);
  if (item !== undefined) return item;
  if (id.startsWith(REASONING_PREFIX)) {
    return { type: 'reasoning', id, summary: [], encrypted_content: `${SEAL_MARK}missing` };
  }
  const message = `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`;
  throw new GatewayError('invalid_request', message, { param: 'input' });
}

/** With the thinking that is stored beside it, where there is some. */
function completed(item: JsonObject & { id: string }, texts: ReadonlyMap<string, string>): JsonObject {
  const content = storedItem(item.id, texts)?.encrypted_content;
  return content === undefined ? item : { ...item, encrypted_content: content };
}

/** undefined: nothing is stored under this id, or it is an answer's. */
function storedItem(id: string, texts: ReadonlyMap<string, string>): JsonObject | undefined {
  const text = texts.get(id);
  return text === undefined ? undefined : (JSON.parse(text) as Partial<ItemRecord>).item;
}

function answerRecord(text: string | undefined): AnswerRecord | undefined {
  if (text === undefined) return undefined;
  const record = JSON.parse(text) as Partial<AnswerRecord>;
  return record.response === undefined || record.input === undefined ? undefined : (record as AnswerRecord);
}

/** A text is one message of the user. */
function inputItems({ input }: JsonObject): JsonValue[] {
  if (Array.isArray(input)) return input;
  return typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : [];
}

function outputOf({ output }: JsonObject): JsonObject[] {
  return Array.isArray(output) ? output.filter(isObject) : [];
}

/** Only the provider that relayed them all can resolve them itself. */
function heldBy(ids: readonly string[], texts: ReadonlyMap<string, string>): string | undefined {
  const holders = new Set(
    ids.map((id) => {
      const text = texts.get(id);
      return text === undefined ? undefined : (JSON.parse(text) as { heldBy?: string }).heldBy;
    }),
  );
  const [only] = holders;
  return holders.size === 1 ? only : undefined;
}

function toStore({ request, answer, holder, hidden }: AnswerToStore): NewStored[] {
  if (!isWanted(request) || typeof answer.id !== 'string') return [];
  const isWhole = hidden === undefined || hidden.size === 0;
  const output = isWhole ? outputOf(answer) : outputOf(answer).map((item) => withHidden(item, hidden));
  const response = isWhole ? answer : { ...answer, output };
  const record: AnswerRecord = { response, input: inputItems(request), heldBy: holder };
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

function show(text: string, query: URLSearchParams): JsonObject | undefined {
  if (query.get('stream') === 'true') {
    throw new GatewayError('invalid_request', 'a stored response is whole; retrieve it without stream', {
      param: 'stream',
    });
  }
  const response = answerRecord(text)?.response;
  return response && { ...response, output: outputOf(response).map(shown) };
}

/** Without what was stored beside what the client got. */
function shown(item: JsonObject): JsonObject {
  const { encrypted_content: content, ...rest } = item;
  return typeof content === 'string' && content.startsWith('{') ? rest : item;
}

const DEFAULT_PAGE = 20;
const LARGEST_PAGE = 100;

/** https://platform.openai.com/docs/api-reference/responses/input-items */
function showInput(id: string, text: string, query: URLSearchParams): JsonObject | undefined {
  const record = answerRecord(text);
  if (record === undefined) return undefined;
  const limit = Number(query.get('limit') ?? DEFAULT_PAGE);
  if (!Number.isInteger(limit) || limit < 1 || limit > LARGEST_PAGE) {
    throw new GatewayError('invalid_request', `limit must be a number from 1 to ${LARGEST_PAGE}`, {
      param: 'limit',
    });
  }
  const ownId = id.replace(/^resp_/, 'msg_');
  const items = record.input.filter(isObject).map((item, at) => listed(shown(item), `${ownId}_${at}`));
  if (query.get('order') !== 'asc') items.reverse();
  const after = query.get('after');
  const from = after === null ? 0 : items.findIndex((item) => item.id === after) + 1;
  const data = items.slice(from, from + limit);
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: from + data.length < items.length,
  };
}

/** Lists show every item with an id and a type, and a message's text as parts. */
function listed(item: JsonObject, id: string): JsonObject {
  const { type = 'message', role, content } = item;
  if (type !== 'message' || typeof content !== 'string') return { id, type, ...item };
  const part = role === 'assistant' ? 'output_text' : 'input_text';
  const parts: JsonObject = { type: part, text: content };
  if (role === 'assistant') parts.annotations = [];
  return { id, type, status: 'completed', ...item, content: [parts] };
}

function idsOf(id: string, text: string): string[] | undefined {
  const record = answerRecord(text);
  if (record === undefined) return undefined;
  return [id, ...outputOf(record.response).flatMap((item) => (typeof item.id === 'string' ? [item.id] : []))];
}

export const stored: StoredAnswers = {
  isWanted,
  references,
  inline,
  heldBy,
  toStore,
  show,
  inputPath: '/input_items',
  showInput,
  idsOf,
  showDeleted: (id) => ({ id, object: 'response', deleted: true }),
  notFound: (id) =>
    new GatewayError('not_found', `Response with id '${id}' not found.`, { param: 'response_id' }),
};
