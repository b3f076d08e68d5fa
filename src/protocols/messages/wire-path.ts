// What this protocol's clients call the canonical places, for the names in warnings.
import type { Field } from '../../canonical/request.ts';

const PATHS = {
  maxOutputTokens: 'max_tokens',
  temperature: 'temperature',
  topP: 'top_p',
  topK: 'top_k',
  stop: 'stop_sequences',
  tools: 'tools[]',
  'tools.strict': 'tools[].strict',
  'tools.cache': 'tools[].cache_control',
  'tools.deferred': 'tools[].defer_loading',
  toolChoice: 'tool_choice',
  parallelToolCalls: 'tool_choice.disable_parallel_tool_use',
  reasoning: 'thinking',
  'reasoning.budgetTokens': 'thinking.budget_tokens',
  'reasoning.effort': 'output_config.effort',
  responseFormat: 'output_config.format',
  'responseFormat.strict': 'output_config.format',
  user: 'metadata.user_id',
  serviceTier: 'service_tier',
  cache: 'cache_control',
  cacheKey: 'cache_control',
  webSearch: 'tools[]',
  'webSearch.contextSize': 'tools[]',
  'messages.name': 'messages[].name',
  'messages.cache': 'messages[].content[].cache_control',
  'messages.reasoning': 'messages[].content[].thinking',
  'messages.redacted': 'messages[].content[].data',
  'messages.image': 'messages[].content[].source',
  'messages.image.detail': 'messages[].content[].source',
  'messages.document': 'messages[].content[].source',
  'messages.document.context': 'messages[].content[].context',
  'messages.document.citations': 'messages[].content[].citations',
  'messages.document.title': 'messages[].content[].title',
  'messages.audio': 'messages[].content[]',
  'messages.citations': 'messages[].content[].citations',
  'messages.toolResult': 'messages[].content[].content',
  'messages.toolResult.isError': 'messages[].content[].is_error',
  'messages.toolCall': 'messages[].content[].input',
  'messages.toolCall.extra': 'messages[].content[].caller',
  'messages.native': 'messages[].content[]',
  messages: 'messages[]',
} as const satisfies Record<Field, string>;

export function wirePath(field: Field): string {
  return PATHS[field];
}
