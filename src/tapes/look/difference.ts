// What a client sent and what a provider got for it, as rows of two columns: member by member where both speak the same protocol; by what
// the request says (its texts, calls, results, tools and parameters) where they do not.
import { isObject, stableJson, type JsonValue } from '../../canonical/json.ts';
import type { ProtocolName } from '../../canonical/request.ts';
import { readIgnore } from '../match/ignore.ts';
import { meaningOf } from '../match/meaning.ts';
import { jsonOf } from '../json.ts';

/** null: it is not there. */
export interface DifferenceRow {
  at: string;
  client: string | null;
  provider: string | null;
}

export interface Difference {
  /** Things that are the same on both sides. */
  equal: number;
  rows: readonly DifferenceRow[];
}

interface Side {
  /** Of a client, also one that no provider is spoken to in. */
  protocol: ProtocolName | undefined;
  body: string;
}

export function differenceOf(client: Side, provider: Side & { protocol: ProtocolName }): Difference {
  const [a, b] = [jsonOf(client.body), jsonOf(provider.body)];
  if (
    client.protocol === undefined ||
    client.protocol === provider.protocol ||
    a === undefined ||
    b === undefined
  )
    return byMember(a ?? client.body, b ?? provider.body);
  return byMeaning({ ...client, protocol: client.protocol }, provider);
}

function byMeaning(
  client: Side & { protocol: ProtocolName },
  provider: Side & { protocol: ProtocolName },
): Difference {
  const ignoring = { ...readIgnore([], ''), clean: (text: string) => text };
  const itemsOf = ({ protocol, body }: typeof client) => {
    const { items } = meaningOf({ protocol, kind: 'generate', body }, ignoring);
    return new Map([...headOf(body), ...items.map(({ at, text }) => [at, text] as const)]);
  };
  const [sent, got] = [itemsOf(client), itemsOf(provider)];
  const rows: DifferenceRow[] = [];
  let equal = 0;
  for (const at of new Set([...sent.keys(), ...got.keys()])) {
    const row = { at, client: sent.get(at) ?? null, provider: got.get(at) ?? null };
    if (row.client === row.provider) equal += 1;
    else rows.push(row);
  }
  return { equal, rows };
}

/** What is no part of the meaning and has the same name in all protocols. */
function headOf(body: string): [at: string, text: string][] {
  const value = jsonOf(body);
  if (!isObject(value)) return [];
  return ['model', 'stream'].flatMap((name): [string, string][] => {
    const text = shown(value[name]);
    return text === null ? [] : [[name, text]];
  });
}

function byMember(client: JsonValue, provider: JsonValue): Difference {
  const rows: DifferenceRow[] = [];
  let equal = 0;
  const compare = (a: JsonValue | undefined, b: JsonValue | undefined, at: string): void => {
    if (isObject(a) && isObject(b)) {
      for (const name of new Set([...Object.keys(a), ...Object.keys(b)]))
        compare(own(a, name), own(b, name), at === '' ? name : `${at}.${name}`);
    } else if (Array.isArray(a) && Array.isArray(b)) {
      for (const [from, to, index] of paired(a, b)) compare(from, to, `${at}[${index}]`);
    } else if (shown(a) === shown(b)) equal += 1;
    else rows.push({ at, client: shown(a), provider: shown(b) });
  };
  compare(client, provider, '');
  return { equal, rows };
}

const own = (object: Record<string, JsonValue | undefined>, name: string): JsonValue | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined;

const shown = (value: JsonValue | undefined): string | null =>
  value === undefined ? null : typeof value === 'string' ? value : JSON.stringify(value);

type Pair = [a: JsonValue | undefined, b: JsonValue | undefined, index: number];

/** Elements that are the same at the beginning and at the end belong together; those between, by their place. */
function paired(a: readonly JsonValue[], b: readonly JsonValue[]): Pair[] {
  const [before, after] = [a.map(stableJson), b.map(stableJson)];
  let start = 0;
  while (start < a.length && start < b.length && before[start] === after[start]) start++;
  let end = 0;
  while (end < Math.min(a.length, b.length) - start && before.at(-1 - end) === after.at(-1 - end)) end++;
  const pairs: Pair[] = [];
  for (let at = 0; at < start; at++) pairs.push([a[at], b[at], at]);
  const middle = Math.max(a.length, b.length) - start - end;
  for (let at = start; at < start + middle; at++)
    pairs.push([at < a.length - end ? a[at] : undefined, at < b.length - end ? b[at] : undefined, at]);
  for (let at = end; at > 0; at--) pairs.push([a.at(-at), b.at(-at), a.length - at]);
  return pairs;
}
