// Every member of a chat request and its fate towards another protocol. Decoding takes the fates from here, so that this list
// can't say one thing and the code do another.
import type { JsonValue } from '../../canonical/json.ts';
import type { CanonicalField, NativeField } from '../../canonical/request.ts';

type Fate = 'carried' | 'mapped' | 'left out' | 'quiet' | 'rejected';

export interface Entry {
  fate: Fate;
  /** Where it stands in the canonical request. */
  canonical?: CanonicalField;
  note: string;
  /** A value that asks for nothing: left out without a word. */
  neutral?: (value: JsonValue) => boolean;
}

const isZero = (value: JsonValue) => value === 0;
const isFalse = (value: JsonValue) => value === false;
const isEmpty = (value: JsonValue) =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0;

export const CHAT_FIELDS = {
  model: { fate: 'carried', note: 'after routing' },
  messages: { fate: 'carried', canonical: 'messages', note: 'see messages[].…' },
  stream: { fate: 'carried', note: '' },
  stream_options: { fate: 'mapped', note: 'its members apart' },
  'stream_options.include_usage': { fate: 'carried', note: 'decides whether a usage chunk is written' },
  'stream_options.include_obfuscation': { fate: 'quiet', note: 'of the transport only' },
  max_completion_tokens: { fate: 'carried', canonical: 'maxOutputTokens', note: 'before max_tokens' },
  max_tokens: { fate: 'mapped', canonical: 'maxOutputTokens', note: 'the older name' },
  temperature: { fate: 'carried', canonical: 'temperature', note: '' },
  top_p: { fate: 'carried', canonical: 'topP', note: '' },
  top_k: { fate: 'carried', canonical: 'topK', note: 'an extension of compatible servers' },
  stop: { fate: 'carried', canonical: 'stop', note: 'empty strings are dropped' },
  tools: { fate: 'carried', canonical: 'tools', note: 'function, custom' },
  'tools[].function.strict': { fate: 'carried', canonical: 'tools.strict', note: '' },
  'tools[].cache_control': { fate: 'carried', canonical: 'tools.cache', note: 'an extension' },
  tool_choice: { fate: 'carried', canonical: 'toolChoice', note: 'allowed_tools too' },
  parallel_tool_calls: { fate: 'carried', canonical: 'parallelToolCalls', note: '' },
  functions: { fate: 'mapped', canonical: 'tools', note: 'legacy; the answer takes the legacy form' },
  function_call: { fate: 'mapped', canonical: 'toolChoice', note: 'legacy' },
  reasoning_effort: { fate: 'carried', canonical: 'reasoning.effort', note: 'a string, or {effort}' },
  reasoning: { fate: 'mapped', canonical: 'reasoning', note: 'effort, max_tokens, enabled, exclude' },
  thinking: { fate: 'mapped', canonical: 'reasoning', note: 'type, budget_tokens, reasoning_effort' },
  enable_thinking: { fate: 'mapped', canonical: 'reasoning', note: '' },
  chat_template_kwargs: {
    fate: 'mapped',
    canonical: 'reasoning',
    note: 'enable_thinking alone; the rest is left out',
  },
  thinking_budget: { fate: 'mapped', canonical: 'reasoning.budgetTokens', note: "an extension, Qwen's" },
  think: { fate: 'mapped', canonical: 'reasoning', note: "an extension, Ollama's: a truth or an effort" },
  include_reasoning: {
    fate: 'mapped',
    canonical: 'reasoning',
    note: 'an extension; false hides the thinking',
  },
  cache_control: { fate: 'carried', canonical: 'cache', note: 'an extension; marks the whole request' },
  response_format: {
    fate: 'carried',
    canonical: 'responseFormat',
    note: 'json_schema, json_object; text is the default',
  },
  safety_identifier: { fate: 'carried', canonical: 'user', note: 'before user' },
  user: { fate: 'mapped', canonical: 'user', note: 'the older name' },
  service_tier: { fate: 'carried', canonical: 'serviceTier', note: '' },
  prompt_cache_key: { fate: 'carried', canonical: 'cacheKey', note: '' },
  web_search_options: { fate: 'carried', canonical: 'webSearch', note: '' },
  'web_search_options.search_context_size': { fate: 'carried', canonical: 'webSearch.contextSize', note: '' },

  n: { fate: 'rejected', note: 'more than one answer', neutral: (value) => value === 1 },
  logprobs: { fate: 'rejected', note: 'where true', neutral: isFalse },
  top_logprobs: { fate: 'quiet', note: 'has no effect without logprobs' },
  modalities: {
    fate: 'rejected',
    note: 'where more than text is asked for',
    neutral: (value) => Array.isArray(value) && value.every((item) => item === 'text'),
  },
  audio: { fate: 'rejected', note: 'the voice of an answer' },

  logit_bias: { fate: 'left out', note: 'of one tokenizer', neutral: isEmpty },
  seed: { fate: 'left out', note: '' },
  frequency_penalty: { fate: 'left out', note: '', neutral: isZero },
  presence_penalty: { fate: 'left out', note: '', neutral: isZero },
  prediction: { fate: 'left out', note: 'only speed is lost' },
  verbosity: { fate: 'left out', note: '' },
  store: { fate: 'left out', note: '', neutral: isFalse },
  moderation: { fate: 'left out', note: '' },
  metadata: { fate: 'left out', note: '', neutral: isEmpty },
  prompt_cache_options: { fate: 'left out', note: '' },
  prompt_cache_retention: { fate: 'quiet', note: '' },
  extra_body: { fate: 'left out', note: 'an extension', neutral: isEmpty },
  provider: { fate: 'left out', note: 'an extension' },
  models: { fate: 'left out', note: 'an extension' },
  route: { fate: 'left out', note: 'an extension' },
  transforms: { fate: 'left out', note: 'an extension' },
  plugins: { fate: 'left out', note: 'an extension' },

  'messages[].role': { fate: 'carried', note: 'developer as system, tool and function as tool results' },
  'messages[].content': { fate: 'carried', note: '' },
  'messages[].name': {
    fate: 'carried',
    canonical: 'messages.name',
    note: 'quiet on tool messages, read on function messages',
  },
  'messages[].prefix': {
    fate: 'carried',
    canonical: 'messages.prefix',
    note: 'an extension; on the last message, which the model goes on from anyway where it can',
  },
  'messages[].refusal': { fate: 'carried', note: 'as text' },
  'messages[].tool_calls': { fate: 'carried', canonical: 'messages.toolCall', note: 'function, custom' },
  'messages[].tool_call_id': { fate: 'carried', canonical: 'messages.toolResult', note: '' },
  'messages[].function_call': { fate: 'mapped', canonical: 'messages.toolCall', note: 'legacy' },
  'messages[].audio': {
    fate: 'carried',
    canonical: 'messages.audio',
    note: 'a reference to an earlier answer',
  },
  'messages[].annotations': { fate: 'carried', canonical: 'messages.citations', note: '' },
  'messages[].reasoning_content': { fate: 'carried', canonical: 'messages.reasoning', note: 'an extension' },
  'messages[].reasoning': { fate: 'mapped', canonical: 'messages.reasoning', note: 'an extension' },
  'messages[].reasoning_details': {
    fate: 'mapped',
    canonical: 'messages.reasoning',
    note: 'an extension; signed thinking goes back to who signed it',
  },
  'messages[].thinking_blocks': {
    fate: 'mapped',
    canonical: 'messages.reasoning',
    note: 'an extension; signed thinking goes back to who signed it',
  },
  'messages[].cache_control': {
    fate: 'mapped',
    canonical: 'messages.cache',
    note: 'an extension; marks the last part',
  },
  'messages[].content[].text': { fate: 'carried', note: '' },
  'messages[].content[].refusal': { fate: 'carried', note: 'as text' },
  'messages[].content[].image_url': {
    fate: 'carried',
    canonical: 'messages.image',
    note: 'an object, or the URL itself',
  },
  'messages[].content[].image_url.detail': { fate: 'carried', canonical: 'messages.image.detail', note: '' },
  'messages[].content[].file': {
    fate: 'carried',
    canonical: 'messages.document',
    note: 'file_data, file_id',
  },
  'messages[].content[].file.filename': { fate: 'carried', canonical: 'messages.document.title', note: '' },
  'messages[].content[].input_audio': { fate: 'carried', canonical: 'messages.audio', note: '' },
  'messages[].content[].prompt_cache_breakpoint': { fate: 'carried', canonical: 'messages.cache', note: '' },
  'messages[].content[].cache_control': { fate: 'mapped', canonical: 'messages.cache', note: 'an extension' },
  'messages[].content[].type': { fate: 'rejected', note: 'an unknown type of part' },
} as const satisfies Record<string, Entry>;

const ENTRIES: Readonly<Record<string, Entry | undefined>> = CHAT_FIELDS;

const NATIVE_FATE = {
  carried: 'report',
  mapped: 'report',
  'left out': 'report',
  quiet: 'quiet',
  rejected: 'reject',
} as const satisfies Record<Fate, NativeField['fate']>;

/** A member without a canonical name; one that the ledger doesn't know is reported. */
export function nativeField(path: string, value: JsonValue): NativeField {
  const entry = Object.hasOwn(ENTRIES, path) ? ENTRIES[path] : undefined;
  const fate = entry?.neutral?.(value) ? 'quiet' : NATIVE_FATE[entry?.fate ?? 'left out'];
  return { protocol: 'chat', path, name: path.slice(path.lastIndexOf('.') + 1), value, fate };
}
