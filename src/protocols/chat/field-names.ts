// What this protocol's clients call the canonical places, for the names in warnings.
import type { CanonicalField } from '../../canonical/request.ts';

const PATHS = {
  maxOutputTokens: 'max_completion_tokens',
  temperature: 'temperature',
  topP: 'top_p',
  topK: 'top_k',
  stop: 'stop',
  tools: 'tools',
  'tools.strict': 'tools[].function.strict',
  'tools.cache': 'tools[].cache_control',
  'tools.deferred': 'tools',
  toolChoice: 'tool_choice',
  parallelToolCalls: 'parallel_tool_calls',
  reasoning: 'reasoning_effort',
  'reasoning.budgetTokens': 'thinking.budget_tokens',
  'reasoning.effort': 'reasoning_effort',
  responseFormat: 'response_format',
  'responseFormat.strict': 'response_format.json_schema.strict',
  user: 'safety_identifier',
  serviceTier: 'service_tier',
  cache: 'cache_control',
  cacheKey: 'prompt_cache_key',
  webSearch: 'web_search_options',
  'webSearch.contextSize': 'web_search_options.search_context_size',
  'messages.name': 'messages[].name',
  'messages.prefix': 'messages[].prefix',
  'messages.cache': 'messages[].content[].cache_control',
  'messages.reasoning': 'messages[].reasoning_content',
  'messages.redacted': 'messages[].reasoning_details',
  'messages.image': 'messages[].content[].image_url',
  'messages.image.detail': 'messages[].content[].image_url.detail',
  'messages.document': 'messages[].content[].file',
  'messages.document.context': 'messages[].content[].file',
  'messages.document.citations': 'messages[].content[].file',
  'messages.document.title': 'messages[].content[].file.filename',
  'messages.audio': 'messages[].content[].input_audio',
  'messages.citations': 'messages[].annotations',
  'messages.toolResult': 'messages[].content',
  'messages.toolResult.isError': 'messages[].content',
  'messages.toolCall': 'messages[].tool_calls',
  'messages.toolCall.extra': 'messages[].tool_calls[].extra_content',
  'messages.native': 'messages[].content[]',
  messages: 'messages',
} as const satisfies Record<CanonicalField, string>;

export function wirePath(field: CanonicalField): string {
  return PATHS[field];
}

const FIELDS: ReadonlyMap<string, CanonicalField> = new Map(
  Object.entries(PATHS)
    .map(([field, path]) => [path, field as CanonicalField] as const)
    .reverse(),
);

const OTHER_NAMES: Readonly<Record<string, CanonicalField | undefined>> = {
  max_tokens: 'maxOutputTokens',
  user: 'user',
  reasoning: 'messages.reasoning',
};

/** The canonical place behind a wire name, for fields that a server refuses by name. */
export function fieldAt(path: string): CanonicalField | undefined {
  return FIELDS.get(path) ?? OTHER_NAMES[path];
}
