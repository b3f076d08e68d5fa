// What is known about Anthropic's models.
import type { Traits } from '../../canonical/traits.ts';
import { ALL, K, UP_TO_HIGH, type ModelRow } from './row.ts';

/** The newest rules: thinking can't be switched off, no forced tool. */
const CLAUDE_STRICT: Partial<Traits> = {
  thinkingOff: 'never',
  thinksByDefault: true,
  forcedTools: 'never',
};

// https://platform.claude.com/docs/en/about-claude/models/overview, and what the service refuses.
export const CLAUDE: readonly ModelRow[] = [
  {
    match: /^claude/,
    family: 'claude',
    traits: {
      vision: true,
      documents: true,
      audio: false,
      tools: true,
      thinking: true,
      structuredOutput: true,
      maxOutput: 128 * K,
      rejectsSampling: true,
      oneSamplingParameter: true,
      thinkingAdaptive: true,
      thinkingBudget: false,
      efforts: ALL,
      // https://github.com/anthropics/claude-code/issues/44788
      schemaRoot: 'object',
      responseFormats: ['json_schema'],
      prefill: false,
      lastRole: 'user',
    },
  },
  {
    match: /^claude-(?:2|instant|v\d)/,
    traits: { vision: false, documents: false, tools: false, maxOutput: 4096 },
  },
  // Before 4.6 there were budgets alone, and no `output_config.effort` but on opus 4.5.
  {
    match: /^claude-(?:2|instant|v\d|(?:sonnet|opus|haiku)-(?:3(?:-[57])?|4(?:-[015])?)(?!-?\d))/,
    traits: {
      rejectsSampling: false,
      contextWindow: 200 * K,
      thinkingAdaptive: false,
      thinkingBudget: true,
      efforts: [],
      prefill: true,
      lastRole: 'any',
    },
  },
  {
    match: /^claude-(?:2|instant|v\d|(?:sonnet|opus|haiku)-3)/,
    traits: { thinking: false, structuredOutput: false, oneSamplingParameter: false },
  },
  { match: /^claude-(?:sonnet|opus|haiku)-3(?!-?\d)/, traits: { maxOutput: 4096 } },
  { match: /^claude-(?:sonnet|opus|haiku)-3-5/, traits: { maxOutput: 8192 } },
  { match: /^claude-haiku-3/, traits: { minCacheTokens: 2048 } },
  { match: /^claude-sonnet-3-7/, traits: { thinking: true, maxOutput: 64 * K } },
  {
    match: /^claude-(?:sonnet|opus)-4(?:-[01])?(?!-?\d)/,
    traits: { structuredOutput: false, oneSamplingParameter: false, maxOutput: 32 * K },
  },
  { match: /^claude-sonnet-4(?:-0)?(?!-?\d)/, traits: { maxOutput: 64 * K } },
  { match: /^claude-sonnet-4(?:-[05])?(?!-?\d)/, traits: { longContextWindow: 1000 * K } },
  { match: /^claude-opus-4-1/, traits: { structuredOutput: true, oneSamplingParameter: true } },
  {
    match: /^claude-(?:sonnet|opus|haiku)-4-5/,
    traits: { structuredOutput: true, oneSamplingParameter: true, maxOutput: 64 * K },
  },
  { match: /^claude-opus-4-5/, traits: { efforts: UP_TO_HIGH } },
  { match: /^claude-(?:opus|haiku)-4-5/, traits: { minCacheTokens: 4096 } },
  {
    match: /^claude-(?:opus|sonnet)-4-6/,
    traits: {
      rejectsSampling: false,
      thinkingBudget: true,
      contextWindow: 1000 * K,
      efforts: ['low', 'medium', 'high', 'max'],
    },
  },
  { match: /^claude-opus-4-[678]/, traits: { contextWindow: 1000 * K, minCacheTokens: 4096 } },
  { match: /^claude-opus-4-8/, traits: { midSystem: true, minCacheTokens: 1024 } },
  // https://platform.claude.com/docs/en/models/opus-5/migration-guide: they think without a word, and take forced tools all the same.
  {
    match: /^claude-(?:sonnet|opus|haiku|fable)-5(?:-|$)/,
    traits: { contextWindow: 1000 * K, thinksByDefault: true, forcedTools: 'always' },
  },
  { match: /^claude-opus-5(?:-|$)/, traits: { thinkingOff: 'up_to_high', minCacheTokens: 512 } },
  { match: /^claude-(?:sonnet|haiku)-5-5(?:-|$)/, traits: { minCacheTokens: 512 } },
  { match: /^claude-fable-5(?:-|$)/, traits: { thinkingOff: 'never' } },
  { match: /^claude-(?:fable-5-[1-9]|opus-5-5|sonnet-5-5)(?:-|$)/, traits: CLAUDE_STRICT },
  { match: /^claude-sonnet-5-5(?:-|$)/, traits: { thinkingOff: 'between_tools' } },
  { match: /^claude-haiku-5-5(?:-|$)/, traits: { thinkingOff: 'up_to_high' } },
  { match: /^claude-(?:(?:opus|fable)-5|sonnet-5-5|haiku-5-5)(?:-|$)/, traits: { midSystem: true } },
];
