// Output items as clients of this protocol read them: messages, reasoning, and calls by the kind of their tool.
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import type { ReasoningPart, ToolCallPart } from '../../../canonical/request.ts';
import {
  encryptedInSignature,
  isSealed,
  type EncryptedReasoning,
} from '../../../canonical/thinking-signature.ts';
import type { Ids } from '../../../ids.ts';
import type { ReplyContext } from '../../interface/answer.ts';
import { parseJson } from '../../json/values.ts';
import type { ClientTool, ToolDirectory, ToolKind } from '../request/tools.ts';
import { isStored } from './response.ts';

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

const ID_LENGTH = 32;

export function itemId(prefix: string, ids: Ids): string {
  return `${prefix}_${ids.random(ID_LENGTH)}`;
}

// -- messages --

export function textPart(text: string, annotations: JsonObject[], logprobs: JsonObject[] = []): JsonObject {
  return { type: 'output_text', annotations, logprobs, text };
}

export function refusalPart(refusal: string): JsonObject {
  return { type: 'refusal', refusal };
}

export function messageItem(id: string, content: JsonObject[], status: ItemStatus): JsonObject {
  return { id, type: 'message', status, content, role: 'assistant' };
}

// -- reasoning --

/** Whether the client gets encrypted reasoning: if it asks for it, and always for sealed reasoning of an answer that is not stored. */
function wantsEncrypted(context: ReplyContext, part: ReasoningPart): boolean {
  // Plain text comes back by itself: only clients that ask for it may drop the text.
  if (!isStored(context) && isSealed(part)) return true;
  const { include } = context.request.asked ?? {};
  return Array.isArray(include) && include.includes('reasoning.encrypted_content');
}

/** Undefined: neither text nor anything that a provider wants back. */
export function reasoningItem(
  part: ReasoningPart,
  context: ReplyContext,
  stored: Map<string, string>,
): JsonObject | undefined {
  if (part.text === '' && !isSealed(part)) return undefined;
  const hidden = context.request.reasoning?.hidden === true;
  const id = encryptedBy(part)?.id || itemId('rs', context.ids);
  const isShown = part.text !== '' && !hidden;
  const summary = isShown ? [summaryPart(part.text)] : [];
  const content = isShown && part.raw === true ? { content: [rawPart(part.text)] } : {};
  const encrypted = encryptedContent(part, id, context, stored);
  return {
    id,
    type: 'reasoning',
    summary,
    ...content,
    ...(encrypted !== undefined && { encrypted_content: encrypted }),
  };
}

function encryptedBy({ signature, redacted }: ReasoningPart): EncryptedReasoning | undefined {
  return encryptedInSignature(redacted ?? signature ?? '');
}

/**
 * `id`: of the item that it goes out with. A provider of this protocol takes its own content back with its own id alone. `stored`
 * gets what the gateway stores of the item.
 */
export function encryptedContent(
  part: ReasoningPart,
  id: string,
  context: ReplyContext,
  stored: Map<string, string>,
): string | undefined {
  const own = encryptedBy(part);
  if (own !== undefined) return own.id === id || own.id === '' ? own.content : undefined;
  if (!isSealed(part) && part.raw !== true) return undefined;
  const written = writeReasoning(part);
  if (context.stores || context.remembers) stored.set(id, written);
  return wantsEncrypted(context, part) ? context.seal?.(written) : undefined;
}

export function summaryPart(text: string): JsonObject {
  return { type: 'summary_text', text };
}

/** Raw reasoning stands there as well as in the summary: many clients show the summary alone. */
export function rawPart(text: string): JsonObject {
  return { type: 'reasoning_text', text };
}

// -- calls --

/** The ids of a call: of its item, and of the call itself. */
export interface CallIds {
  item: string;
  call: string;
}

const PREFIX = {
  function: 'fc',
  custom: 'ctc',
  tool_search: 'tsc',
  local_shell: 'lsh',
  shell: 'sh',
  apply_patch: 'apc',
} as const satisfies Record<ToolKind, string>;

/** The client's tool of this canonical name. A call of free text is a custom tool's, whatever the list says. */
export function clientToolOf(
  tools: ToolDirectory,
  { name, custom }: Pick<ToolCallPart, 'name' | 'custom'>,
): ClientTool {
  const known: ClientTool = tools.find(name) ?? { kind: 'function', name };
  if (custom === true) return { ...known, kind: 'custom' };
  return known.kind === 'custom' ? { ...known, kind: 'function' } : known;
}

export function callIds({ kind }: ClientTool, id: string, ids: Ids): CallIds {
  return { item: itemId(PREFIX[kind], ids), call: id || `call_${ids.random(24)}` };
}

/** `written`: the arguments as JSON, or the free text of a custom tool. */
export function callItem(
  tool: ClientTool,
  { item: id, call: call_id }: CallIds,
  written: string,
  status: ItemStatus,
): JsonObject {
  const named = {
    call_id,
    name: tool.name,
    ...(tool.namespace !== undefined && { namespace: tool.namespace }),
  };
  if (tool.kind === 'custom') return { id, type: 'custom_tool_call', status, ...named, input: written };
  const form = tool.kind === 'function' ? undefined : FORMS[tool.kind](parsed(written));
  // Arguments of another form reach the client as a plain call, which it can refuse in words that the model reads.
  if (form === undefined) return { id, type: 'function_call', status, ...named, arguments: written };
  return { id, type: `${tool.kind}_call`, status, call_id, ...form };
}

type Form = (args: JsonObject | undefined) => JsonObject | undefined;

const FORMS = {
  tool_search: (args) => args && { arguments: args, execution: 'client' },
  local_shell: (args) => {
    if (args === undefined || !isTexts(args.command)) return undefined;
    const { command, env, timeout_ms, user, working_directory } = args;
    const action: JsonObject = { type: 'exec', command, env: isObject(env) ? env : {} };
    if (timeout_ms !== undefined) action.timeout_ms = timeout_ms;
    if (user !== undefined) action.user = user;
    if (working_directory !== undefined) action.working_directory = working_directory;
    return { action };
  },
  shell: (args) => {
    if (args === undefined || !isTexts(args.commands)) return undefined;
    const { commands, timeout_ms = null, max_output_length = null } = args;
    return { action: { commands, timeout_ms, max_output_length }, environment: null };
  },
  apply_patch: (args) => {
    const operation = isObject(args?.operation) ? args.operation : args;
    if (typeof operation?.type !== 'string' || typeof operation.path !== 'string') return undefined;
    return { operation };
  },
} as const satisfies Record<Exclude<ToolKind, 'function' | 'custom'>, Form>;

function isTexts(value: JsonValue | undefined): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function parsed(written: string): JsonObject | undefined {
  try {
    const value = parseJson(written || '{}');
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** What stands before a blob of the gateway's own. */
export const SEAL_MARK = 'gw1.';

/** A signed or a raw part as text, for the gateway's own reading. The text is part of it: a signature holds for the very same text,
 *  which a client may shorten, and raw text is what Codex leaves out. */
function writeReasoning(part: ReasoningPart): string {
  const { text, signature, redacted } = part;
  if (!isSealed(part)) return JSON.stringify({ text, raw: true });
  return JSON.stringify(redacted === undefined ? { text, signature } : { redacted });
}

/** Of a blob that was opened before the request was decoded; undefined: one that this gateway did not write, or cannot open. */
export function openReasoning(json: string): ReasoningPart | undefined {
  const value = parsed(json);
  if (value === undefined) return undefined;
  const { text, signature, redacted, raw } = value;
  if (typeof redacted === 'string') return { type: 'reasoning', text: '', redacted };
  if (typeof text !== 'string') return undefined;
  if (raw === true) return { type: 'reasoning', text };
  if (typeof signature !== 'string') return undefined;
  return { type: 'reasoning', text, signature };
}
