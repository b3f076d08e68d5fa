// Decodes a provider's whole Response into the canonical reply.
import { isObject, type JsonObject, type JsonValue, stringOf } from '../../../canonical/json.ts';
import type { Reply, ReplyPart } from '../../../canonical/reply.ts';
import type { Citation, ReasoningPart, TextPart, ToolCallPart } from '../../../canonical/request.ts';
import { signatureOfEncrypted } from '../../../canonical/thinking-signature.ts';
import { createUniqueIds } from '../../../canonical/tool-pairing.ts';
import { FailureError, type ProviderFailure } from '../../../errors.ts';
import { argumentsText } from '../../json/raw-json.ts';
import { tokensOf } from '../../../canonical/logprobs.ts';
import { failureOf } from '../errors.ts';
import { toolDirectory } from '../request/tools.ts';
import { decodeAnnotations } from './citations.ts';
import { decodeStop, decodeUsage } from './ending.ts';
import { NAMELESS_CALL, EMPTY_ANSWER, faulty } from '../../../failures.ts';

/** Statuses of an answer that is over. Some local servers leave the status out. */
const OVER: ReadonlySet<JsonValue | undefined> = new Set(['completed', 'incomplete', undefined, null]);

/** The failure that a Response stands for; undefined: it is an answer. */
export function failureOfResponse(response: JsonObject): ProviderFailure | undefined {
  const { status, error } = response;
  if (status === 'failed' || isObject(error) || (typeof error === 'string' && error !== '')) {
    return failureOf({ error: error ?? 'The provider failed without a message.' });
  }
  if (OVER.has(status)) return undefined;
  const shown = JSON.stringify(status)?.slice(0, 40);
  return faulty('truncated', `the provider ended its answer with status ${shown}`);
}

const NOT_A_RESPONSE = faulty('malformed', "the provider's answer is not a Response");

export function readResponse(value: unknown): { response: JsonObject; output: JsonValue[] } {
  if (value === undefined || value === null) throw new FailureError(EMPTY_ANSWER);
  if (!isObject(value)) throw new FailureError(NOT_A_RESPONSE);
  const failure = failureOfResponse(value);
  if (failure !== undefined) throw new FailureError(failure);
  const { output } = value;
  if (!Array.isArray(output)) throw new FailureError(NOT_A_RESPONSE);
  if (value.status !== 'incomplete' && value.status !== 'completed' && output.length === 0)
    throw new FailureError(faulty('empty', "the provider's answer has no output and no status"));
  return { response: value, output };
}

export function decodeReply(value: unknown): Reply {
  const { response, output } = readResponse(value);
  const unique = createUniqueIds();
  const parts: ReplyPart[] = [];
  for (const item of output) if (isObject(item)) parts.push(...decodeItem(item, unique));
  const reply: Reply = {
    id: stringOf(response.id),
    model: stringOf(response.model),
    parts,
    stop: decodeStop(response, {
      hasCalls: parts.some(({ type }) => type === 'tool_call'),
      refusal: refusalIn(parts),
    }),
  };
  if (typeof response.created_at === 'number' && response.created_at > 0) {
    reply.created = Math.floor(response.created_at);
  }
  const usage = decodeUsage(response.usage);
  if (usage !== undefined) reply.usage = usage;
  if (typeof response.service_tier === 'string') reply.serviceTier = response.service_tier;
  return reply;
}

function refusalIn(parts: readonly ReplyPart[]): string {
  let refusal = '';
  for (const part of parts) if (part.type === 'text' && part.refusal === true) refusal += part.text;
  return refusal;
}

/** An item as parts for other protocols; empty if it has no content. */
function decodeItem(item: JsonObject, unique: (id: string) => string): ReplyPart[] {
  switch (item.type) {
    case 'message':
      return decodeMessage(item);
    case 'reasoning':
      return decodeReasoning(item);
    case 'function_call':
    case 'custom_tool_call':
      return [decodeCall(item, unique)];
    default:
      return [{ type: 'native', protocol: 'responses', kind: stringOf(item.type), value: item }];
  }
}

export function listOf(value: JsonValue | undefined): JsonValue[] {
  return Array.isArray(value) ? value : [];
}

function decodeMessage({ content }: JsonObject): TextPart[] {
  const parts: TextPart[] = [];
  for (const part of listOf(content)) {
    const text = isObject(part) ? decodeContent(part) : undefined;
    if (text !== undefined) parts.push(text);
  }
  return parts;
}

function decodeContent(part: JsonObject): TextPart | undefined {
  if (part.type === 'refusal') {
    const refusal = stringOf(part.refusal);
    return refusal === '' ? undefined : { type: 'text', text: refusal, refusal: true };
  }
  const text = stringOf(part.text);
  const citations: Citation[] = decodeAnnotations(part.annotations);
  if (text === '' && citations.length === 0) return undefined;
  const decoded: TextPart = { type: 'text', text };
  if (citations.length > 0) decoded.citations = citations;
  const tokens = tokensOf(part.logprobs);
  if (tokens.length > 0) decoded.logprobs = tokens;
  return decoded;
}

/** Between the parts of a summary, each of which is a paragraph. */
export const SUMMARY_GAP = '\n\n';

function decodeReasoning(item: JsonObject): ReasoningPart[] {
  const raw = textsOf(item.content).join('');
  const text = raw === '' ? textsOf(item.summary).join(SUMMARY_GAP) : raw;
  const signature = signatureOf(item);
  if (text === '' && signature === undefined) return [];
  return [{ type: 'reasoning', text, ...(signature !== undefined && { signature }) }];
}

function textsOf(parts: JsonValue | undefined): string[] {
  return listOf(parts).map((part) => (isObject(part) ? stringOf(part.text) : ''));
}

/** What its provider encrypted, as clients of other protocols hand it back. */
export function signatureOf({ id, encrypted_content: content }: JsonObject): string | undefined {
  if (typeof content !== 'string' || content === '') return undefined;
  return signatureOfEncrypted({ id: stringOf(id), content });
}

function decodeCall(item: JsonObject, unique: (id: string) => string): ToolCallPart {
  const name = stringOf(item.name);
  if (name === '') throw new FailureError(NAMELESS_CALL);
  const custom = item.type === 'custom_tool_call';
  const id = stringOf(item.call_id) || stringOf(item.id);
  const call: ToolCallPart = {
    type: 'tool_call',
    // One that is missing is made by the encoder.
    id: id === '' ? id : unique(id),
    name: canonicalName(item),
    arguments: custom ? stringOf(item.input) : argumentsText(item.arguments) || '{}',
  };
  if (custom) call.custom = true;
  return call;
}

/** Without a list of tools: what a namespace and a name give, whichever request they are of. */
const NO_TOOLS = toolDirectory({});

/** The name under which the tool of a call stands in a canonical request. */
export function canonicalName({ name, namespace }: JsonObject): string {
  return NO_TOOLS.nameOf(stringOf(name), typeof namespace === 'string' ? namespace : undefined);
}
