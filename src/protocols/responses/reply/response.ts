// The Response object around an answer's items: every member that the strictest readers demand, and the request's members that
// an answer repeats.
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import { rawJson } from '../../json/raw-json.ts';
import type { ReplyContext } from '../../interface/answer.ts';

/** What changes while an answer grows. */
export interface ResponseState {
  status: 'in_progress' | 'completed' | 'incomplete' | 'failed';
  output: JsonObject[];
  /** The same as JSON, if it was written at once; `output` is empty then. */
  written?: string;
  /** As JSON. */
  usage?: string;
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

/** The members that change, in front of those that `echoJson` gives; without the braces around them. */
export function headJson(
  { id, created, model, serviceTier = 'default' }: ResponseHead,
  { status, completedAt: completed, reason, error, output, written, usage }: ResponseState,
): string {
  const details = reason === undefined ? 'null' : `{"reason":"${reason}"}`;
  const tier = SERVICE_TIERS.get(serviceTier) ?? 'default';
  return (
    `"id":${json(id)},"object":"response","created_at":${json(created)},"completed_at":${json(completed)},` +
    `"status":"${status}","incomplete_details":${details},"error":${json(error)},"model":${json(model)},` +
    `"output":${written ?? rawJson(output)},"usage":${usage ?? 'null'},"service_tier":"${tier}"`
  );
}

/**
 * The request, as an answer repeats it: with the defaults of the service where the client wrote nothing. Most members are such
 * defaults, and an object of them takes five times as long to make and to write as this text.
 */
export function echoJson(context: Partial<Pick<ReplyContext, 'request' | 'hidden'>> = {}): string {
  const { asked = {} } = context.request ?? {};
  const { tools, user } = asked;
  return (
    `"background":false,"frequency_penalty":${number(asked.frequency_penalty, 0)},` +
    `"instructions":${json(asked.instructions)},"max_output_tokens":${json(asked.max_output_tokens)},` +
    `"max_tool_calls":${json(asked.max_tool_calls)},` +
    `"metadata":${isObject(asked.metadata) ? json(asked.metadata) : '{}'},` +
    `"parallel_tool_calls":${asked.parallel_tool_calls !== false},` +
    `"presence_penalty":${number(asked.presence_penalty, 0)},` +
    `"previous_response_id":${json(asked.previous_response_id)},` +
    `"prompt_cache_key":${json(asked.prompt_cache_key)},"reasoning":${reasoningJson(asked.reasoning)},` +
    `"safety_identifier":${json(asked.safety_identifier)},"store":${isStored(context)},` +
    `"temperature":${number(asked.temperature, 1)},"text":${textJson(asked.text)},` +
    `"tool_choice":${json(asked.tool_choice ?? 'auto')},` +
    `"tools":${Array.isArray(tools) ? json(tools.map(echoTool)) : '[]'},` +
    `"top_logprobs":${number(asked.top_logprobs, 0)},"top_p":${number(asked.top_p, 1)},` +
    // The gateway cuts nothing, whatever the client asked for.
    `"truncation":"disabled"` +
    (typeof user === 'string' ? `,"user":${json(user)}` : '')
  );
}

export function responseJson(
  head: ResponseHead,
  state: ResponseState,
  context?: Partial<Pick<ReplyContext, 'request' | 'hidden'>>,
): string {
  return `{${headJson(head, state)},${echoJson(context)}}`;
}

export function responseOf(
  head: ResponseHead,
  state: ResponseState,
  context?: Partial<Pick<ReplyContext, 'request' | 'hidden'>>,
): JsonObject {
  return { ...(JSON.parse(responseJson(head, state, context)) as JsonObject), output: state.output };
}

/** What is absent is null. */
function json(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return 'null';
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : 'null';
  return typeof value === 'object' ? rawJson(value) : JSON.stringify(value);
}

function number(value: JsonValue | undefined, usual: number): string {
  return typeof value === 'number' ? JSON.stringify(value) : String(usual);
}

function reasoningJson(reasoning: JsonValue | undefined): string {
  return isObject(reasoning)
    ? json({ effort: null, summary: null, ...reasoning })
    : '{"effort":null,"summary":null}';
}

/** Without a format the answer is plain text. */
function textJson(text: JsonValue | undefined): string {
  if (!isObject(text)) return '{"format":{"type":"text"}}';
  return json(isObject(text.format) ? text : { ...text, format: { type: 'text' } });
}

/** Readers with schemas demand members of a function that a request may leave out. */
function echoTool(tool: JsonValue): JsonValue {
  if (!isObject(tool) || tool.type !== 'function') return tool;
  return { description: null, parameters: null, strict: null, ...tool };
}
