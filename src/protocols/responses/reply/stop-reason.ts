// Why an answer ended: the status of a Response with its details, and the canonical stop.
import { isObject, type JsonObject } from '../../../canonical/json.ts';
import type { StopReason } from '../../../canonical/reply.ts';
import { stopOfWord } from '../../shared/finish-words.ts';

export interface Ending {
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

/** `refused`: the answer holds the model's refusal in words, which says it better than a filter's status. */
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
  /** The model's refusal; '' where it gave none. */
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
