// What stands on a tape as its shape: the members of the protocols, types, lengths and names of tools stay; every word, number, name, address
// and image of the user's is replaced. A text keeps its length and its punctuation, so that a fault which depends on them is still there.
import { isObject, stringOf, type JsonObject, type JsonValue } from '../../canonical/json.ts';
import { jsonOf } from '../json.ts';
import {
  ID_PREFIX,
  NAMING,
  PROTOCOL_WORDS,
  SCHEMA_VALUES,
  SCHEMA_WORDS,
  SENTENCE_WORDS,
} from './words.data.ts';

/** How the members of a value are named: by a protocol, by JSON Schema, by the author of a schema, by anybody. */
type Mode = 'protocol' | 'schema' | 'names' | 'free';

interface Place {
  mode: Mode;
  /** The member in which the value stands; of an element, that of its array. */
  key: string;
  parent: JsonObject | undefined;
  /** The member in which the parent stands. */
  parentKey: string;
  /** JSON within JSON. */
  nested: number;
}

/** Characters of a text; what is longer is cut. */
const LONGEST_TEXT = 20_000;
const HEAD_OF_LONG = 1000;
const MOST_NESTED = 4;

/** Members whose values are words of the protocols. */
const CHOICES =
  /^(?:type|role|status|object|\w+_reason|reason|effort|format|mode|detail|service_tier|media_type|truncation|summary|phase|syntax|verbosity|event|tool_choice|include|speed|code|param|caller|execution|kind|encoding_format|modalities|severity)$/;
const FREE_MEMBERS = /^(?:metadata|arguments|chat_template_kwargs|user_location|logit_bias|extra_content)$/;
const SCHEMAS = /^(?:parameters|input_schema|output_schema|schema)$/;
const IDS = /(?:^|_)id$|[a-z]Id$|_key$/;
/** Objects that have the name of a tool. */
const CALLING = /tool_use$|_call$|^function$|^custom$|^tool$|_\d{8}$/;
const CALLING_MEMBERS = /^(?:function|custom|tools|tool_choice)$/;
const DATA_URL = /^data:\w{1,20}\/[\w.+-]{1,40};base64,/;
const TOOL_NAME = /^[\w.:-]{1,128}$/;

/** Names and ids have the same stand-in wherever one shaper finds them. `known`: names of models that are anybody's. */
export class Shaper {
  readonly #names = new Map<string, string>();
  readonly #taken = new Set<string>();
  readonly #ids = new Map<string, string>();
  readonly #known: ReadonlySet<string>;

  constructor(known: ReadonlySet<string>) {
    this.#known = known;
  }

  /** The text of a body or of an event, JSON or not. */
  json(text: string): string {
    const value = jsonOf(text);
    if (value === undefined) return this.text(text);
    return JSON.stringify(this.#value(value, TOP));
  }

  model(name: string): string {
    return this.#known.has(name) ? name : this.text(name);
  }

  /** Every character as one of its kind. */
  text(text: string): string {
    if (text.length <= LONGEST_TEXT) return shapeOf(text);
    return `${shapeOf(text.slice(0, HEAD_OF_LONG))}[and ${text.length - HEAD_OF_LONG} more characters]`;
  }

  /** Words of the protocols stay, such as in a path of members or in a header. */
  words(text: string): string {
    return text.replace(/[\p{L}\p{N}]+/gu, (word) => (isShown(word, false) ? word : shapeOf(word)));
  }

  /** Words of error messages stay, too. */
  sentence(text: string): string {
    return text
      .slice(0, LONGEST_TEXT)
      .replace(/[\p{L}\p{N}]+/gu, (word) => (isShown(word, true) ? word : shapeOf(word)));
  }

  #value(value: JsonValue, place: Place): JsonValue {
    if (typeof value === 'string') return this.#string(value, place);
    if (typeof value === 'number')
      return isOwnNumber(place) ? value : Number(String(value).replace(/\d/g, '1'));
    if (Array.isArray(value)) return value.map((item) => this.#value(item, place));
    return isObject(value) ? this.#object(value, place) : value;
  }

  #object(object: JsonObject, { mode, key, nested }: Place): JsonObject {
    const members = Object.entries(object).flatMap(([name, value]): [string, JsonValue][] => {
      if (value === undefined) return [];
      const below = modeOf(mode, name, object);
      const isOwn =
        (mode === 'protocol' && isProtocolName(name)) || (mode === 'schema' && isSchemaName(name));
      const place: Place = { mode: below, key: name, parent: object, parentKey: key, nested };
      return [[isOwn ? name : this.#name(name), this.#value(value, place)]];
    });
    return Object.fromEntries(members);
  }

  #string(text: string, place: Place): string {
    const { mode, key, parent, parentKey, nested } = place;
    if (mode === 'schema') return this.#schemaString(text, key);
    if (IDS.test(key) && !text.includes(' ')) return this.#id(text);
    if (mode === 'protocol') {
      if (CHOICES.test(key)) return this.sentence(text);
      if (key === 'model') return this.model(text);
      if (key === 'name' && isTool(parent, parentKey) && TOOL_NAME.test(text)) return text;
      if (key === 'message' && /^error$|^failure$|^$/.test(parentKey)) return this.sentence(text);
    }
    const [image = ''] = DATA_URL.exec(text) ?? [];
    if (image !== '') return this.words(image) + this.text(text.slice(image.length));
    const inner = nested < MOST_NESTED && /^\s*[{[]/.test(text) ? jsonOf(text) : undefined;
    if (inner !== undefined) return JSON.stringify(this.#value(inner, { ...FREE, nested: nested + 1 }));
    return this.text(text);
  }

  #schemaString(text: string, key: string): string {
    if (key === 'type' || key === 'format')
      return text.split('-').every((word) => SCHEMA_VALUES.has(word)) ? text : this.text(text);
    if (key === 'required') return this.#name(text);
    if (key === '$ref') {
      const step = (name: string): string =>
        /^#?$/.test(name) || NAMING.has(name) ? name : this.#name(name);
      return text.split('/').map(step).join('/');
    }
    if (key === '$schema')
      return /^https?:\/\/json-schema\.org\/[\w./-]{0,60}#?$/.test(text) ? text : this.text(text);
    // A shape of it would be no expression.
    return key === 'pattern' ? '.*' : this.text(text);
  }

  /** Two names never become one. */
  #name(name: string): string {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    const shape = this.text(name);
    let unique = shape;
    for (let count = 2; this.#taken.has(unique); count++) {
      const end = letters(count);
      unique = shape.slice(0, Math.max(0, shape.length - end.length)) + end;
    }
    this.#taken.add(unique);
    this.#names.set(name, unique);
    return unique;
  }

  #id(id: string): string {
    const known = this.#ids.get(id);
    if (known !== undefined) return known;
    const prefix = ID_PREFIX.exec(id)?.[0] ?? '';
    const made = prefix + String(this.#ids.size + 1).padStart(Math.min(id.length, 64) - prefix.length, '0');
    this.#ids.set(id, made);
    return made;
  }
}

const TOP: Place = { mode: 'protocol', key: '', parent: undefined, parentKey: '', nested: 0 };
const FREE: Place = { ...TOP, mode: 'free' };

function modeOf(mode: Mode, name: string, parent: JsonObject): Mode {
  if (mode === 'names') return 'schema';
  if (mode === 'schema') return schemaModeOf(name);
  if (mode === 'free' || FREE_MEMBERS.test(name) || !isProtocolName(name)) return 'free';
  if (name === 'input' && CALLING.test(stringOf(parent.type))) return 'free';
  return SCHEMAS.test(name) && isObject(parent[name]) ? 'schema' : 'protocol';
}

function schemaModeOf(name: string): Mode {
  if (NAMING.has(name)) return 'names';
  if (!SCHEMA_WORDS.has(name) || /^(?:enum|const|default|examples)$/.test(name)) return 'free';
  return 'schema';
}

const isSchemaName = (name: string): boolean => SCHEMA_WORDS.has(name) || NAMING.has(name);
const isProtocolName = (name: string): boolean =>
  name.split(/[_.$-]/).every((word) => word === '' || isShown(word, false));

/** Counts and limits of a protocol or a schema. */
const isOwnNumber = ({ mode, key }: Place): boolean =>
  (mode === 'protocol' && isProtocolName(key)) || (mode === 'schema' && SCHEMA_WORDS.has(key));

const isTool = (parent: JsonObject | undefined, parentKey: string): boolean =>
  CALLING.test(stringOf(parent?.type)) || CALLING_MEMBERS.test(parentKey);

/** Versions, dates and counts, too; a longer number may be a person's. */
function isShown(word: string, inSentence: boolean): boolean {
  const plain = word.toLowerCase();
  if (/^(?:v?\d{1,4}[a-z]?|20\d{6})$/.test(plain)) return true;
  return PROTOCOL_WORDS.has(plain) || (inSentence && SENTENCE_WORDS.has(plain));
}

const ESCAPES = '"\\/bfnrt';

/** Escapes stay: the text may be a piece of JSON. So do the literals of JSON. */
function shapeOf(text: string): string {
  return text.replace(
    /\\u[0-9a-fA-F]{4}|\\.|\b(?:true|false|null)\b|[\p{L}\p{M}]|\p{N}|[^\0-\x7f]/gsu,
    (piece): string => {
      if (piece.startsWith('\\u') && piece.length > 2) return '\\u0078';
      if (piece.startsWith('\\'))
        return ESCAPES.includes(piece[1] ?? '') ? piece : `\\${shapeOf(piece.slice(1))}`;
      if (piece === 'true' || piece === 'false' || piece === 'null') return piece;
      if (/^\p{N}$/u.test(piece)) return '1'.repeat(piece.length);
      if (!/^[\p{L}\p{M}]$/u.test(piece)) return '·'.repeat(piece.length);
      return (/^\p{Lu}$/u.test(piece) ? 'X' : 'x').repeat(piece.length);
    },
  );
}

/** `b`, `c`, … `z`, `ba`, … */
function letters(count: number): string {
  const last = String.fromCharCode(97 + ((count - 1) % 26));
  return count <= 26 ? last : letters(Math.floor((count - 1) / 26)) + last;
}
