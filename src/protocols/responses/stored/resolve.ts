// A responses body without its references: what was stored stands in their place. The result is bounded while it is made, because a
// small body can name a large item any number of times.
import { isObject, stringOf, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import { GatewayError } from '../../../errors.ts';
import { plural } from '../../../plural.ts';
import { cutsOf, measureJson, rangesOf, splice, type Edit } from '../../json/splice.ts';
import type { BodyBounds, FoundAnswers, ResolvedBody } from '../../interface/features.ts';
import type { RelayedBody } from '../../interface/bodies.ts';
import { isCompaction, summaryMessage } from '../compaction.ts';
import { SEAL_MARK } from '../reply/items.ts';
import { containerOf, previousOf, roleOf, type ItemRole } from './references.ts';
import { outputOf, StoredRecords } from './records.ts';

const REASONING_PREFIX = 'rs_';

/** Whom the body is for: a provider that keeps answers itself, or another protocol's. */
interface Reader {
  /** undefined: the body is translated. */
  provider: string | undefined;
  /** Ids that are unknown here are the provider's to judge. */
  sharedIds: boolean;
}

/** Bytes after which other requests are served. */
const STEP = 1024 * 1024;

const TRANSLATION: Reader = { provider: undefined, sharedIds: false };

type Hosted = Extract<ItemRole, { kind: 'hosted' }>;

/** What takes an item's place; `lost`: nothing, which the client's answer reports. */
type Replacement = JsonObject | 'left out' | 'lost';

export class ResolvedReferences implements ResolvedBody {
  readonly #body: RelayedBody;
  readonly #records: StoredRecords;
  readonly #opened: ReadonlyMap<string, string>;
  readonly #bounds: BodyBounds;
  readonly #texts: ReadonlyMap<string, string>;
  readonly #written = new WrittenItems();

  constructor(body: RelayedBody, { texts, opened }: FoundAnswers, bounds: BodyBounds) {
    this.#body = body;
    this.#texts = texts;
    this.#records = new StoredRecords(texts);
    this.#opened = opened;
    this.#bounds = bounds;
  }

  *prepare(): Generator<void> {
    let size = 0;
    for (const [id, text] of this.#texts) {
      size += text.length;
      const record = this.#records.answer(id);
      const item = this.#records.item(id);
      const items = record === undefined ? [] : [...(record.input ?? []), ...outputOf(record.response)];
      if (item !== undefined) items.push(item);
      for (const one of items) {
        if (size >= STEP) yield;
        if (size >= STEP) size = 0;
        size += this.#written.of(one).json.length;
      }
    }
  }

  translated(): Buffer {
    return this.#resolve(TRANSLATION)?.bytes ?? this.#body.bytes;
  }

  relayedTo(provider: string, sharedIds: boolean): { bytes: Buffer; lost: boolean } | undefined {
    return this.#resolve({ provider, sharedIds });
  }

  /** undefined: the reader takes the body unchanged. */
  #resolve(reader: Reader): { bytes: Buffer; lost: boolean } | undefined {
    const { value } = this.#body;
    const before = this.#before(previousOf(value), reader);
    if (before !== undefined) checkOutputs(before, value.input);
    const replaced = new Map<number, Replacement>();
    for (const [index, item] of (Array.isArray(value.input) ? value.input : []).entries()) {
      const role = roleOf(item);
      const replacement =
        role.kind === 'own' || !isObject(item) ? undefined : this.#replacement(item, role, reader);
      if (replacement !== undefined) replaced.set(index, replacement);
    }
    if (before === undefined && replaced.size === 0) return undefined;
    const bytes = this.#spliced(before, replaced);
    return { bytes, lost: [...replaced.values()].includes('lost') };
  }

  /** The items of the earlier answer; undefined: the id stays, or there is none. */
  #before(id: string | undefined, reader: Reader): JsonValue[] | undefined {
    if (id === undefined) return undefined;
    if (this.#isHeld(id, reader)) return undefined;
    const record = this.#records.answer(id);
    if (record === undefined && reader.sharedIds) return undefined;
    if (record?.input === undefined) {
      throw new GatewayError('invalid_request', `Previous response with id '${id}' not found.`, {
        param: 'previous_response_id',
        code: 'previous_response_not_found',
      });
    }
    const items = [...record.input, ...outputOf(record.response)];
    if (reader.provider === undefined) return items;
    return items.map((item) => (isObject(item) ? readable(item) : item)).filter((item) => item !== undefined);
  }

  #isHeld(id: string, { provider }: Reader): boolean {
    return provider !== undefined && this.#records.holder(id) === provider;
  }

  /** undefined: the item stays. */
  #replacement(item: JsonObject, role: ItemRole, reader: Reader): Replacement | undefined {
    switch (role.kind) {
      case 'own':
        return undefined;
      case 'sealed':
        return this.#unsealed(item, role.blob, reader);
      case 'reference':
        return this.#referred(role.id, reader);
      case 'bare':
        return this.#completed(item, role.id, reader);
      case 'hosted':
        return this.#hosted(item, role, reader);
    }
  }

  #unsealed(item: JsonObject, blob: string, reader: Reader): Replacement | undefined {
    if (isCompaction(item)) {
      const opened = this.#opened.get(blob);
      // A provider that is a gateway itself may have sealed it.
      return opened === undefined && reader.provider !== undefined ? undefined : summaryMessage(opened);
    }
    if (reader.provider !== undefined) return 'left out';
    const json = this.#opened.get(blob);
    return json === undefined ? undefined : { ...item, encrypted_content: json };
  }

  #referred(id: string, reader: Reader): Replacement | undefined {
    if (this.#isHeld(id, reader)) return undefined;
    const item = this.#records.item(id);
    if (item !== undefined) {
      return reader.provider === undefined ? item : (readable(item) ?? 'left out');
    }
    if (reader.sharedIds) return undefined;
    // Only hidden thoughts are lost: what stands in their place is left out, and reported, when it is decoded.
    if (id.startsWith(REASONING_PREFIX)) {
      if (reader.provider !== undefined) return 'lost';
      return { type: 'reasoning', id, summary: [], encrypted_content: `${SEAL_MARK}missing` };
    }
    const message = `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`;
    throw new GatewayError('invalid_request', message, { param: 'input' });
  }

  /** With the thinking that is stored beside it, where there is some. */
  #completed(item: JsonObject, id: string, reader: Reader): Replacement | undefined {
    const stored = this.#records.item(id);
    if (reader.provider === undefined) {
      const content = stored?.encrypted_content;
      return content === undefined ? undefined : { ...item, encrypted_content: content };
    }
    if (this.#isHeld(id, reader) || (stored === undefined && reader.sharedIds)) return undefined;
    return stored === undefined ? 'lost' : 'left out';
  }

  #hosted(item: JsonObject, { id, container }: Hosted, reader: Reader): Replacement | undefined {
    if (reader.provider === undefined) return undefined;
    const stored = this.#records.item(id);
    if (stored === undefined && reader.sharedIds) return undefined;
    if (stored !== undefined && this.#isHeld(id, reader) && containerOf(stored) === container)
      return undefined;
    return readable(item) ?? 'lost';
  }

  #spliced(before: JsonValue[] | undefined, replaced: ReadonlyMap<number, Replacement>): Buffer {
    const { bytes, members, value } = this.#body;
    const budget = new Budget(this.#bounds, this.#written, { bytes: bytes.length, values: members.values });
    const input = members.get('input');
    const pieces = (before ?? []).map((item) => budget.json(item));
    if (input !== undefined && typeof value.input === 'string') {
      const text = bytes.toString('utf8', input.start, input.end);
      pieces.push(Buffer.from(`{"type":"message","role":"user","content":${text}}`));
    } else if (input !== undefined && Array.isArray(value.input)) {
      for (const [index, { start, end }] of rangesOf(bytes, input.start, input.end).entries()) {
        const replacement = replaced.get(index);
        if (replacement === undefined) pieces.push(bytes.subarray(start, end));
        else if (typeof replacement !== 'string') pieces.push(budget.json(replacement));
      }
    }
    return splice(bytes, [inputEdit(this.#body, listed(pieces)), ...this.#cuts(before)]);
  }

  #cuts(before: JsonValue[] | undefined): Edit[] {
    if (before === undefined) return [];
    const { list } = this.#body.members;
    const spans = list.map(({ nameStart, end }) => ({ start: nameStart, end }));
    const linked = list.findIndex(({ name }) => name === 'previous_response_id');
    return linked === -1 ? [] : cutsOf(spans, [linked]).map((range) => ({ ...range, text: '' }));
  }
}

/** A chain that was cut, or another conversation's results: the model would be told of calls that it never made. */
function checkOutputs(before: readonly JsonValue[], input: JsonValue | undefined): void {
  if (!Array.isArray(input)) return;
  const called = new Set<unknown>();
  for (const list of [before, input]) for (const item of list) if (isCall(item)) called.add(item.call_id);
  for (const item of input) {
    if (!isObject(item) || !isCallOutput(item) || called.has(item.call_id)) continue;
    const message = `No tool call found for function call output with call_id ${stringOf(item.call_id).slice(0, 200)}.`;
    throw new GatewayError('invalid_request', message, { param: 'input' });
  }
}

const isCall = (item: JsonValue): item is JsonObject =>
  isObject(item) && typeof item.type === 'string' && item.type.endsWith('_call');

const isCallOutput = ({ type, call_id: id }: JsonObject): boolean =>
  typeof type === 'string' && type.endsWith('_call_output') && typeof id === 'string';

/** The rest stays byte for byte: JSON.parse rounds the long integers of a tool's schema. */
function inputEdit({ members }: RelayedBody, list: Buffer): Edit {
  const written = members.get('input');
  if (written !== undefined) return { start: written.start, end: written.end, text: list };
  const start = members.open + 1;
  return { start, end: start, text: Buffer.concat([Buffer.from('"input":'), list, Buffer.from(',')]) };
}

const COMMA = Buffer.from(',');

function listed(pieces: readonly Buffer[]): Buffer {
  const parts = pieces.flatMap((piece, index) => (index === 0 ? [piece] : [COMMA, piece]));
  return Buffer.concat([Buffer.from('['), ...parts, Buffer.from(']')]);
}

/**
 * The item as a provider can read it that does not know it; undefined: it cannot. Its id must not be looked up there: it may be
 * another account's.
 */
function readable(item: JsonObject): JsonObject | undefined {
  if (item.type === 'reasoning') return isOnlyOurs(item) ? undefined : item;
  const role = roleOf(item);
  if (role.kind === 'own') return item;
  if (role.kind !== 'hosted' || role.container !== undefined) return undefined;
  const { id: _, ...rest } = item;
  return rest;
}

/** Reasoning that another protocol's provider signed, or that is not stored any more: no provider of this protocol reads it. */
function isOnlyOurs({ encrypted_content: content }: JsonObject): boolean {
  return typeof content !== 'string' || content.startsWith(SEAL_MARK) || content.startsWith('{');
}

/** Each item as JSON, written once, however often it is named. */
class WrittenItems {
  readonly #written = new Map<JsonValue, { json: Buffer; values: number }>();

  of(item: JsonValue): { json: Buffer; values: number } {
    let written = this.#written.get(item);
    if (written === undefined) {
      const json = Buffer.from(JSON.stringify(item));
      written = { json, values: measureJson(json, Infinity).values };
      this.#written.set(item, written);
    }
    return written;
  }
}

/** Counts what a body grows to. */
class Budget {
  readonly #bounds: BodyBounds;
  readonly #written: WrittenItems;
  #bytes: number;
  #values: number;

  constructor(
    bounds: BodyBounds,
    written: WrittenItems,
    { bytes, values }: { bytes: number; values: number },
  ) {
    this.#bounds = bounds;
    this.#written = written;
    this.#bytes = bytes;
    this.#values = values;
  }

  json(item: JsonValue): Buffer {
    const written = this.#written.of(item);
    this.#bytes += written.json.length;
    this.#values += written.values;
    const { maxBody, maxValues } = this.#bounds;
    if (this.#bytes > maxBody) throw tooLarge(plural(maxBody, 'byte'), 'limits.max_body');
    if (this.#values > maxValues) throw tooLarge(plural(maxValues, 'JSON value'), 'limits.max_values');
    return written.json;
  }
}

function tooLarge(most: string, setting: string): GatewayError {
  const message = `input and the stored items that it refers to are more than ${most} (${setting}); refer to fewer, or begin anew`;
  return new GatewayError('too_large', message, { param: 'input' });
}
