// The fate of each field of a request for a provider of another protocol. Each protocol lists its wire fields in one ledger, and
// decoding takes the fates from it, so that list and code cannot differ.
import type { JsonObject, JsonValue } from '../../canonical/json.ts';
import type {
  CanonicalField,
  ClientProtocolName,
  NativeField,
  ProtocolName,
  SharedMember,
} from '../../canonical/request.ts';

/**
 * carried: the same notion on the other side · mapped: in another form · left out: and named to the client · quiet: left out
 * without a report, since it changes nothing for the client · rejected: a 400, since the answer would mean something else.
 */
type Fate = 'carried' | 'mapped' | 'left out' | 'quiet' | 'rejected';

export interface LedgerRow {
  /** Towards providers of any other protocol … */
  fate: Fate;
  /** … but of these: its encoder knows the same field. */
  toward?: Readonly<Partial<Record<ProtocolName, Fate>>>;
  /** What it is to these: their encoders find it by this name. */
  shared?: SharedMember;
  /** A value that asks for nothing: the field is then quiet. */
  neutral?: (value: JsonValue) => boolean;
  /** What is said of it, if the default is not enough. */
  message?: string;
  /** With `rejected`: members of the error that clients act on. */
  details?: Record<string, unknown>;
}

/** By wire path without indexes. A field that has no row is left out and named. */
export type LedgerRows = Readonly<Record<string, LedgerRow>>;

export const CARRIED: LedgerRow = { fate: 'carried' };
export const MAPPED: LedgerRow = { fate: 'mapped' };
export const LEFT_OUT: LedgerRow = { fate: 'left out' };
export const QUIET: LedgerRow = { fate: 'quiet' };
export const REJECTED: LedgerRow = { fate: 'rejected' };

export const isZero = (value: JsonValue): boolean => value === 0;
export const isFalse = (value: JsonValue): boolean => value === false;
/** An empty object or list. */
export const isEmpty = (value: JsonValue): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0;

/** The wire path of each canonical field, for warnings. */
export type WirePaths = Readonly<Record<CanonicalField, string>>;

/** The canonical place behind a wire path. `others`: further names of a place. */
export function fieldsByPath(
  paths: WirePaths,
  others: Readonly<Record<string, CanonicalField>>,
): (path: string) => CanonicalField | undefined {
  const places = Object.entries(paths).map(([field, path]) => [path, field as CanonicalField] as const);
  const byPath = new Map([...Object.entries(others), ...places.reverse()]);
  return (path) => byPath.get(path);
}

interface Ledger {
  /** A member whose name or value has no canonical form. `name`: the last part of `path`, if that part contains dots. */
  nativeField: (path: string, value: JsonValue, name?: string) => NativeField;
  /**
   * Adds the members of `object` that ask for something and are not `decoded`; by default those that the ledger neither carries
   * nor maps. `prefix` ends before the member's name.
   */
  addNativeFields: (
    fields: NativeField[],
    object: JsonObject,
    prefix: string,
    decoded?: ReadonlySet<string>,
  ) => void;
}

const NATIVE_FATE = {
  carried: 'report',
  mapped: 'report',
  'left out': 'report',
  quiet: 'quiet',
  rejected: 'reject',
} as const satisfies Record<Fate, NativeField['fate']>;

const NO_NAMES: ReadonlySet<string> = new Set();

export function createLedger(protocol: ClientProtocolName, rows: LedgerRows): Ledger {
  // Maps, since the names are the client's: an object would know `constructor`.
  const byPath = new Map(Object.entries(rows));
  const canonicalNames = canonicalNamesByPrefix(rows);

  function nativeField(
    path: string,
    value: JsonValue,
    name = path.slice(path.lastIndexOf('.') + 1),
  ): NativeField {
    const { fate, neutral, shared, message, details } = byPath.get(path) ?? LEFT_OUT;
    const native = neutral?.(value) === true ? 'quiet' : NATIVE_FATE[fate];
    const field: NativeField = { protocol, path, name, value, fate: native };
    if (shared !== undefined) field.shared = shared;
    if (message !== undefined) field.message = message;
    if (details !== undefined) field.details = details;
    return field;
  }

  return {
    nativeField,
    addNativeFields(fields, object, prefix, decoded = canonicalNames.get(prefix) ?? NO_NAMES) {
      for (const name in object) {
        const value = object[name];
        if (value === undefined || value === null || decoded.has(name)) continue;
        const path = prefix + name;
        if (byPath.get(path)?.neutral?.(value) !== true) fields.push(nativeField(path, value, name));
      }
    },
  };
}

/** The names with a canonical form, by the path before them: this is asked of every member of every part. */
function canonicalNamesByPrefix(rows: LedgerRows): ReadonlyMap<string, ReadonlySet<string>> {
  const names = new Map<string, Set<string>>();
  for (const [path, { fate }] of Object.entries(rows)) {
    if (fate !== 'carried' && fate !== 'mapped') continue;
    const start = path.lastIndexOf('.') + 1;
    const siblings = names.get(path.slice(0, start)) ?? new Set<string>();
    names.set(path.slice(0, start), siblings.add(path.slice(start)));
  }
  return names;
}
