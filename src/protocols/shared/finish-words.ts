// The words for why an answer ended that servers use beside those of their protocol: one table for whole replies, streams and
// relayed frames alike.
import type { StopReason } from '../../canonical/reply.ts';
import type { FailureKind, ProviderFailure } from '../../errors.ts';

/** A stop, or the failure that the word stands for. */
type Meaning = StopReason['reason'] | { readonly failure: FailureKind };

const FAILED: Meaning = { failure: 'failed' };

/** In lower case; the part before a colon stands for all that may follow it. A map, since the words are strangers'. */
const WORDS: ReadonlyMap<string, Meaning> = new Map(
  Object.entries<Meaning>({
    stop: 'end',
    // Servers that pass their runtime's own words on.
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
    // Gemini's own words, which reach clients of some of its servers as they are.
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
    // vLLM and SGLang, where the server gave the request up.
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

/** Undefined for a word that nobody knows, or that stands for a failure. */
export function stopOfWord(finish: string): StopReason['reason'] | undefined {
  const meaning = meaningOf(finish);
  return typeof meaning === 'string' ? meaning : undefined;
}

/** The failure that a finish stands for, whatever came before it. */
export function failureOfWord(finish: string): ProviderFailure | undefined {
  const meaning = meaningOf(finish);
  if (meaning === undefined || typeof meaning === 'string') return undefined;
  const message = `The provider ended the answer with finish reason ${shown(finish)}.`;
  return { kind: meaning.failure, message, reason: 'finish' };
}

/** Characters of a word that is shown. */
const LONGEST = 100;

/** A stranger's word in a message. A long one is not cut: half a secret in it would be known for none. */
export function shown(finish: string): string {
  return finish.length <= LONGEST ? `"${finish}"` : `of ${finish.length} characters`;
}
