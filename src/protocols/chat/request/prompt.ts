// Where a chat request has its prompt.
import type { PromptShape } from '../../interface/prompt.ts';

export const prompt: PromptShape = {
  tools: 'tools',
  messages: 'messages',
  cacheKey: 'prompt_cache_key',
  parameters: [
    'functions',
    'reasoning_effort',
    'reasoning',
    'thinking',
    'enable_thinking',
    'chat_template_kwargs',
    'response_format',
    'tool_choice',
    'parallel_tool_calls',
    'verbosity',
    'web_search_options',
  ],
  marks: { names: ['cache_control', 'prompt_cache_breakpoint'] },
  chains: [],
  retention: 'prompt_cache_retention',
};
