// The Response object around an answer's items: every member that the strictest readers demand, and the request's members that
// an answer repeats.
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import type { Ids } from '../../../ids.ts';
import { rawJson } from '../../json/raw-json.ts';
import { encodeServiceTier } from '../../shared/openai/fields.ts';
import type { ReplyContext } from '../../interface/answer.ts';

/** What changes while an answer grows. */
export interface ResponseState {
  status: 'in_progress' | 'completed' | 'incomplete' | 'failed';
  output: JsonObject[];
  usage?: JsonObject;
  error?: JsonObject;
  /** Of `incomplete`. */
  reason?: string;
  /** Seconds since the epoch. */
  completedAt?: number;
}

/** What is known of an answer when it begins. */
export interface ResponseHead {
  id: string;
  /** Seconds since the epoch. */
  created: number;
  model: string;
  serviceTier?: string;
}

const ID_PREFIX = 'resp_';

/** Ids of this protocol stay; a foreign one would look like another protocol's to clients. */
export function responseId(id: string, ids: Ids): string {
  return id.startsWith(ID_PREFIX) ? id : ID_PREFIX + ids.random(32);
}

type KeptContext = Partial<Pick<ReplyContext, 'request' | 'stores' | 'remembers'>>;

/** Whether later requests of the account may refer to the answer. */
export function isStored({ request, stores }: KeptContext): boolean {
  return stores === true && request?.asked?.store !== false;
}

/** Whether later requests may refer to it, of the same connection at least. */
export function isReferable(context: KeptContext): boolean {
  return context.remembers === true || isStored(context);
}

/** Not before its beginning, whatever the clocks say. */
export function completedAt({ created }: ResponseHead, { now }: Pick<ReplyContext, 'now'>): number {
  return Math.max(created, Math.floor(now() / 1000));
}

/** The members that change, in front of those that `echoOf` gives. */
function headOf(
  { id, created, model, serviceTier }: ResponseHead,
  { status, completedAt: completed, reason, error, output, usage }: ResponseState,
): JsonObject {
  return {
    id,
    object: 'response',
    created_at: created,
    completed_at: completed ?? null,
    status,
    incomplete_details: reason === undefined ? null : { reason },
    error: error ?? null,
    model,
    output,
    usage: usage ?? null,
    service_tier: encodeServiceTier(serviceTier) ?? 'default',
  };
}

/** The request, as an answer repeats it: with the defaults of the service where the client wrote nothing. */
export function echoOf(context: KeptContext = {}): JsonObject {
  const { asked = {} } = context.request ?? {};
  const { tools, user } = asked;
  const echo: JsonObject = {
    background: false,
    frequency_penalty: number(asked.frequency_penalty, 0),
    instructions: asked.instructions ?? null,
    max_output_tokens: asked.max_output_tokens ?? null,
    max_tool_calls: asked.max_tool_calls ?? null,
    metadata: isObject(asked.metadata) ? asked.metadata : {},
    parallel_tool_calls: asked.parallel_tool_calls !== false,
    presence_penalty: number(asked.presence_penalty, 0),
    previous_response_id: asked.previous_response_id ?? null,
    prompt_cache_key: asked.prompt_cache_key ?? null,
    reasoning: { effort: null, summary: null, ...(isObject(asked.reasoning) && asked.reasoning) },
    safety_identifier: asked.safety_identifier ?? null,
    store: isStored(context),
    temperature: number(asked.temperature, 1),
    text: textOf(asked.text),
    tool_choice: asked.tool_choice ?? 'auto',
    tools: Array.isArray(tools) ? tools.map(echoTool) : [],
    top_logprobs: number(asked.top_logprobs, 0),
    top_p: number(asked.top_p, 1),
    // The gateway cuts nothing, whatever the client asked for.
    truncation: 'disabled',
  };
  if (typeof user === 'string') echo.user = user;
  return echo;
}

export function responseOf(head: ResponseHead, state: ResponseState, context?: KeptContext): JsonObject {
  return Object.assign(headOf(head, state), echoOf(context));
}

/** The same as JSON. `echo`: as `rawJson` writes `echoOf`, once for all events of a stream. */
export function responseJson(head: ResponseHead, state: ResponseState, echo: string): string {
  return `${rawJson(headOf(head, state)).slice(0, -1)},${echo.slice(1)}`;
}

function number(value: JsonValue | undefined, usual: number): number {
  return typeof value === 'number' ? value : usual;
}

/** Without a format the answer is plain text. */
function textOf(text: JsonValue | undefined): JsonObject {
  if (!isObject(text)) return { format: { type: 'text' } };
  return isObject(text.format) ? text : { ...text, format: { type: 'text' } };
}

/** Readers with schemas demand members of a function that a request may leave out. */
function echoTool(tool: JsonValue): JsonValue {
  if (!isObject(tool) || tool.type !== 'function') return tool;
  return { description: null, parameters: null, strict: null, ...tool };
}
