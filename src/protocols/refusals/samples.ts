// Members that some servers of chat refuse, with a value that is taken where they are known: a check puts them into a small request.
import { isObject, type JsonObject, type JsonValue } from '../../canonical/json.ts';

/** By their last name. */
const SAMPLES: Readonly<Partial<Record<string, JsonValue>>> = {
  enable_thinking: false,
  frequency_penalty: 0.5,
  logit_bias: { '1': 1 },
  logprobs: true,
  max_completion_tokens: 1024,
  metadata: { check: 'deep' },
  name: 'ann',
  parallel_tool_calls: true,
  presence_penalty: 0.5,
  prompt_cache_key: 'check',
  reasoning: '',
  reasoning_content: '',
  seed: 1,
  service_tier: 'auto',
  store: false,
  top_k: 40,
  top_logprobs: 1,
  user: 'ann',
};
/** Where a member of messages stands. */
const IN_MESSAGES = 'messages[].';

/** Puts the member of a path into a body; undefined: no value of it is known. */
export function sampleAt(path: string): ((body: JsonObject) => void) | undefined {
  const isInner = path.startsWith(IN_MESSAGES);
  const name = isInner ? path.slice(IN_MESSAGES.length) : path;
  const sample = Object.hasOwn(SAMPLES, name) ? SAMPLES[name] : undefined;
  if (sample === undefined) return undefined;
  if (!isInner) return (body) => putAtTop(body, name, sample);
  const role = name.startsWith('reasoning') ? 'assistant' : 'user';
  return (body) => {
    for (const message of messagesOf(body)) if (message.role === role) message[name] = sample;
  };
}

function putAtTop(body: JsonObject, name: string, sample: JsonValue): void {
  body[name] = sample;
  // The one is refused without the other, or beside it.
  if (name === 'top_logprobs') body.logprobs = true;
  if (name === 'max_completion_tokens') delete body.max_tokens;
}

/** Cuts the arguments of the calls of a history. */
export function cutArguments(body: JsonObject): void {
  for (const message of messagesOf(body)) {
    for (const call of Array.isArray(message.tool_calls) ? message.tool_calls : []) {
      if (isObject(call) && isObject(call.function)) call.function.arguments = '{"city":"Par';
    }
  }
}

function messagesOf({ messages }: JsonObject): JsonObject[] {
  return Array.isArray(messages) ? messages.filter(isObject) : [];
}
