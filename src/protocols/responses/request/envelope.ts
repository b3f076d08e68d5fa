// What the gateway reads of a responses request, relayed or not: its envelope, what routing asks of it, and whether a body is one of
// this protocol. On the path of every request: one shallow pass, no schema library.
import type { BodyNames } from '../../../canonical/body-names.ts';
import { isObject, stringOf, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import { NO_NEEDS, type Needs } from '../../../canonical/traits.ts';
import type { BodyReading, Envelope, Hints } from '../../interface/bodies.ts';
import type { JsonNode } from '../../json/body.ts';
import { ANSWERS_LATER, readModelName, refuse } from '../../shared/client.ts';
import { bringsTools, isHosted } from './tools.ts';
import { isName, keptIn, typeOf } from '../../shared/kept.ts';
import { beginningOf, estimateBody, keyAlone, sessionIn } from '../../shared/hints.ts';
import { steps } from '../steps.ts';

export function readEnvelope(body: BodyReading): Envelope {
  const { value } = body;
  const model = readModelName(value);
  checkOptions(body);
  // The job would run, and its answer could not be fetched here: a client would start it again and again.
  if (value.background === true) refuse('background', ANSWERS_LATER);
  const needs = { ...NO_NEEDS, thinking: asksToThink(value), structuredOutput: asksForStructure(value.text) };
  const found: Found = { needs, kept: keptBeside(value) };
  readTools(body.list('tools'), 'tools', found);
  readInput(body, found);
  return { model, stream: value.stream === true, needs, kept: found.kept };
}

/** What is noted while the body is read. */
interface Found {
  needs: Needs;
  /** The path of the first member that names what a provider keeps. */
  kept: string | undefined;
}

/** A conversation and a stored prompt are objects of the provider's, whatever they hold. */
function keptBeside({ conversation, prompt }: JsonObject): string | undefined {
  if (isGiven(conversation)) return 'conversation';
  return isGiven(prompt) ? 'prompt' : undefined;
}

const ROLES: ReadonlySet<unknown> = new Set(['user', 'assistant', 'system', 'developer']);

/** With instructions, an earlier response or a stored prompt the input may be left out. */
const INSTEAD_OF_INPUT = ['instructions', 'previous_response_id', 'conversation', 'prompt'] as const;

function readInput(body: BodyReading, found: Found): void {
  const { value } = body;
  const input = body.member('input');
  if (input?.isText === true) return;
  const isNeeded = !INSTEAD_OF_INPUT.some((name) => isGiven(value[name]));
  if (input === undefined || input.isNull) {
    if (!isNeeded) return;
    refuse('input', 'must be a string or an array');
  }
  const items = body.list('input');
  if (items === undefined) refuse('input', 'must be a string or an array');
  if (items.length === 0 && isNeeded) refuse('input', 'must not be empty');
  const isTelling = TELLING.some((type) => body.types.has(type)) || body.hasName('file_id');
  for (let index = 0; index < items.length; index++) {
    const item = items[index];
    if (item?.isObject !== true) refuse(`input[${index}]`, 'must be an object');
    readItem(item, index, isTelling, found);
  }
}

/** Types of parts that say what is needed; all others are skipped. */
const TELLING = ['input_image', 'input_file', 'input_audio'];

function readItem(item: JsonNode, index: number, isTelling: boolean, found: Found): void {
  const type = typeOf(item);
  if (type === '' && item.get('type')?.isText !== true) refuse(`input[${index}].type`, 'must be a string');
  const role = item.get('role');
  if (type === 'message' || (type === undefined && role?.isNull === false)) {
    if (!ROLES.has(role?.text)) refuse(`input[${index}].role`, `must be one of ${[...ROLES].join(', ')}`);
    const content = item.get('content');
    if (content?.isList === true) {
      if (isTelling) readParts(content.items(), found, index, 'content');
    } else if (content?.isText !== true) {
      refuse(`input[${index}].content`, 'must be a string or an array');
    }
    return;
  }
  const output = isTelling ? item.get('output') : undefined;
  if (output?.isList === true) readParts(output.items(), found, index, 'output');
  else if (isName(output?.get('file_id')?.value)) found.kept ??= `input[${index}].output.file_id`;
  if (bringsTools(type)) {
    readTools(item.get('tools')?.items(), `input[${index}].tools`, found);
  }
}

/** Some SDKs leave the type out. A reference has an id alone. */
export function isMessage({ type, role }: JsonObject): boolean {
  return type === 'message' || (!isGiven(type) && isGiven(role));
}

function readParts(parts: readonly JsonNode[], found: Found, item: number, name: 'content' | 'output'): void {
  const { needs } = found;
  for (const [at, part] of parts.entries()) {
    const type = part.textOf('type');
    if (isName(part.get('file_id')?.value)) found.kept ??= `input[${item}].${name}[${at}].file_id`;
    if (type === 'input_image') needs.image = true;
    else if (type === 'input_file') needs.document = true;
    else if (type === 'input_audio') needs.audio = true;
  }
}

function readTools(tools: readonly JsonNode[] = [], path: string, found: Found): void {
  for (const [at, tool] of tools.entries()) {
    if (!tool.isObject) continue;
    const isOwn = DEFINED_BY_CLIENT.has(typeOf(tool));
    const value = isOwn ? {} : (tool.value as JsonObject);
    if (isHosted(value)) found.needs.serverTools = true;
    else found.needs.tools = true;
    if (!isOwn) found.kept ??= keptIn(value, `${path}[${at}]`);
  }
}

/** Their schemas may have members of any name. */
const DEFINED_BY_CLIENT: ReadonlySet<unknown> = new Set(['function', 'custom', 'namespace']);

function asksToThink({ reasoning }: JsonObject): boolean {
  return isObject(reasoning) && isGiven(reasoning.effort) && reasoning.effort !== 'none';
}

function asksForStructure(text: JsonValue | undefined): boolean {
  const format = isObject(text) ? text.format : undefined;
  return isObject(format) && (format.type === 'json_schema' || format.type === 'json_object');
}

function isGiven(value: JsonValue | undefined): boolean {
  return value !== undefined && value !== null;
}

type Check = (value: JsonValue) => boolean;

const between =
  (low: number, high: number): Check =>
  (value) =>
    typeof value === 'number' && value >= low && value <= high;
const isText: Check = (value) => typeof value === 'string';
const isTruth: Check = (value) => typeof value === 'boolean';
const isWholePositive: Check = (value) => Number.isInteger(value) && Number(value) >= 1;

const OPTIONS: ReadonlyMap<string, readonly [check: Check, message: string]> = new Map<
  string,
  readonly [Check, string]
>([
  ['stream', [isTruth, 'must be true or false']],
  ['store', [isTruth, 'must be true or false']],
  ['background', [isTruth, 'must be true or false']],
  ['instructions', [isText, 'must be a string']],
  ['tools', [Array.isArray, 'must be an array']],
  ['include', [Array.isArray, 'must be an array']],
  ['tool_choice', [(value) => isText(value) || isObject(value), 'must be a string or an object']],
  ['reasoning', [isObject, 'must be an object']],
  ['text', [isObject, 'must be an object']],
  ['metadata', [isObject, 'must be an object']],
  ['previous_response_id', [isText, 'must be a string']],
  ['temperature', [between(0, 2), 'must be a number from 0 to 2']],
  ['top_p', [between(0, 1), 'must be a number from 0 to 1']],
  ['max_output_tokens', [isWholePositive, 'must be a whole number, at least 1']],
]);

function checkOptions(body: BodyReading): void {
  const { value } = body;
  for (const name in value) {
    const known = OPTIONS.get(name);
    const option = known === undefined || (name === 'tools' && body.list(name)) ? null : value[name];
    if (known === undefined || option === undefined || option === null) continue;
    const [check, message] = known;
    if (!check(option)) refuse(name, message);
  }
}

/** What only this protocol has; a body with `messages` is another's. */
const OWN_MEMBERS = ['input', 'instructions', 'previous_response_id', 'max_output_tokens'];

export function recognizes(value: JsonObject): boolean {
  return value.messages === undefined && OWN_MEMBERS.some((name) => value[name] !== undefined);
}

/** Texts of the system, which some clients put behind the results of tools. */
function isSystem(item: JsonNode): boolean {
  const role = item.textOf('role');
  return role === 'system' || role === 'developer';
}

/** Codex says in the body what its headers say; over a WebSocket there alone. Its cache key is the id of its thread. */
function codexNames({ client_metadata: told, prompt_cache_key: key }: JsonObject): BodyNames | undefined {
  if (!isObject(told)) return undefined;
  const of = (name: string): string | undefined => {
    const value = told[name];
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const thread = of('thread_id');
  const session = of('session_id') ?? thread ?? (of('x-codex-window-id') === undefined ? undefined : key);
  if (typeof session !== 'string' || session === '') return undefined;
  return {
    session,
    thread,
    parentThread: of('x-codex-parent-thread-id'),
    subagent: of('x-openai-subagent'),
    turn: of('root_turn_id'),
  };
}

export const hints: Hints = {
  estimate: estimateBody,
  names: (value) => codexNames(value) ?? sessionIn(value.metadata) ?? keyAlone(value),
  beginning(body) {
    const before = stringOf(body.value.instructions);
    const input = body.member('input');
    return input?.isText === true
      ? `${before}\nuser ${input.text ?? ''}`
      : beginningOf(before, body.list('input'));
  },
  steps,
  hasOpenToolTurn(body) {
    const last = body.list('input')?.findLast((item) => !isSystem(item));
    return last?.textOf('type')?.endsWith('_output') === true;
  },
  // Its streams always tell their usage.
  asksForUsage: () => true,
};
