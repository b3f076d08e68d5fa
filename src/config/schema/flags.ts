// The `flags` of a provider: one row for each member of Traits that describes a deviation from the protocol. The file writes
// a member's name in snake_case. Members that `models` or `prompt_cache` set are not flags.
import { EFFORTS, PROTOCOL_NAMES } from '../../canonical/request.ts';
import type { Traits } from '../../canonical/traits.ts';
import { snakeCase } from '../../snake-case.ts';
import { suggest } from '../did-you-mean.ts';
import type { Rule } from './scalars.ts';
import { choice, text, TRUTH, whole } from './scalars.ts';

type ModelMember =
  | 'vision'
  | 'documents'
  | 'audio'
  | 'tools'
  | 'thinking'
  | 'structuredOutput'
  | 'embeddings'
  | 'contextWindow'
  | 'longContextWindow'
  | 'maxOutput';
type FlagMember = Exclude<keyof Traits, ModelMember | 'promptCache'>;

const COUNT = whole('a number', 0);

const TOKEN_RANGE: Rule<readonly number[]> = {
  wrong: 'is not a range',
  right: 'write the least and the most tokens, like [128, 32768], or []',
  read(value) {
    if (!Array.isArray(value)) return undefined;
    const [least = 0, most = 0, ...more] = value.map((item) => COUNT.read(item) ?? NaN);
    return more.length === 0 && least <= most && value.length !== 1 ? value.map(Number) : undefined;
  },
};

const SEARCH: Rule<boolean | 'flat_location'> = {
  wrong: 'is not a known choice',
  right: 'write true, false or flat_location',
  read: (value) => (value === 'flat_location' ? value : TRUTH.read(value)),
};

const FLAGS = {
  speaks: list(`write a list of ${PROTOCOL_NAMES.join(', ')}`, oneOf(PROTOCOL_NAMES)),
  maxTokensField: choice('max_tokens', 'max_completion_tokens'),
  systemRole: choice('system', 'developer'),
  userField: choice('user', 'safety_identifier'),
  streamUsage: TRUTH,
  topK: TRUTH,
  completionsPath: pathOrNone(),
  compaction: TRUTH,
  webSearchOptions: SEARCH,
  customTools: TRUTH,
  strictAlternation: TRUTH,
  userAfterTool: TRUTH,
  thoughtSignatures: TRUTH,
  reasoningField: choice('reasoning_content', 'reasoning'),
  replayReasoning: choice('never', 'tool_turns', 'always'),
  toolIds: choice('any', 'openai', 'mistral'),
  cacheMarks: choice('none', 'prompt_cache_breakpoint', 'cache_control'),
  cacheKey: TRUTH,
  rejectFields: list('write [seed, messages[].name, …]', (text): text is string => /^[\w.[\]]+$/.test(text)),
  thinkingForm: choice('effort', 'type', 'adaptive', 'enable_thinking', 'reasoning_enabled', 'template'),
  budgetRange: TOKEN_RANGE,
  maxEffortOnChat: TRUTH,
  toolsWhileThinking: choice('always', 'not_on_chat'),
  namedToolChoice: TRUTH,
  reasoningFill: text('is not a text', 'write one, like " "', /^[^]{0,100}$/),
  contentLists: TRUTH,
  lateSystem: choice('system', 'user'),
  strictArguments: TRUTH,
  imageUrl: TRUTH,
  pdfInput: TRUTH,
  imageDetail: choice('none', 'usual', 'original'),
  responseFormats: list('write a list of json_schema, json_object', oneOf(['json_schema', 'json_object'])),
  formatsWithTools: TRUTH,
  jsonWord: TRUTH,
  maxStop: whole('a number', 0),
  additionalTools: TRUTH,
  minOutput: whole('a number', 1),
  serverTools: TRUTH,
  requestTags: TRUTH,
  minCacheTokens: whole('a number', 0),
  rejectsSampling: TRUTH,
  samplingWhileThinking: TRUTH,
  oneSamplingParameter: TRUTH,
  maxTemperature: whole('a number', 1),
  thinkingBudget: TRUTH,
  thinkingAdaptive: TRUTH,
  thinkingOff: choice('always', 'up_to_high', 'between_tools', 'never'),
  thinksByDefault: TRUTH,
  efforts: list(`write a list of ${EFFORTS.join(', ')}`, oneOf(EFFORTS)),
  forcedTools: choice('always', 'not_thinking', 'never'),
  schemaRoot: choice('any', 'object'),
  prefill: TRUTH,
  lastRole: choice('any', 'user'),
  midSystem: TRUTH,
} satisfies { [Member in FlagMember]: Rule<Traits[Member]> };

const MEMBERS = new Map<string, FlagMember>(
  (Object.keys(FLAGS) as FlagMember[]).map((member) => [snakeCase(member), member]),
);

/** Flags of older versions, and what to do about them. */
const REMOVED: ReadonlyMap<string, string> = new Map([
  [
    'tool_result_images',
    'is no longer a flag: images of tool results follow in a user message, as every chat server takes them; delete it',
  ],
]);

/** The names of all flags, as the file writes them. */
export const FLAG_NAMES: readonly string[] = [...MEMBERS.keys()];

/** One flag of the file as a member of Traits, or its fault. */
export function readFlag(name: string, value: unknown): { traits: Partial<Traits> } | { fault: string } {
  const member = MEMBERS.get(name);
  if (member === undefined)
    return { fault: REMOVED.get(name) ?? `is not a flag; ${suggest(name, FLAG_NAMES)}` };
  const { wrong, right, read: reader }: Rule<unknown> = FLAGS[member];
  const read = reader(value);
  if (read === undefined) return { fault: `${wrong}; ${right}` };
  return { traits: { [member]: read } };
}

function pathOrNone(): Rule<string | false> {
  return {
    wrong: 'is no path',
    right: 'write one behind the base URL, like /fim/completions, or false',
    read: (value) =>
      value === false || (typeof value === 'string' && /^(?:\.\.)?(?:\/[\w.-]+)+$/.test(value))
        ? value
        : undefined,
  };
}

function list<T extends string>(right: string, is: (text: string) => text is T): Rule<readonly T[]> {
  return {
    wrong: 'is not such a list',
    right,
    read(value) {
      if (!Array.isArray(value)) return undefined;
      const items = value.filter((item): item is T => typeof item === 'string' && is(item));
      return items.length === value.length ? items : undefined;
    },
  };
}

function oneOf<const T extends string>(values: readonly T[]): (text: string) => text is T {
  return (text): text is T => values.some((known) => known === text);
}
