// The Response object around an answer's items: every member that the strictest readers demand, and the request's members that
// an answer repeats.
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import type { ReplyContext } from '../../protocol.ts';

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
export function responseId(id: string, context: Pick<ReplyContext, 'ids' | 'trace'>): string {
  if (id.startsWith(ID_PREFIX)) return id;
  const own = ID_PREFIX + context.ids.random(32);
  noteReplyIds(context, id, own);
  return own;
}

export function noteReplyIds({ trace }: Pick<ReplyContext, 'trace'>, theirs: string, ours: string): void {
  if (trace !== undefined && theirs !== '' && theirs !== ours) trace.replyIds = { theirs, ours };
}

/** Whether later requests may refer to the answer. */
export function isStored({ request, hidden }: Partial<Pick<ReplyContext, 'request' | 'hidden'>>): boolean {
  return hidden !== undefined && request?.asked?.store !== false;
}

/** Not before its beginning, whatever the clocks say. */
export function completedAt({ created }: ResponseHead, { now }: Pick<ReplyContext, 'now'>): number {
  return Math.max(created, Math.floor(now() / 1000));
}

const SERVICE_TIERS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    standard: 'default',
    default: 'default',
    priority: 'priority',
    auto: 'auto',
    flex: 'flex',
    scale: 'scale',
  }),
);

/** The members that change, in front of those that `echoOf` gives. */
export function headOf(
  { id, created, model, serviceTier = 'default' }: ResponseHead,
  state: ResponseState,
): JsonObject {
  return {
    id,
    object: 'response',
    created_at: created,
    completed_at: state.completedAt ?? null,
    status: state.status,
    incomplete_details: state.reason === undefined ? null : { reason: state.reason },
    error: state.error ?? null,
    model,
    output: state.output,
    usage: state.usage ?? null,
    service_tier: SERVICE_TIERS.get(serviceTier) ?? 'default',
  };
}

/** The request, as an answer repeats it: with the defaults of the service where the client wrote nothing. */
export function echoOf(context: Partial<Pick<ReplyContext, 'request' | 'hidden'>> = {}): JsonObject {
  const { asked = {} } = context.request ?? {};
  const { text, reasoning } = asked;
  const effort = { effort: null, summary: null };
  const echo: JsonObject = {
    background: false,
    frequency_penalty: numberOr(asked.frequency_penalty, 0),
    instructions: asked.instructions ?? null,
    max_output_tokens: asked.max_output_tokens ?? null,
    max_tool_calls: asked.max_tool_calls ?? null,
    metadata: isObject(asked.metadata) ? asked.metadata : {},
    parallel_tool_calls: asked.parallel_tool_calls !== false,
    presence_penalty: numberOr(asked.presence_penalty, 0),
    previous_response_id: asked.previous_response_id ?? null,
    prompt_cache_key: asked.prompt_cache_key ?? null,
    reasoning: isObject(reasoning) ? { ...effort, ...reasoning } : effort,
    safety_identifier: asked.safety_identifier ?? null,
    store: isStored(context),
    temperature: numberOr(asked.temperature, 1),
    text: isObject(text) ? { ...text, format: formatOf(text) } : { format: formatOf(text) },
    tool_choice: asked.tool_choice ?? 'auto',
    tools: Array.isArray(asked.tools) ? asked.tools.map(echoTool) : [],
    top_logprobs: numberOr(asked.top_logprobs, 0),
    top_p: numberOr(asked.top_p, 1),
    truncation: asked.truncation === 'auto' ? 'auto' : 'disabled',
  };
  if (typeof asked.user === 'string') echo.user = asked.user;
  return echo;
}

/** The whole Response, each member by its name: joined by Object.assign, it takes twice as long to make and to write. */
export function responseOf(
  head: ResponseHead,
  state: ResponseState,
  context?: Partial<Pick<ReplyContext, 'request' | 'hidden'>>,
): JsonObject {
  const first = headOf(head, state);
  const echo = echoOf(context);
  return {
    id: first.id,
    object: first.object,
    created_at: first.created_at,
    completed_at: first.completed_at,
    status: first.status,
    incomplete_details: first.incomplete_details,
    error: first.error,
    model: first.model,
    output: first.output,
    usage: first.usage,
    service_tier: first.service_tier,
    background: echo.background,
    frequency_penalty: echo.frequency_penalty,
    instructions: echo.instructions,
    max_output_tokens: echo.max_output_tokens,
    max_tool_calls: echo.max_tool_calls,
    metadata: echo.metadata,
    parallel_tool_calls: echo.parallel_tool_calls,
    presence_penalty: echo.presence_penalty,
    previous_response_id: echo.previous_response_id,
    prompt_cache_key: echo.prompt_cache_key,
    reasoning: echo.reasoning,
    safety_identifier: echo.safety_identifier,
    store: echo.store,
    temperature: echo.temperature,
    text: echo.text,
    tool_choice: echo.tool_choice,
    tools: echo.tools,
    top_logprobs: echo.top_logprobs,
    top_p: echo.top_p,
    truncation: echo.truncation,
    user: echo.user,
  };
}

function numberOr(value: JsonValue | undefined, usual: number): number {
  return typeof value === 'number' ? value : usual;
}

function formatOf(text: JsonValue | undefined): JsonValue {
  return isObject(text) && isObject(text.format) ? text.format : { type: 'text' };
}

/** Readers with schemas demand members of a function that a request may leave out. */
function echoTool(tool: JsonValue): JsonValue {
  if (!isObject(tool) || tool.type !== 'function') return tool;
  return { description: null, parameters: null, strict: null, ...tool };
}
