// What servers say when a request is more than their window: input alone, or input and output together.
import { describe, expect, it } from 'vitest';
import { isOverflow, overflowTokens } from '../../../src/protocols/shared/failures/context-overflow.ts';
import { processorTime } from '../../helpers/growth.ts';

describe('input and output that only together are too much', () => {
  it.each([
    [
      'Anthropic',
      'input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again',
      { sent: 188_240, output: 21_333, limit: 200_000 },
    ],
    [
      'OpenAI, DeepSeek, older vLLM',
      "This model's maximum context length is 131072 tokens. However, you requested 131134 tokens (122942 in the messages, 8192 in the completion). Please reduce the length of the messages or completion.",
      { sent: 122_942, output: 8192, limit: 131_072 },
    ],
    [
      'OpenAI with functions',
      "This model's maximum context length is 8192 tokens. However, you requested 9100 tokens (5000 in the messages, 100 in the functions, and 4000 in the completion). Please reduce the length of the messages, functions, or completion.",
      { sent: 5100, output: 4000, limit: 8192 },
    ],
    [
      'the oldest form',
      "This model's maximum context length is 4097 tokens, however you requested 4771 tokens (771 in your prompt; 4000 for the completion). Please reduce your prompt; or completion length.",
      { sent: 771, output: 4000, limit: 4097 },
    ],
    [
      'vLLM',
      "'max_tokens' or 'max_completion_tokens' is too large: 64000. This model's maximum context length is 64001 tokens and your request has 24235 input tokens (64000 > 64001 - 24235).",
      { sent: 24_235, output: 64_000, limit: 64_001 },
    ],
    [
      'vLLM, which stopped counting',
      "This model's maximum context length is 32768 tokens. However, you requested 32000 output tokens and your prompt contains at least 769 input tokens, for a total of at least 32769 tokens. Please reduce the length of the input prompt or the number of requested output tokens.",
      { sent: 769, atLeast: true, output: 32_000, limit: 32_768 },
    ],
    [
      'vLLM, which stopped counting and does not say so',
      "You passed 98305 input tokens and requested 32768 output tokens. However, the model's context length is only 131072 tokens, resulting in a maximum input length of 98304 tokens. Please reduce the length of the input prompt.",
      { sent: 98_305, atLeast: true, output: 32_768, limit: 131_072 },
    ],
    [
      'vLLM, which did not begin to count',
      "This model's maximum context length is 32768 tokens. However, you requested 32000 output tokens and your prompt contains 110000 characters (more than 98304 characters, which is the upper bound for 768 input tokens). Please reduce the length of the input prompt or the number of requested output tokens.",
      { output: 32_000, limit: 32_768 },
    ],
    [
      'vLLM, whose window the output alone fills',
      'max_tokens=64000 cannot be greater than max_model_len=max_total_tokens=32768. Please request fewer output tokens.',
      { output: 64_000, limit: 32_768 },
    ],
    [
      'SGLang',
      "Requested token count exceeds the model's maximum context length of 262144 tokens. You requested a total of 263933 tokens: 198397 tokens from the input messages and 65536 tokens for the completion. Please reduce the number of tokens in the input messages or the completion to fit within the limit.",
      { sent: 198_397, output: 65_536, limit: 262_144 },
    ],
    [
      'OpenRouter',
      'This endpoint\'s maximum context length is 131072 tokens. However, you requested about 141607 tokens (10435 of text input, 100 of tool input, 131072 in the output). Please reduce the length of either one, or use the "middle-out" transform to compress your prompt automatically.',
      { sent: 10_535, output: 131_072, limit: 131_072 },
    ],
    [
      'TGI',
      'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 3031 `inputs` tokens and 2000 `max_new_tokens`',
      { sent: 3031, output: 2000, limit: 4096 },
    ],
  ])('%s', (_who, message, tokens) => {
    expect(isOverflow({ message }, 400)).toBe(true);
    expect(overflowTokens(message)).toEqual(tokens);
  });
});

describe('an input that is too much by itself', () => {
  it.each([
    ['prompt is too long: 213462 tokens > 200000 maximum', { sent: 213_462, limit: 200_000 }],
    [
      'input length and `max_tokens` exceed context limit: 200387 + 8192 > 200000, decrease input length or `max_tokens` and try again',
      { sent: 200_387, limit: 200_000 },
    ],
    [
      "This model's maximum context length is 16384 tokens. However, you requested 122946 tokens (112946 in the messages, 10000 in the completion).",
      { sent: 112_946, limit: 16_384 },
    ],
    [
      "This model's maximum context length is 262144 tokens. However, you requested 0 output tokens and your prompt contains at least 262145 input tokens, for a total of at least 262145 tokens.",
      { sent: 262_145, limit: 262_144 },
    ],
    [
      "The input (345516 tokens) is longer than the model's context length (262144 tokens).",
      { sent: 345_516, limit: 262_144 },
    ],
    [
      "This endpoint's maximum context length is 16384 tokens. However, you requested about 94307 tokens (94307 of text input).",
      { sent: 94_307, limit: 16_384 },
    ],
    [
      "This model's maximum prompt length is 131072 but the request contains 135000 tokens.",
      { sent: 135_000, limit: 131_072 },
    ],
    [
      'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
      { sent: 1_200_000, limit: 1_048_576 },
    ],
    [
      'request (67311 tokens) exceeds the available context size (65536 tokens), try increasing it',
      { sent: 67_311, limit: 65_536 },
    ],
    ['prompt too long; exceeded max context length by 500 tokens', undefined],
    [
      'too many tokens: size limit exceeded by 5000 tokens. Try using shorter or fewer inputs. The limit for this model is 128000 tokens.',
      { sent: 133_000, limit: 128_000 },
    ],
    [
      'Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192',
      { sent: 9000, limit: 8192 },
    ],
    [
      'Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
      { sent: 40_000, limit: 32_768 },
    ],
    [
      'The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 5000>= n_ctx: 4096).',
      { sent: 5000, limit: 4096 },
    ],
    [
      'Trying to keep the first 6000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.',
      { sent: 6000, limit: 4096 },
    ],
    ['Context size has been exceeded.', undefined],
    [
      'The decoder prompt (length 9000) is longer than the maximum model length of 8192.',
      { sent: 9000, limit: 8192 },
    ],
    [
      'The prompt (total length 9000) is too long to fit into the model (context length 8192).',
      { sent: 9000, limit: 8192 },
    ],
    [
      'Input length (9000 tokens) exceeds the maximum allowed length (8192 tokens).',
      { sent: 9000, limit: 8192 },
    ],
    [
      'Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)',
      { sent: 300_000, limit: 262_144 },
    ],
    ['Prompt exceeds max length', undefined],
    ['invalid params, context window exceeds limit (2013)', undefined],
    ['`inputs` must have less than 1024 tokens. Given: 2000', { sent: 2000, limit: 1024 }],
    [
      'Too many input tokens. Max input tokens: 200000, request input token count: 210000',
      { sent: 210_000, limit: 200_000 },
    ],
    ['Input is too long for requested model.', undefined],
    ['prompt token count of 146270 exceeds the limit of 128000', { sent: 146_270, limit: 128_000 }],
  ])('%s', (message, tokens) => {
    expect(isOverflow({ message }, 400)).toBe(true);
    expect(overflowTokens(message)).toEqual(tokens);
  });

  it.each([
    ['model_max_prompt_tokens_exceeded', 'prompt token count of 90001 exceeds the limit of 90000', 90_000],
    ['tokens_limit_reached', 'Request body too large for gpt-4o model. Max size: 8000 tokens.', 8000],
  ])('%s is a code for it', (code, message, limit) => {
    expect(isOverflow({ message: '', code }, 413)).toBe(true);
    expect(isOverflow({ message: '', code }, 429)).toBe(false);
    expect(overflowTokens(message)?.limit).toBe(limit);
  });

  it('counts in the body stand before words', () => {
    const body = '{"error":{"type":"exceed_context_size_error","n_prompt_tokens":5000,"n_ctx":4096}}';
    expect(overflowTokens('the request exceeds the available context size', body)).toEqual({
      sent: 5000,
      limit: 4096,
    });
  });
});

it.each([
  'max_tokens: 0 is less than the minimum of 1',
  '`max_new_tokens` must be <= 4096',
  'max_tokens must be less than the maximum context length',
  'thinking.budget_tokens 50000 exceeds context limit',
  'the image has too many tokens: 20000 > 16384',
  'tool name too long, reduce the length to 64 characters',
  'Too many tokens, please wait before trying again.',
  'Rate limit reached: too many tokens per minute',
  'no such model',
])('is no context overflow: %s', (message) => {
  expect(isOverflow({ message }, 400)).toBe(false);
});

it('is recognised by a code with any status, and by words with a status that means nothing else', () => {
  const message = 'prompt is too long: 9 tokens > 8 maximum';
  expect(isOverflow({ message: '', code: 'context_length_exceeded' }, 429)).toBe(true);
  expect(isOverflow({ message }, 502)).toBe(true);
  expect(isOverflow({ message }, undefined)).toBe(true);
  expect(isOverflow({ message }, 429)).toBe(false);
});

it('takes no time over what a stranger makes endless', () => {
  const time = processorTime(() => {
    for (const piece of ['1', 'prompt (', '1,', 'exceeded ']) {
      const message = `prompt is too long: ${piece.repeat(1_000_000)}`;
      expect(isOverflow({ message }, 400)).toBe(true);
      overflowTokens(message);
    }
  });
  expect(time).toBeLessThan(2000);
});
