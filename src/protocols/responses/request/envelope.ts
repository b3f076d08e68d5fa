// What the gateway reads of a responses request, relayed or not: its envelope, what routing asks of it, and whether a body is one of
// this protocol. On the path of every request: one shallow pass, no schema library.
import type { BodyNames } from '../../../canonical/body-names.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import { NO_NEEDS, type Needs } from '../../../canonical/traits.ts';
import type { Envelope, Hints } from '../../interface/bodies.ts';
import { ANSWERS_LATER, readModelName, refuse } from '../../shared/client.ts';
import { isHosted } from './tools.ts';
import { isName, keptIn } from '../../shared/kept.ts';
import { beginningOf, estimateBody, keyAlone, sessionIn } from '../../shared/hints.ts';
import { steps } from '../steps.ts';

export function readEnvelope(value: JsonObject): Envelope {
  const model = readModelName(value);
  checkOptions(value);
  // The job would run, and its answer could not be fetched here: a client would start it again and again.
  if (value.background === true) refuse('background', ANSWERS_LATER);
  const needs = { ...NO_NEEDS, thinking: asksToThink(value), structuredOutput: asksForStructure(value.text) };
  const found: Found = { needs, kept: keptBeside(value) };
  readTools(value.tools, 'tools', found);
  readInput(value, found);
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

function readInput(value: JsonObject, found: Found): void {
  const { input } = value;
  if (typeof input === 'string') return;
  if (input === undefined || input === null) {
    if (INSTEAD_OF_INPUT.some((name) => isGiven(value[name]))) return;
    refuse('input', 'must be a string or an array');
  }
  if (!Array.isArray(input)) refuse('input', 'must be a string or an array');
  if (input.length === 0 && !INSTEAD_OF_INPUT.some((name) => isGiven(value[name]))) {
    refuse('input', 'must not be empty');
  }
  for (let index = 0; index < input.length; index++) readItem(input[index], index, found);
}

function readItem(item: JsonValue | undefined, index: number, found: Found): void {
  if (!isObject(item)) refuse(`input[${index}]`, 'must be an object');
  const { type, role, content } = item;
  if (isGiven(type) && typeof type !== 'string') refuse(`input[${index}].type`, 'must be a string');
  if (isMessage(item)) {
    if (!ROLES.has(role)) refuse(`input[${index}].role`, `must be one of ${[...ROLES].join(', ')}`);
    if (Array.isArray(content)) readParts(content, found, index, 'content');
    else if (typeof content !== 'string') {
      refuse(`input[${index}].content`, 'must be a string or an array');
    }
    return;
  }
  const { output } = item;
  if (Array.isArray(output)) readParts(output, found, index, 'output');
  else if (isObject(output) && isName(output.file_id)) found.kept ??= `input[${index}].output.file_id`;
  if (type === 'additional_tools' || type === 'tool_search_output') {
    readTools(item.tools, `input[${index}].tools`, found);
  }
}

/** Some SDKs leave the type out. A reference has an id alone. */
export function isMessage({ type, role }: JsonObject): boolean {
  return type === 'message' || (!isGiven(type) && isGiven(role));
}

function readParts(
  parts: readonly JsonValue[],
  found: Found,
  item: number,
  name: 'content' | 'output',
): void {
  const { needs } = found;
  for (let at = 0; at < parts.length; at++) {
    const part = parts[at];
    if (!isObject(part)) continue;
    if (part.file_id !== undefined && isName(part.file_id)) {
      found.kept ??= `input[${item}].${name}[${at}].file_id`;
    }
    if (part.type === 'input_image') needs.image = true;
    else if (part.type === 'input_file') needs.document = true;
    else if (part.type === 'input_audio') needs.audio = true;
  }
}

function readTools(tools: JsonValue | undefined, path: string, found: Found): void {
  if (!Array.isArray(tools)) return;
  for (let at = 0; at < tools.length; at++) {
    const tool = tools[at];
    if (!isObject(tool)) continue;
    if (isHosted(tool)) found.needs.serverTools = true;
    else found.needs.tools = true;
    if (!DEFINED_BY_CLIENT.has(tool.type)) found.kept ??= keptIn(tool, `${path}[${at}]`);
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

function checkOptions(value: JsonObject): void {
  for (const name in value) {
    const option = value[name];
    const known = OPTIONS.get(name);
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

/** Results of tools, and the texts of the system that some clients put behind them. */
function isResult(item: JsonValue | undefined): boolean {
  return isObject(item) && typeof item.type === 'string' && item.type.endsWith('_output');
}

function isSystem(item: JsonValue | undefined): boolean {
  return isObject(item) && (item.role === 'system' || item.role === 'developer');
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
  beginning({ instructions, input }) {
    const before = typeof instructions === 'string' ? instructions : '';
    return beginningOf(before, typeof input === 'string' ? [{ role: 'user', content: input }] : input);
  },
  steps,
  hasOpenToolTurn({ input }) {
    return Array.isArray(input) && isResult(input.findLast((item) => !isSystem(item)));
  },
  // Its streams always tell their usage.
  asksForUsage: () => true,
};
