// What a refusal teaches of a target: the traits that avoid it. They act as a row of the configuration does, so that what a model lacks
// is still emulated, and named.
import { EFFORTS, type Effort, type ProtocolName } from '../../canonical/request.ts';
import type { Traits } from '../../canonical/traits.ts';
import type { Refusal, Rule } from './refusal.ts';

/** The traits that differ from `traits`; undefined if the refusals say nothing that they do not hold already. */
export function teach(
  refusals: readonly Refusal[],
  traits: Traits,
  protocol: ProtocolName,
): Partial<Traits> | undefined {
  let taught: Partial<Traits> = {};
  for (const refusal of refusals) {
    taught = { ...taught, ...teachOne(refusal, { ...traits, ...taught }, protocol) };
  }
  const news = Object.entries(taught).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(traits[name as keyof Traits]),
  );
  return news.length === 0 ? undefined : Object.fromEntries(news);
}

function teachOne(refusal: Refusal, traits: Traits, protocol: ProtocolName): Partial<Traits> {
  switch (refusal.kind) {
    case 'member':
      return withoutMember(refusal.path, traits);
    case 'rename':
      return isLimit(refusal.path) && isLimit(refusal.to) ? { maxTokensField: refusal.to } : {};
    case 'values':
      return withValues(refusal.path, refusal.values);
    case 'value':
      if (isEffortPath(refusal.path)) {
        return { efforts: traits.efforts.filter((effort) => effort !== refusal.value) };
      }
      return rejecting(`${refusal.path}=${refusal.value}`, traits);
    case 'limit':
      return withLimit(refusal.path, refusal.most, traits);
    case 'beta':
      return rejecting(`anthropic-beta=${refusal.name}`, traits);
    case 'rule':
      return RULES[refusal.rule](traits, protocol);
  }
}

type LimitMember = Traits['maxTokensField'];

function isLimit(path: string): path is LimitMember {
  return path === 'max_tokens' || path === 'max_completion_tokens';
}

function isEffortPath(path: string): boolean {
  return path === 'reasoning_effort' || path === 'reasoning.effort' || path === 'output_config.effort';
}

/** Traits that say by themselves that a member is not sent. */
function withoutMember(path: string, traits: Traits): Partial<Traits> {
  if (isEffortPath(path)) return { ...rejecting(path, traits), efforts: [] };
  if (path === 'stop' || path === 'stop_sequences') return { maxStop: 0 };
  if (path === 'stream_options' || path.startsWith('stream_options.')) {
    return { ...rejecting('stream_options', traits), streamUsage: false };
  }
  if (path === 'top_k') return { ...rejecting(path, traits), topK: false };
  if (path === 'prompt_cache_key') return { ...rejecting(path, traits), cacheKey: false };
  if (path === 'thinking_budget') return { ...rejecting(path, traits), budgetRange: [] };
  return rejecting(path, traits);
}

function rejecting(path: string, { rejectFields }: Traits): Partial<Traits> {
  return rejectFields.includes(path) ? {} : { rejectFields: [...rejectFields, path] };
}

function withValues(path: string, values: readonly string[]): Partial<Traits> {
  if (isEffortPath(path)) return { efforts: EFFORTS.filter((effort: Effort) => values.includes(effort)) };
  if (path === 'thinking.type' && values.includes('enabled')) {
    return { thinking: true, thinkingAdaptive: false, thinkingBudget: true, thinkingForm: 'type' };
  }
  return {};
}

function withLimit(path: string, most: number, { maxOutput, budgetRange }: Traits): Partial<Traits> {
  if (isLimit(path) || path === 'max_output_tokens') return { maxOutput: Math.min(maxOutput ?? most, most) };
  return path === 'thinking_budget' ? { budgetRange: [budgetRange[0] ?? 1, most] } : {};
}

const RULES = {
  tools_beside_reasoning: () => ({ toolsWhileThinking: 'not_on_chat' }),
  forced_while_thinking: () => ({ forcedTools: 'not_thinking', thinksByDefault: true }),
  forced_as_words: () => ({ namedToolChoice: false }),
  forced: () => ({ forcedTools: 'never' }),
  json_schema: (traits) => withoutFormat('json_schema', traits),
  json_object: (traits) => withoutFormat('json_object', traits),
  json_word: () => ({ jsonWord: true }),
  schema_root: () => ({ schemaRoot: 'object' }),
  strict_tools: (traits, protocol) =>
    rejecting(protocol === 'chat' ? 'tools[].function.strict' : 'tools[].strict', traits),
  text_lists: () => ({ contentLists: false }),
  system_first: () => ({ lateSystem: 'user', midSystem: false }),
  alternation: () => ({ strictAlternation: true }),
  user_after_tool: () => ({ userAfterTool: false }),
  developer: () => ({ systemRole: 'system' }),
  reasoning_back: ({ replayReasoning }) => ({
    replayReasoning: replayReasoning === 'always' ? 'always' : 'tool_turns',
    reasoningFill: ' ',
  }),
  adaptive_thinking: () => ({ thinkingAdaptive: true, thinkingBudget: false, thinkingForm: 'adaptive' }),
  thinking_off: () => ({ thinkingOff: 'never', thinksByDefault: true }),
  no_thinking: () => ({ thinking: false, efforts: [] }),
  one_sampling_parameter: () => ({ oneSamplingParameter: true }),
  custom_tools: () => ({ customTools: false }),
  additional_tools: () => ({ additionalTools: false }),
  prefill: () => ({ prefill: false, lastRole: 'user' }),
  call_arguments: () => ({ strictArguments: true }),
  image_detail: ({ imageDetail }) => ({ imageDetail: imageDetail === 'original' ? 'usual' : 'none' }),
} satisfies Record<Rule, (traits: Traits, protocol: ProtocolName) => Partial<Traits>>;

function withoutFormat(format: 'json_schema' | 'json_object', { responseFormats }: Traits): Partial<Traits> {
  return { responseFormats: responseFormats.filter((other) => other !== format) };
}
