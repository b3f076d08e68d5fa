// Names of what a provider keeps: uploaded files, containers, threads. All accounts share the provider's key, so that a name that one
// account learns would give it what another one left there.
import { isObject, type JsonValue } from '../../canonical/json.ts';
import type { JsonNode } from '../json/body.ts';

/** `file_id`, `file_ids`, `vector_store_ids`, `collection_id`. */
const NAME_OF_ID = /_ids?$/;
/** A service that every account may connect to, with credentials of its own. */
const PUBLIC: ReadonlySet<string> = new Set(['connector_id']);

/** The path of the first member, at any depth of a tool that the provider runs, that names such a thing. */
export function keptIn(value: JsonValue | undefined, path: string): string | undefined {
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) {
      const found = keptIn(value[at], `${path}[${at}]`);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (!isObject(value)) return undefined;
  for (const [name, member] of Object.entries(value)) {
    const isId = name === 'container' || (NAME_OF_ID.test(name) && !PUBLIC.has(name));
    if (isId && namesSome(member)) return `${path}.${name}`;
    const found = keptIn(member, `${path}.${name}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

function namesSome(id: JsonValue | undefined): boolean {
  if (Array.isArray(id)) return id.some((one) => isName(one));
  return isName(id);
}

/** The type of a tool or a part; undefined: it has none, '': it is no text. */
export function typeOf(node: JsonNode): string | undefined {
  const type = node.get('type');
  return type === undefined || type.isNull ? undefined : (type.text ?? '');
}

/** Whether a member that names something of a provider's is filled. */
export function isName(id: JsonValue | undefined): boolean {
  return (typeof id === 'string' && id !== '') || typeof id === 'number';
}
