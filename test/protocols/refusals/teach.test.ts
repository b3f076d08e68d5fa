import { describe, expect, it } from 'vitest';
import { DEFAULT_TRAITS, type Traits } from '../../../src/canonical/traits.ts';
import { readRefusal } from '../../../src/protocols/refusals/read-refusal.ts';
import { teach } from '../../../src/protocols/refusals/teach.ts';
import { WORDED } from './wordings.ts';

/** What each refusal teaches of a target of which nothing was known. Absent: it says what the defaults hold. */
const TAUGHT: Readonly<Record<string, Partial<Traits>>> = {
  'OpenAI, unrecognized argument': { rejectFields: ['thinking'] },
  'OpenAI, several arguments': { rejectFields: ['top_k', 'chat_template_kwargs'] },
  'OpenAI, effort at a model without': { rejectFields: ['reasoning_effort'], efforts: [] },
  'OpenAI, a substitute': { maxTokensField: 'max_completion_tokens' },
  'OpenAI, an effort among those of the model': { efforts: ['none', 'low', 'medium', 'high'] },
  'OpenAI, tools beside an effort': { toolsWhileThinking: 'not_on_chat' },
  'OpenAI, the detail of an image': { imageDetail: 'none' },
  'OpenAI, a union at the root': { schemaRoot: 'object' },
  'OpenAI strict, a keyword deeper': { rejectFields: ['tools[].function.strict'] },
  'OpenAI, the word json': { jsonWord: true },
  'OpenAI, the limit of the output': { maxOutput: 4096 },
  'Azure AI, a JSON pointer': { rejectFields: ['stream_options'], streamUsage: false },
  'Mistral, roles': { userAfterTool: false },
  'Groq, two efforts': { efforts: ['none'] },
  'Gemini, a level': { efforts: ['none', 'low', 'medium', 'high', 'xhigh', 'max'] },
  'DeepSeek, no effort none': { efforts: ['low', 'medium', 'high', 'xhigh', 'max'] },
  'DeepSeek, a list of texts': { contentLists: false },
  'DeepSeek, a forced call': { thinksByDefault: true },
  'DeepSeek, json_schema': { responseFormats: ['json_object'] },
  'DeepSeek, reasoning has to come back': { replayReasoning: 'tool_turns', reasoningFill: ' ' },
  'DashScope, a budget': { budgetRange: [1, 38_912] },
  'MiniMax, the type of thinking': {
    thinkingAdaptive: true,
    thinkingBudget: false,
    thinkingForm: 'adaptive',
  },
  'LM Studio, words alone': { namedToolChoice: false },
  'LM Studio, json_object': { responseFormats: ['json_schema'] },
  'llama.cpp, the system message': { lateSystem: 'user' },
  'OpenRouter, a choice': { forcedTools: 'never' },
  'OpenRouter, reasoning': { thinkingOff: 'never', thinksByDefault: true },
  'Perplexity, roles': { strictAlternation: true },
  'Anthropic, a level': { efforts: ['none', 'low', 'medium', 'high', 'xhigh', 'max'] },
  'Anthropic, a pair': { oneSamplingParameter: true },
  'vLLM, damaged arguments': { strictArguments: true },
  'Anthropic, a beta': { rejectFields: ['anthropic-beta=context-management-2025-06-27'] },
};

describe('what a refusal teaches', () => {
  it.each(Object.entries(TAUGHT))('%s', (name, traits) => {
    const worded = WORDED.find((other) => other.name === name);
    expect(teach(readRefusal(worded?.body ?? ''), DEFAULT_TRAITS, 'chat')).toEqual(traits);
  });

  it.each(WORDED)('$name: learnt once, it says nothing new', ({ body }) => {
    const refusals = readRefusal(body);
    const taught = teach(refusals, DEFAULT_TRAITS, 'chat');
    expect(teach(refusals, { ...DEFAULT_TRAITS, ...taught }, 'chat')).toBeUndefined();
  });

  it('a limit only ever falls, and only to what the words name', () => {
    const refusals = readRefusal(
      JSON.stringify({ error: { message: 'Range of max_tokens should be [1, 8192]' } }),
    );
    expect(teach(refusals, { ...DEFAULT_TRAITS, maxOutput: 4096 }, 'chat')).toBeUndefined();
    expect(teach(refusals, { ...DEFAULT_TRAITS, maxOutput: 64_000 }, 'chat')).toEqual({ maxOutput: 8192 });
  });
});
