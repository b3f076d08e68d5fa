// A request of chat completions with everything that some server refuses.
import type { JsonObject } from '../../src/canonical/json.ts';

const TOOL = {
  type: 'function',
  function: {
    name: 'read',
    strict: true,
    parameters: { anyOf: [{ type: 'object', properties: { a: {} } }] },
  },
};

export function everything(): JsonObject {
  return {
    messages: [
      { role: 'system', content: 'Be kind.' },
      {
        role: 'user',
        name: 'ann',
        timestamp: 1,
        content: [
          { type: 'text', text: 'Look.' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'original' } },
        ],
      },
      {
        role: 'assistant',
        reasoning_content: '',
        content: null,
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'read', arguments: '{}' } }],
      },
      {
        role: 'tool',
        tool_call_id: 'call_1',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
      { role: 'system', content: 'Late.' },
    ],
    tools: [TOOL],
    tool_choice: { type: 'function', function: { name: 'read' } },
    parallel_tool_calls: true,
    reasoning_effort: 'minimal',
    thinking: { type: 'enabled' },
    enable_thinking: true,
    thinking_budget: 100_000,
    chat_template_kwargs: { x: 1 },
    chat_id: 'c',
    temperature: 0.2,
    top_p: 0.9,
    top_k: 5,
    seed: 1,
    frequency_penalty: 1,
    presence_penalty: 1,
    max_tokens: 2_000_000,
    store: false,
    metadata: { a: 'b' },
    stream_options: { include_usage: true },
    prompt_cache_key: 'k',
    service_tier: 'flex',
    reasoning: { effort: 'low', summary: 'auto' },
    context_management: {},
    response_format: { type: 'json_object' },
  };
}
