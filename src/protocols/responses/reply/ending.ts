// How an answer ended: the status of a Response with its details, and its tokens. input_tokens include what was cached, the
// canonical input does not.
import { asCount, isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import { type StopReason, totalInput, type Usage } from '../../../canonical/reply.ts';
import { stopOfWord } from '../../shared/failures/finish-words.ts';

interface Ending {
  status: 'completed' | 'incomplete';
  /** Of `incomplete`. */
  reason?: 'max_output_tokens' | 'content_filter';
}

const COMPLETED: Ending = { status: 'completed' };
const CUT: Ending = { status: 'incomplete', reason: 'max_output_tokens' };
const FILTERED: Ending = { status: 'incomplete', reason: 'content_filter' };

/** Stands in the `refusal` part where the model refused without an explanation: clients look for the part. */
const UNEXPLAINED = 'The model refused to answer.';

/** The words of a model's refusal; '' for an answer that a filter cut, which has the status `incomplete`. */
export function refusalWords({ reason, raw, explanation = '' }: StopReason): string {
  if (reason !== 'refusal') return '';
  return explanation === '' && raw === 'refusal' ? UNEXPLAINED : explanation;
}

/** Whether the items of an answer hold more than thoughts and a refusal. */
export function holdsAnswer(items: readonly JsonObject[]): boolean {
  return items.some(({ type, content }) => {
    if (type !== 'message') return type !== 'reasoning';
    return listOf(content).some((part) => isObject(part) && part.type !== 'refusal' && part.text !== '');
  });
}

/** Whether the last text of an answer is `words`. */
export function endsWithText(items: readonly JsonObject[], words: string): boolean {
  const last = listOf(items.at(-1)?.content).at(-1);
  return isObject(last) && last.type === 'output_text' && last.text === words;
}

function listOf(value: JsonValue | undefined): JsonValue[] {
  return Array.isArray(value) ? value : [];
}

/** `refused`: the model's refusal, in words, is all there is. Behind half an answer it is a filter: clients take a completed one as whole. */
export function encodeStop({ reason }: StopReason, refused: boolean): Ending {
  switch (reason) {
    case 'length':
    case 'context_window':
      return CUT;
    case 'refusal':
      return refused ? COMPLETED : FILTERED;
    case 'end':
    case 'stop_sequence':
    case 'tool_calls':
    case 'pause':
    case 'other':
      return COMPLETED;
  }
}

/** What an answer consists of, as far as its ending depends on it. */
export interface Content {
  hasCalls: boolean;
  /** The model's refusal; '' if it gave none. */
  refusal: string;
}

export function decodeStop(response: JsonObject, { hasCalls, refusal }: Content): StopReason {
  const { status, incomplete_details: details } = response;
  if (status === 'incomplete') {
    const word = isObject(details) && typeof details.reason === 'string' ? details.reason : '';
    const known = stopOfWord(word);
    if (known === 'refusal' && refusal !== '') return { reason: 'refusal', raw: word, explanation: refusal };
    // Whatever the word is, the answer is not whole.
    return { reason: known === undefined || known === 'end' ? 'length' : known, raw: word || 'incomplete' };
  }
  const raw = typeof status === 'string' ? { raw: status } : {};
  if (refusal !== '') return { reason: 'refusal', ...raw, explanation: refusal };
  return { reason: hasCalls ? 'tool_calls' : 'end', ...raw };
}

/** Undefined where the provider gives no counts, half of them, or zeros alone. Details are optional: local servers have none. */
export function decodeUsage(value: JsonValue | undefined): Usage | undefined {
  if (!isObject(value)) return undefined;
  const whole = asCount(value.input_tokens);
  const output = asCount(value.output_tokens);
  if (whole === undefined || output === undefined || whole + output === 0) return undefined;
  const inputDetails = isObject(value.input_tokens_details) ? value.input_tokens_details : {};
  const outputDetails = isObject(value.output_tokens_details) ? value.output_tokens_details : {};
  const cacheRead = asCount(inputDetails.cached_tokens);
  const cacheWrite = asCount(inputDetails.cache_write_tokens);
  const reasoning = asCount(outputDetails.reasoning_tokens);
  const usage: Usage = { input: Math.max(0, whole - (cacheRead ?? 0) - (cacheWrite ?? 0)), output };
  if (cacheRead !== undefined) usage.cacheRead = cacheRead;
  if (cacheWrite !== undefined) usage.cacheWrite = cacheWrite;
  if (reasoning !== undefined) usage.reasoning = reasoning;
  return usage;
}

/** The details are always there: clients read through them without asking. */
export function encodeUsage(usage: Usage): JsonObject {
  const { cacheRead = 0, cacheWrite = 0, output, reasoning = 0 } = usage;
  const input = totalInput(usage);
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cacheRead, cache_write_tokens: cacheWrite },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  };
}
