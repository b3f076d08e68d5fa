// What servers say when a request is more than their window: input alone, or input and output together.
import { describe, expect, it } from 'vitest';
import { overflowTokens, saysOverflow } from '../../src/protocols/overflow.ts';

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
    expect(saysOverflow(message)).toBe(true);
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
    ['Input is too long for requested model.', undefined],
  ])('%s', (message, tokens) => {
    expect(saysOverflow(message)).toBe(true);
    expect(overflowTokens(message)).toEqual(tokens);
  });

  it('counts in the body stand before words', () => {
    const body = '{"error":{"type":"exceed_context_size_error","n_prompt_tokens":5000,"n_ctx":4096}}';
    expect(overflowTokens('the request exceeds the available context size', body)).toEqual({
      sent: 5000,
      limit: 4096,
    });
  });
});

it.each(['max_tokens: 0 is less than the minimum of 1', '`max_new_tokens` must be <= 4096', 'no such model'])(
  'is none: %s',
  (message) => {
    expect(saysOverflow(message)).toBe(false);
  },
);
