// Where a responses request has its prompt.
import type { PromptShape } from '../../interface/prompt.ts';

export const prompt: PromptShape = {
  tools: 'tools',
  system: 'instructions',
  messages: 'input',
  cacheKey: 'prompt_cache_key',
  parameters: ['reasoning', 'text', 'tool_choice', 'parallel_tool_calls'],
  marks: { names: ['prompt_cache_breakpoint'] },
  chains: ['previous_response_id', 'conversation'],
  retention: 'prompt_cache_retention',
};
