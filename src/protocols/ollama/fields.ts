// Every field of Ollama's requests, and what becomes of it: no provider is spoken to in this protocol, so each is carried into another
// one, or left out and named.
// https://docs.ollama.com/api
import type { JsonObject, JsonValue } from '../../canonical/json.ts';
import type { CanonicalField, NativeField } from '../../canonical/request.ts';
import {
  CARRIED,
  createLedger,
  isEmpty,
  isFalse,
  isZero,
  LEFT_OUT,
  MAPPED,
  QUIET,
  type LedgerRows,
  type WirePaths,
} from '../shared/ledger.ts';

const isNothing = (value: JsonValue): boolean => value === '' || isEmpty(value);

export const OLLAMA_FIELDS = {
  model: CARRIED,
  name: MAPPED,
  stream: CARRIED,
  messages: CARRIED,
  prompt: MAPPED,
  system: MAPPED,
  images: MAPPED,
  tools: CARRIED,
  format: MAPPED,
  think: MAPPED,
  options: MAPPED,
  logprobs: { ...LEFT_OUT, neutral: isFalse, shared: 'logprobs' },
  top_logprobs: { ...LEFT_OUT, neutral: isZero, shared: 'top_logprobs' },
  suffix: { ...LEFT_OUT, neutral: isNothing },
  raw: { ...LEFT_OUT, neutral: isFalse },
  template: { ...LEFT_OUT, neutral: isNothing },
  context: { ...LEFT_OUT, neutral: isNothing },
  keep_alive: { ...QUIET, message: 'it is for the server that is asked, and a gateway loads no model' },

  'options.num_predict': MAPPED,
  'options.temperature': CARRIED,
  'options.top_p': CARRIED,
  'options.top_k': CARRIED,
  'options.stop': CARRIED,
  'options.seed': MAPPED,
  'options.presence_penalty': MAPPED,
  'options.frequency_penalty': MAPPED,
  'options.num_ctx': { ...LEFT_OUT, message: 'the window is the one that the provider gives the model' },
  'options.repeat_penalty': { ...LEFT_OUT, neutral: (value) => value === 1 },
  'options.min_p': { ...LEFT_OUT, neutral: isZero },
  'options.mirostat': { ...LEFT_OUT, neutral: isZero },

  'messages[].role': CARRIED,
  'messages[].content': CARRIED,
  'messages[].thinking': MAPPED,
  'messages[].images': MAPPED,
  'messages[].tool_calls': CARRIED,
  'messages[].tool_name': MAPPED,
  'messages[].tool_call_id': CARRIED,
  'messages[].name': MAPPED,
} as const satisfies LedgerRows;

const { nativeField, addNativeFields } = createLedger('ollama', OLLAMA_FIELDS);
export { addNativeFields };

/** Options that chat has a member for, and other protocols do not. */
const OF_CHAT: readonly string[] = ['seed', 'presence_penalty', 'frequency_penalty'];

/** What no member of the canonical request stands for. */
export function nativeFields(value: JsonObject, options: JsonObject): NativeField[] {
  const fields: NativeField[] = [];
  addNativeFields(fields, value, '');
  addNativeFields(fields, options, 'options.');
  for (const name of OF_CHAT) addChatField(fields, name, options[name]);
  return fields;
}

function addChatField(fields: NativeField[], name: string, value: JsonValue | undefined): void {
  if (value === undefined || value === null || (value === 0 && name !== 'seed')) return;
  const asked = `options.${name}`;
  fields.push({ ...nativeField(asked, value, name), protocol: 'chat', path: name, asked });
}

const PATHS = {
  maxOutputTokens: 'options.num_predict',
  temperature: 'options.temperature',
  topP: 'options.top_p',
  topK: 'options.top_k',
  stop: 'options.stop',
  tools: 'tools',
  'tools.strict': 'tools',
  'tools.cache': 'tools',
  toolChoice: 'tools',
  parallelToolCalls: 'tools',
  reasoning: 'think',
  'reasoning.budgetTokens': 'think',
  'reasoning.effort': 'think',
  responseFormat: 'format',
  'responseFormat.strict': 'format',
  user: 'options',
  serviceTier: 'options',
  cache: 'messages',
  cacheKey: 'messages',
  webSearch: 'tools',
  'webSearch.contextSize': 'tools',
  'messages.name': 'messages[].name',
  'messages.prefix': 'messages[].role',
  'messages.cache': 'messages',
  'messages.reasoning': 'messages[].thinking',
  'messages.redacted': 'messages[].thinking',
  'messages.image': 'messages[].images',
  'messages.image.detail': 'messages[].images',
  'messages.document': 'messages[].images',
  'messages.document.context': 'messages[].images',
  'messages.document.citations': 'messages[].images',
  'messages.document.title': 'messages[].images',
  'messages.audio': 'messages[].images',
  'messages.citations': 'messages[].content',
  'messages.toolResult': 'messages[].content',
  'messages.toolResult.isError': 'messages[].content',
  'messages.toolCall': 'messages[].tool_calls',
  'messages.toolCall.extra': 'messages[].tool_calls',
  'messages.native': 'messages[].content',
  messages: 'messages',
} as const satisfies WirePaths;

export function wirePath(field: CanonicalField): string {
  return PATHS[field];
}
