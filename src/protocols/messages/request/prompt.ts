// Where a messages request has its prompt.
import type { PromptShape } from '../../interface/prompt.ts';
import { ATTRIBUTION } from '../../shared/hints.ts';

export const prompt: PromptShape = {
  tools: 'tools',
  system: 'system',
  messages: 'messages',
  parameters: ['thinking', 'output_config', 'tool_choice', 'speed', 'container', 'mcp_servers'],
  marks: { names: ['cache_control'], line: ATTRIBUTION },
  chains: ['thread'],
};
