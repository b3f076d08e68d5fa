// The steps of a history that every protocol reads alike: a user's text without the notes of agents, and results as texts to compare.
import { isObject, type JsonValue } from '../../../canonical/json.ts';
import type { Step } from '../../interface/steps.ts';

export const ANSWER: Step = { type: 'answer' };

/** What agents write beside results and prompts of their own accord, in the user's name. */
const NOTE = /<(system-reminder|environment_details|environment_context)>/g;

/** A note without an end is the user's. */
function withoutNotes(text: string): string {
  if (!text.includes('<')) return text;
  let rest = '';
  let at = 0;
  for (const { 0: opening, 1: name = '', index } of text.matchAll(NOTE)) {
    if (index < at) continue;
    const closing = `</${name}>`;
    const end = text.indexOf(closing, index + opening.length);
    if (end === -1) break;
    rest += text.slice(at, index);
    at = end + closing.length;
  }
  return at === 0 ? text : (rest + text.slice(at)).trim();
}

/** What a user wrote, without notes of the agent. undefined: nothing. `content`: a text, or parts that are texts or media. */
export function userStep(
  content: JsonValue | undefined,
  isOther: (part: JsonValue) => boolean,
): Step | undefined {
  let text: string | undefined;
  for (const part of Array.isArray(content) ? content : [content ?? '']) {
    if (isOther(part)) continue;
    const given = textOf(part);
    const words = given === undefined ? undefined : withoutNotes(given);
    if (words === undefined) text ??= '';
    else if (words !== '') text = text === undefined ? words : `${text}\n${words}`;
  }
  return text === undefined ? undefined : { type: 'text', text };
}

function textOf(part: JsonValue): string | undefined {
  if (typeof part === 'string') return part;
  return isObject(part) && typeof part.text === 'string' ? part.text : undefined;
}

/** Members that say nothing of a result: marks of the prompt cache move from request to request. */
const NOT_CONTENT: ReadonlySet<string> = new Set([
  'cache_control',
  'prompt_cache_breakpoint',
  'id',
  'status',
]);

/** What agents write into results that differs each time: how long a command took, and the numbers of its processes. */
const VARYING =
  /^(?:Wall time:? [\d.]+ ?s(?:econds)?|Chunk ID: \w+|Process Group PGID: \d+|Background PIDs: [\d, ]+)$/gm;

/** A result as a text that is the same for the same result: agents write its text as a list where they mark it. */
export function resultText(content: JsonValue): string {
  const parts = Array.isArray(content) ? content : [content];
  return parts.map((part) => (textOf(part) ?? JSON.stringify(part, plain)).replace(VARYING, '')).join('\n');
}

function plain(name: string, value: unknown): unknown {
  return NOT_CONTENT.has(name) ? undefined : value;
}
