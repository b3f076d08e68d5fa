// How servers word refusals, as rows: the words, and what they say. The first row of a text that says something counts. Every
// expression is linear over the text: its repetitions are bounded or of one class. Sources: the threads named in the test's table.
import { isOptional, pathOf } from './paths.ts';
import type { Refusal, Rule } from './refusal.ts';

interface Wording {
  words: RegExp;
  /** `place`: the path that stands beside the text. */
  says: (match: RegExpMatchArray, place: string | undefined, text: string) => readonly Refusal[];
}

const NOTHING: readonly Refusal[] = [];

/** A name in any quotes, or bare. */
const NAME = String.raw`['"\x60(]{0,2}(?<![\w.[\]/#-])([A-Za-z_#/][\w[\]/#-]{0,80}(?:\.[\w[\]/#-]{1,80}){0,8})\.?['"\x60)]{0,2}`;
/** A number's member: their names are of several words. */
const LIMITED = String.raw`\b([a-z]{2,20}_[a-z_]{2,40})['"\x60]?`;

const is = (rule: Rule) => (): readonly Refusal[] => [{ kind: 'rule', rule }];
const names = (match: RegExpMatchArray): readonly Refusal[] => members(match[1] ?? '');

function row(words: string, says: Wording['says'], flags = 'i'): Wording {
  return { words: new RegExp(words, flags), says };
}

/** One name, or a list of names in quotes or with commas between. */
function members(list: string): readonly Refusal[] {
  return list
    .split(/[,\n]+/)
    .map((name) => pathOf(name.replace(/^[\s['"`]{1,4}|[\s\]'"`.]{1,4}$/g, '')))
    .filter((path) => path !== undefined)
    .flatMap(member);
}

export function member(path: string): readonly Refusal[] {
  if (path === 'image_url.detail' || path.endsWith('.detail'))
    return [{ kind: 'rule', rule: 'image_detail' }];
  if (/^tools\[\](?:\.function)?\.strict$/.test(path)) return [{ kind: 'rule', rule: 'strict_tools' }];
  if (path === 'response_format') return [{ kind: 'rule', rule: 'json_schema' }];
  return isOptional(path) ? [{ kind: 'member', path }] : NOTHING;
}

/** Values in quotes, ticks or brackets, or bare words between commas. */
function valuesIn(list: string): readonly string[] {
  const quoted = [...list.matchAll(/['"`]([\w.-]{1,40})['"`]/g)].map(([, value = '']) => value);
  if (quoted.length > 0) return quoted;
  return list
    .replace(/[[\](){}.]/g, ' ')
    .split(/,|\bor\b|\band\b|\s/)
    .map((word) => word.trim())
    .filter((word) => /^[a-z_]{2,20}$/.test(word));
}

function allowed(path: string | undefined, list: string): readonly Refusal[] {
  const values = valuesIn(list);
  if (path === undefined || values.length === 0) return NOTHING;
  if (path.endsWith('detail')) return [{ kind: 'rule', rule: 'image_detail' }];
  if (path.startsWith('tool_choice'))
    return values.includes('required')
      ? [{ kind: 'rule', rule: 'forced_as_words' }]
      : [{ kind: 'rule', rule: 'forced' }];
  if (path.startsWith('response_format'))
    return [{ kind: 'rule', rule: values.includes('json_schema') ? 'json_object' : 'json_schema' }];
  if (path === 'thinking.type' && values.includes('adaptive') && !values.includes('enabled'))
    return [{ kind: 'rule', rule: 'adaptive_thinking' }];
  if (/^tools\b/.test(path))
    return values.includes('object') ? [{ kind: 'rule', rule: 'schema_root' }] : NOTHING;
  if (/^(?:messages|input)/.test(path)) return NOTHING;
  return [{ kind: 'values', path, values }];
}

function limit(written: string | undefined, most: string | undefined): readonly Refusal[] {
  const path = pathOf(written ?? '');
  const number = Number(most?.replaceAll(',', ''));
  return path === undefined || !Number.isSafeInteger(number) || number < 1
    ? NOTHING
    : [{ kind: 'limit', path, most: number }];
}

function value(written: string | undefined, refused: string | undefined): readonly Refusal[] {
  const path = pathOf(written ?? '');
  return path === undefined || refused === undefined
    ? NOTHING
    : [{ kind: 'value', path, value: refused.toLowerCase() }];
}

/** Members whose only word is that of their value. */
const EFFORT = 'reasoning_effort';

const isEffortPath = (path: string | undefined): boolean => path !== undefined && /effort/.test(path);

/** What parsers say of a text within a request that is JSON itself. */
const ARGUMENTS: readonly Wording[] = [
  row(
    'invalid (?:function|tool call) arguments|parse (?:tool call|function) arguments|(?:function\\.|input\\[\\d{1,6}\\]\\.)arguments.{0,80}\\b(?:json|valid|object|string|dict)',
    is('call_arguments'),
  ),
  row(
    'line \\d{1,6} column \\d{1,9} \\(char \\d|\\[json\\.exception\\.parse_error|item pairs from a mapping|unknown method: items',
    is('call_arguments'),
  ),
  row(
    '(?:tool_use|toolUse)\\.input.{0,20}(?:is invalid|should be a valid dictionary|must be|json object)',
    is('call_arguments'),
  ),
];

/** Conditions: they name members too, and mean a pair of them, so they come first. */
const CONDITIONS: readonly Wording[] = [
  row(
    `(?:invalid|unknown|unsupported|unexpected|unrecognized|not support).{0,60}additional_tools|['"\`]?additional_tools['"\`]?.{0,40}(?:is not|are not|invalid|unknown|unsupported)`,
    is('additional_tools'),
  ),
  row(
    'tools? with reasoning_effort (?:are|is) not supported|reasoning_effort.{0,60}not supported with (?:function )?tools',
    is('tools_beside_reasoning'),
  ),
  row(
    '(?:tool_choice|tool choice).{0,200}(?:thinking|reasoning)|(?:thinking|reasoning)(?: mode)? does not support (?:this|the) tool_choice',
    is('forced_while_thinking'),
  ),
  row(`tool_choice.{0,80}supported string values: (.{1,100})`, (match) =>
    allowed('tool_choice', match[1] ?? ''),
  ),
  row('invalid tool_choice', is('forced_as_words')),
  row('support the provided [\'"`]?tool_choice', is('forced')),
  row('must contain the word', is('json_word')),
  row(
    'response_format type is unavailable|not support response format|response_format parameter is unsupported|output_config\\.format',
    is('json_schema'),
  ),
  row('response_format\\.type[\'"`]? must be (.{1,100})', (match) =>
    allowed('response_format', match[1] ?? ''),
  ),
  row(
    '(?:oneOf|anyOf|allOf).{0,60}top level|must be a JSON Schema of|parameters\\.type is required|object schema missing properties|function parameters is empty|inputSchema\\.json\\.type must be',
    is('schema_root'),
  ),
  row(
    'too many strict tools|too many parameters with union types|compiled grammar is too large|is not permitted.{0,20}$|array schema missing items',
    (match, _, text) =>
      /extra|extraneous/i.test(match[0]) || !/strict|union|grammar|In context/i.test(text)
        ? NOTHING
        : [{ kind: 'rule', rule: 'strict_tools' }],
  ),
  row(
    'invalid type: sequence, expected a string|data did not match any variant of untagged enum',
    is('text_lists'),
  ),
  row(
    'system message must be (?:at the beginning|first)|role [`"\']?system[`"\']? .{0,40}(?:2013|not (?:allowed|supported))',
    is('system_first'),
  ),
  row('unexpected role [`"\']?user[`"\']? after role [`"\']?tool', is('user_after_tool')),
  row(
    'should alternate|roles must alternate|last message must have role|expected last role',
    is('alternation'),
  ),
  row(
    'role [`"\']?developer|[`"\']developer[`"\'].{0,60}(?:role|variant|is not)|variant [`"\']developer',
    is('developer'),
  ),
  row('reasoning_content.{0,60}(?:must be passed back|is missing|is required)', is('reasoning_back')),
  row('thinking\\.type\\.enabled.{0,10} is not supported', is('adaptive_thinking')),
  row('reasoning is mandatory|cannot be disabled|thinking is always on', is('thinking_off')),
  row('does not support thinking|invalid think value', is('no_thinking')),
  row('temperature[`"\']? and [`"\']?top_p[`"\']? cannot both', is('one_sampling_parameter')),
  row(
    'tool type.{0,40}not supported|function tools only|tools?.{0,40}unknown variant .custom',
    is('custom_tools'),
  ),
  row('prefill is incompatible|not support (?:assistant message )?prefill', is('prefill')),
  row(
    'cannot specify both thinking and reasoning_effort|invalid combination of reasoning_effort and thinking',
    () => [{ kind: 'member', path: EFFORT }],
  ),
  row('unexpected value\\(s\\) (.{1,300}) for the [`"\']?anthropic-beta', (match) =>
    [...(match[1] ?? '').matchAll(/[a-z][a-z0-9-]{3,80}-\d{4}-\d{2}-\d{2}/g)].map(([name]) => ({
      kind: 'beta',
      name,
    })),
  ),
];

/** Values that are taken, or one that is not. */
const VALUES: readonly Wording[] = [
  row(`unsupported value: ${NAME} does not support [^\\s]{1,40} with this model\\. only the default`, names),
  row(
    `${NAME} does not support ['"\`]?[\\w.-]{1,40}['"\`]? with this model.{0,20}supported values are: (.{1,300})`,
    (match) => allowed(pathOf(match[1] ?? ''), match[2] ?? ''),
  ),
  row(
    '(?:supported values are|supported values|expected one of|must be one of|input should be|should be one of|allowed values are):? (.{1,300})',
    (match, place, text) => allowed(placeIn(text) ?? place, match[1] ?? ''),
  ),
  row(`invalid reasoning value.{0,60}must be (.{1,200})`, (match) => allowed(EFFORT, match[1] ?? '')),
  row(`invalid ${NAME}: .{1,60}\\(allowed: (.{1,100})\\)`, (match) =>
    allowed(pathOf(match[1] ?? ''), match[2] ?? ''),
  ),
  row('thinking type should be (.{1,60})', (match) => allowed('thinking.type', match[1] ?? '')),
  row('thinking level (\\w+) is not supported', (match) => value(EFFORT, match[1])),
  row(`${NAME}:? level ['"\`]?(\\w+)['"\`]? is not supported`, (match) => value(match[1], match[2])),
  row(`(?:thinking budget|budget) \\(?\\d+\\)? is invalid`, () => [
    { kind: 'member', path: 'thinking_budget' },
  ]),
  row(`invalid ${NAME}: only [\\d.]+ is allowed`, names),
  row(`${NAME} must be set to (?:true|false)`, (match, _, text) =>
    /enable_thinking/.test(text) ? [{ kind: 'rule', rule: 'thinking_off' }] : names(match),
  ),
  row('enable thinking can not be support', is('no_thinking')),
];

const LIMITS: readonly Wording[] = [
  row(`${LIMITED}(?: or [^ ]{1,40})? is too large: [\\d,]+\\.? .{0,60}at most ([\\d,]+)`, (match) =>
    limit(match[1], match[2]),
  ),
  row(`valid range of ${LIMITED} is \\[\\d+, ?([\\d,]+)\\]`, (match) => limit(match[1], match[2])),
  row(`range of ${LIMITED} should be \\[\\d+, ?([\\d,]+)\\]`, (match) => limit(match[1], match[2])),
  row(`${LIMITED}.{0,60} must be in \\[\\d+, ?([\\d,]+)\\]`, (match) => limit(match[1], match[2])),
  row(`${LIMITED}: [\\d,]+ > ([\\d,]+), which is the maximum`, (match) => limit(match[1], match[2])),
  row(
    `${LIMITED}.{0,80}(?:less than or equal to|must be <=|not greater than|a value <=) ([\\d,]+)`,
    (match) => limit(match[1], match[2]),
  ),
];

/** A member that is not known, by far the most. */
const MEMBERS: readonly Wording[] = [
  row(`unsupported parameter: ${NAME} is not supported.{0,60}use ${NAME}`, (match) => {
    const [path, to] = [pathOf(match[1] ?? ''), pathOf(match[2] ?? '')];
    return path === undefined || to === undefined ? NOTHING : [{ kind: 'rename', path, to }];
  }),
  row(
    `'(messages|input|tools)[.[](\\d+)\\]?'.{0,200}property ['"\`]([\\w.]{1,60})['"\`] is unsupported`,
    (match) => joined(match[1], match[3]),
  ),
  row(`property ['"\`]([\\w.[\\]]{1,100})['"\`] is unsupported`, names),
  row('unrecognized request arguments? supplied: (.{1,300})', names),
  row(`unknown parameter: ${NAME}(?:[\\s.,]|$)`, names),
  row(`unsupported parameter(?:\\(s\\))?: (.{1,200}?)(?: is not supported|\\. |$)`, names),
  row(`unknown name "(\\w{1,60})"(?: at '[^']{1,200}')?: cannot find field`, (match, _, text) =>
    / at '/.test(match[0]) ? schemaKeyword(text) : names(match),
  ),
  row('argument not supported on this model: (\\w{1,60})', names),
  row('does not support parameters?:? (\\[?[\\w\'"`., ]{1,200})', names),
  row(`at (body(?: -> [\\w.]{1,60}){1,10}) ?: extra inputs`, names),
  row(`extra inputs are not permitted, field: ${NAME}`, names),
  row(`validation error at ${NAME}: extra inputs`, names),
  row(`${NAME}: extra inputs are not permitted`, names),
  row('extra inputs are not permitted', (_, place) => (place === undefined ? NOTHING : member(place))),
  row('#(\\S{0,100}): extraneous key \\[([\\w$]{1,60})\\] is not permitted', (match) =>
    (match[1] ?? '').includes('chema') ? [{ kind: 'rule', rule: 'schema_root' }] : members(match[2] ?? ''),
  ),
  row(`${NAME} is deprecated for this model`, names),
  row('does not support the (\\w{1,40}) parameter', names),
  row('does not support reasoning effort', () => [{ kind: 'member', path: EFFORT }]),
  row(`${NAME} is not supported (?:with|by|for|on) (?:this|the) model`, names),
];

/** In this order: a condition over a value, a value over a limit, a limit over a member. */
export const WORDINGS: readonly Wording[] = [...ARGUMENTS, ...CONDITIONS, ...VALUES, ...LIMITS, ...MEMBERS];

function joined(list: string | undefined, name: string | undefined): readonly Refusal[] {
  const path = pathOf(`${list ?? ''}[0].${name ?? ''}`);
  return path === undefined ? NOTHING : member(path);
}

/** A keyword of a tool's schema is not a member. */
function schemaKeyword(text: string): readonly Refusal[] {
  return /schema|parameters|function_declarations/i.test(text)
    ? [{ kind: 'rule', rule: 'schema_root' }]
    : NOTHING;
}

const BEFORE_VALUES: readonly RegExp[] = [
  new RegExp(`${NAME}: unknown variant`, 'i'),
  new RegExp(`the value at ([\\w.]{1,150}) must be`, 'i'),
  new RegExp(`${NAME} ['"\`]?\\w+['"\`]? is not supported by model`, 'i'),
  new RegExp(`(?:^|[^\\w])${NAME} must be one of`, 'i'),
  new RegExp(`['"\`]([\\w.[\\]]{1,100})['"\`] does not support`, 'i'),
];

/** The member that stands before its values in the sentence. */
function placeIn(text: string): string | undefined {
  for (const words of BEFORE_VALUES) {
    const [, written = ''] = words.exec(text) ?? [];
    const path = pathOf(written);
    if (path !== undefined) return isEffortPath(path) && path === 'reasoning.effort' ? path : path;
  }
  return undefined;
}
