// Finish reasons that servers send although their protocol does not define them: one table for whole replies, streams and relayed
// frames.
import type { StopReason } from '../../../canonical/reply.ts';
import type { FailureKind, ProviderFailure } from '../../../errors.ts';

/** The stop reason, or the failure, that the word means. */
type Meaning = StopReason['reason'] | { readonly failure: FailureKind };

const FAILED: Meaning = { failure: 'failed' };

/** In lower case; the part before a colon counts, whatever follows it. A map: an object would match `constructor`. */
const WORDS: ReadonlyMap<string, Meaning> = new Map(
  Object.entries<Meaning>({
    stop: 'end',
    // Servers that forward the words of their runtime.
    eos: 'end',
    end_turn: 'end',
    completed: 'end',
    length: 'length',
    model_length: 'length',
    max_tokens: 'length',
    max_output_tokens: 'length',
    tool_calls: 'tool_calls',
    function_call: 'tool_calls',
    // Alone, and from Gemini as `content_filter: RECITATION`.
    content_filter: 'refusal',
    // Z.ai.
    sensitive: 'refusal',
    network_error: FAILED,
    model_context_window_exceeded: 'context_window',
    // Gemini's own words, which some servers forward.
    safety: 'refusal',
    recitation: 'refusal',
    blocklist: 'refusal',
    prohibited_content: 'refusal',
    spii: 'refusal',
    image_safety: 'refusal',
    image_recitation: 'refusal',
    image_prohibited_content: 'refusal',
    malformed_function_call: FAILED,
    unexpected_tool_call: FAILED,
    function_call_filter: FAILED,
    // vLLM and SGLang: the server aborted the request.
    abort: FAILED,
    // OpenRouter and Mistral.
    error: FAILED,
    // DeepSeek.
    insufficient_system_resource: { failure: 'overloaded' },
  }),
);

function meaningOf(finish: string): Meaning | undefined {
  const word = finish.toLowerCase();
  const colon = word.indexOf(':');
  return WORDS.get(word) ?? (colon < 0 ? undefined : WORDS.get(word.slice(0, colon)));
}

/** Undefined for an unknown word, and for a word that means a failure. */
export function stopOfWord(finish: string): StopReason['reason'] | undefined {
  const meaning = meaningOf(finish);
  return typeof meaning === 'string' ? meaning : undefined;
}

/** The failure that a finish reason means, whatever content came before it. */
function failureOfWord(finish: string): ProviderFailure | undefined {
  const meaning = meaningOf(finish);
  if (meaning === undefined || typeof meaning === 'string') return undefined;
  const message = `The provider ended the answer with finish reason ${shown(finish)}.`;
  return { kind: meaning.failure, message, reason: 'finish' };
}

interface StopWords {
  /** The protocol's own word, else one that servers send although the protocol does not define it. */
  reasonOf: (word: string) => StopReason['reason'] | undefined;
  /** The failure that a word stands for, whatever came before it. */
  failureOfStop: (word: string) => ProviderFailure | undefined;
}

/** `own`: the words that the protocol defines. */
export function createStopWords(own: ReadonlyMap<string, StopReason['reason']>): StopWords {
  return {
    reasonOf: (word) => own.get(word) ?? stopOfWord(word),
    failureOfStop: (word) => (own.has(word) ? undefined : failureOfWord(word)),
  };
}

/** Characters of a word that is shown. */
const LONGEST = 100;

/** A provider's word in a message. A long one is not cut, since redaction would not recognise half of a secret. */
export function shown(finish: string): string {
  return finish.length <= LONGEST ? `"${finish}"` : `of ${finish.length} characters`;
}
