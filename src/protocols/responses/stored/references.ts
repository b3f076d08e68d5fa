// What a responses body refers to. Not only references do: a provider also looks up items by their id that come without their content,
// and some that come with it.
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import { GatewayError } from '../../../errors.ts';
import type { BodyReading } from '../../interface/bodies.ts';
import type { References } from '../../interface/features.ts';
import type { JsonNode } from '../../json/body.ts';
import { SEAL_MARK } from '../reply/items.ts';

/** All are read at once, and other requests wait meanwhile. A conversation of a day has some hundred. */
const MOST_REFERENCES = 2000;

/** What an item of the input refers to, if it is not complete in itself. */
export type ItemRole =
  /** Everything that a provider needs of it is in the body. */
  | { kind: 'own' }
  /** It stands for a stored item. */
  | { kind: 'reference'; id: string }
  /** Reasoning as clients send it back that did not ask for its encrypted content. */
  | { kind: 'bare'; id: string }
  /** The record of a tool that a provider ran, which may know more of it under its id, and keep files in its container. */
  | { kind: 'hosted'; id: string; container: string | undefined }
  /** Reasoning that the gateway sealed for the account. */
  | { kind: 'sealed'; blob: string };

const OWN: ItemRole = { kind: 'own' };

/** Items that hold all that a provider reads of them. Their ids stay: some link a call with its output. */
const GIVEN_IN_FULL: ReadonlySet<unknown> = new Set([
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'custom_tool_call_output',
  'computer_call',
  'computer_call_output',
  'local_shell_call',
  'local_shell_call_output',
  'shell_call',
  'shell_call_output',
  'apply_patch_call',
  'apply_patch_call_output',
  'tool_search_call',
  'tool_search_output',
  'additional_tools',
  'agent_message',
  'mcp_approval_request',
  'mcp_approval_response',
  'compaction',
  'context_compaction',
]);

/** Most items are messages without an id. */
export function roleOf(item: JsonValue): ItemRole {
  if (!isObject(item)) return OWN;
  const { id, type, encrypted_content: blob } = item;
  if (typeof blob === 'string') return blob.startsWith(SEAL_MARK) ? { kind: 'sealed', blob } : OWN;
  const container = containerOf(item);
  if (typeof id !== 'string') return container === undefined ? OWN : { kind: 'hosted', id: '', container };
  if (isReference(item)) return { kind: 'reference', id };
  if (type === 'reasoning') return { kind: 'bare', id };
  if (container === undefined && isGivenInFull(item)) return OWN;
  return isHollow(item) ? { kind: 'reference', id } : { kind: 'hosted', id, container };
}

/** The type may be left out where there is nothing but an id. */
function isReference({ type, ...rest }: JsonObject): boolean {
  return type === 'item_reference' || (!isGiven(type) && isHollow(rest));
}

function isGivenInFull({ type, role, content }: JsonObject): boolean {
  // Some clients leave out the type of a message.
  const isText = type === 'message' || (!isGiven(type) && isGiven(role));
  if (isText) return isGiven(content) && !(Array.isArray(content) && content.length === 0);
  return GIVEN_IN_FULL.has(type);
}

const NAMES_ALONE: ReadonlySet<string> = new Set(['id', 'type', 'status']);

function isHollow(item: JsonObject): boolean {
  return Object.entries(item).every(([name, value]) => NAMES_ALONE.has(name) || !isGiven(value));
}

function isGiven(value: JsonValue | undefined): boolean {
  return value !== undefined && value !== null && value !== '';
}

/** The container of a tool's run: the next run finds its files there. */
export function containerOf({ container_id: id, environment }: JsonObject): string | undefined {
  if (typeof id === 'string') return id;
  const inner = isObject(environment) ? environment.container_id : undefined;
  return typeof inner === 'string' ? inner : undefined;
}

export function previousOf({ previous_response_id: previous }: JsonObject): string | undefined {
  return typeof previous === 'string' && previous !== '' ? previous : undefined;
}

/** Most items have neither, and no object is made for them. */
function mayRefer(item: JsonNode): boolean {
  return REFERRING.some((name) => item.get(name) !== undefined);
}

const REFERRING = ['id', 'encrypted_content', 'container_id', 'environment'] as const;

const NONE: References = { ids: [], bare: [], sealed: [], refers: false };

export function references(body: BodyReading): References {
  const previous = previousOf(body.value);
  const mayAny = REFERRING.some((name) => body.hasName(name));
  const items = mayAny ? (body.list('input')?.filter(mayRefer) ?? []) : [];
  if (previous === undefined && items.length === 0) return NONE;
  const ids = new Set<string>(previous === undefined ? [] : [previous]);
  const bare = new Set<string>();
  const sealed = new Set<string>();
  let refers = previous !== undefined;
  for (const item of items) {
    const role = roleOf(item.value);
    if (role.kind === 'own') continue;
    refers = true;
    if (role.kind === 'sealed') sealed.add(role.blob);
    else if (role.kind === 'reference') ids.add(role.id);
    else if (role.id !== '') bare.add(role.id);
  }
  if (ids.size + bare.size > MOST_REFERENCES) {
    const message = `input refers to more than ${MOST_REFERENCES} stored items; send the items themselves`;
    throw new GatewayError('invalid_request', message, { param: 'input' });
  }
  return { ids: [...ids], bare: [...bare], sealed: [...sealed], refers };
}
