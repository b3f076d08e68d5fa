// A call as JSON without anything round it, or in a fence.
import type { OfferedTools } from '../offered-tools.ts';
import { ARGUMENTS, NAMES, OTHERS, jsonCalls } from './calls.ts';
import { Cursor, NeedsMore } from './cursor.ts';
import { form, type TextForm } from './form.ts';

/** The first member's name tells most objects that are no call. */
const FIRST_MEMBER = new RegExp(`^[[{\\s]*["'](?:${[...NAMES, ...ARGUMENTS, ...OTHERS].join('|')})["']\\s*:`);
const LONGEST_FIRST = 64;

/** A call as JSON without anything round it. */
export function bareJson(opening: string): TextForm {
  const inner = form('JSON', '', jsonCalls);
  return {
    name: 'JSON',
    opening,
    standsLast: true,
    read(text, offered) {
      if (!FIRST_MEMBER.test(text.slice(0, 2 * LONGEST_FIRST)))
        return mayBecomeFirst(text) ? 'more' : undefined;
      return isOtherName(text, offered) ? undefined : inner.read(text, offered);
    },
  };
}

function mayBecomeFirst(text: string): boolean {
  return text.length < LONGEST_FIRST && /^[[{\s]*(?:["']\w*(?:["']\s*)?)?$/.test(text);
}

/** The name is known, and no tool's: the text need not be held back. */
function isOtherName(text: string, offered: OfferedTools): boolean {
  const [, name] =
    /^[[{\s]*["'](?:name|tool|tool_name|function_name)["']\s*:\s*["']([^"'\\]{0,200})["']/.exec(text) ?? [];
  return name !== undefined && offered.find(name) === undefined;
}

/** The same in a fence that ends the answer. */
export function fenced(word: string): TextForm {
  const opening = `\`\`\`${word}\n`;
  const json = bareJson('');
  return {
    name: 'JSON in a fence',
    opening,
    standsLast: true,
    read(text, offered) {
      const read = json.read(text.slice(opening.length), offered);
      if (read === 'more' || read === undefined) return read;
      const cursor = new Cursor(text, opening.length + read.end);
      try {
        cursor.space();
        if (cursor.isAtEnd || !cursor.has('```')) return cursor.isAtEnd ? 'more' : undefined;
        return { calls: read.calls, end: cursor.at };
      } catch (error) {
        if (error instanceof NeedsMore) return 'more';
        throw error;
      }
    },
  };
}
