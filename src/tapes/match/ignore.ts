// What two requests may differ in and be the same: the `ignore` rules of a tape. A rule is a name of this table, or `text: PATTERN`, where
// each * stands for anything within a line.
import { CliError } from '../../cli-error.ts';

/** Parts of a request that are left out of the comparison. */
export const IGNORED_PARTS = ['parameters', 'reasoning', 'tools', 'system'] as const;
export type IgnoredPart = (typeof IGNORED_PARTS)[number];

/** Every expression takes linear time. */
const TEXTS = {
  ids: [
    [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, '<id>'],
    [/\b[0-9a-f]{16,}\b/g, '<id>'],
    // `Chunk ID: 579b38`, `pid 4711`
    [/\b(?:ID|Id|id|PID|pid)\b(?::? |=)["']?(?=[\w-]{0,40}\d)[\w-]{2,64}/g, '<id>'],
    [
      /\b(?:toolu|call|msg|req|resp|rs|fc|ses|prt|chatcmpl|thread|agent|task)[_-](?=[A-Za-z0-9_-]{0,40}\d)[A-Za-z0-9_-]{6,}/g,
      '<id>',
    ],
  ],
  dates: [
    [/\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?/g, '<date>'],
    [
      /\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},? )?(?:\d{1,2} )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.? (?:\d{1,2}(?:st|nd|rd|th)?,? )?\d{1,4}\b(?: \d{2}:\d{2}(?::\d{2})?(?: [A-Z]{2,5})?(?: \d{4})?)?/g,
      '<date>',
    ],
    [/\b\d{1,2}\/\d{1,2}\/\d{4}\b/g, '<date>'],
    [/\b\d{1,2}:\d{2}:\d{2}(?: ?[AP]M)?\b/g, '<time>'],
    [/\b1[6-9]\d{8}(?:\d{3})?\b/g, '<time>'],
  ],
  durations: [[/\b\d+(?:\.\d+)? ?(?:ns|µs|us|ms|s|sec|secs|seconds?|min|minutes?)\b/g, '<duration>']],
  'temporary folders': [
    [/(?:\/private)?(?:\/var\/folders\/\w+\/\w+\/T|\/var\/tmp|\/tmp)\/[\w.@+-]+/g, '<temporary folder>'],
  ],
} satisfies Record<string, readonly (readonly [RegExp, string])[]>;

type IgnoredText = keyof typeof TEXTS;

/** The rules of a new tape. */
export const ALWAYS_IGNORED: readonly (IgnoredPart | IgnoredText)[] = [
  'parameters',
  'reasoning',
  'ids',
  'dates',
  'durations',
  'temporary folders',
];

export interface Ignoring {
  parts: ReadonlySet<IgnoredPart>;
  /** A text without what may differ; each run of white space is one space. */
  clean(text: string): string;
}

const TEXT_RULE = 'text: ';

/** Throws CliError for a rule that there is not. */
export function readIgnore(rules: readonly string[], tape: string): Ignoring {
  const parts = new Set<IgnoredPart>();
  const steps: ((text: string) => string)[] = [];
  for (const rule of rules) {
    if (isPart(rule)) parts.add(rule);
    else if (isText(rule))
      for (const [pattern, stand] of TEXTS[rule]) steps.push((text) => text.replace(pattern, stand));
    else if (rule.startsWith(TEXT_RULE)) steps.push(globStep(rule.slice(TEXT_RULE.length)));
    else {
      const known = [...IGNORED_PARTS, ...Object.keys(TEXTS)].join(', ');
      throw new CliError(
        `${tape}: ignore: ${JSON.stringify(rule)} is no rule; write ${known}, or "text: PATTERN"`,
      );
    }
  }
  return {
    parts,
    clean: (text) =>
      steps
        .reduce((left, step) => step(left), text)
        .replace(/\s+/g, ' ')
        .trim(),
  };
}

const isPart = (rule: string): rule is IgnoredPart => (IGNORED_PARTS as readonly string[]).includes(rule);
const isText = (rule: string): rule is IgnoredText => Object.hasOwn(TEXTS, rule);

/** No expression is made of a rule: a tape may be anybody's. */
function globStep(pattern: string): (text: string) => string {
  const pieces = pattern.split('*').filter((piece) => piece !== '');
  const endsOpen = pattern.endsWith('*');
  const [first] = pieces;
  if (first === undefined) return (text) => text;
  return (text) => {
    let result = '';
    let at = 0;
    for (let start = text.indexOf(first); start >= 0; start = text.indexOf(first, at)) {
      const line = text.indexOf('\n', start);
      const lineEnd = line < 0 ? text.length : line;
      const end = endOf(text, pieces, start, lineEnd);
      result += text.slice(at, start);
      // What does not follow once in a line does not follow later in it.
      if (end < 0) result += text.slice(start, lineEnd);
      else result += '<ignored>';
      at = end < 0 || endsOpen ? lineEnd : end;
      if (at <= start) break;
    }
    return result + text.slice(at);
  };
}

/** The place behind the last piece; -1: one is missing in the line. */
function endOf(text: string, pieces: readonly string[], start: number, lineEnd: number): number {
  let at = start;
  for (const piece of pieces) {
    const found = text.indexOf(piece, at);
    if (found < 0 || found + piece.length > lineEnd) return -1;
    at = found + piece.length;
  }
  return at;
}
