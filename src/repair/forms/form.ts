// What a form is, in which a model writes a call as text: how it begins and how it is read. A reader is given all text from the opening
// on, and may be asked again when there is more of it.
import type { OfferedTool, OfferedTools } from '../offered-tools.ts';
import { Cursor, NeedsMore, NotThisForm } from './cursor.ts';

export interface WrittenCall {
  tool: OfferedTool;
  /** JSON text. */
  arguments: string;
}

/** `more`: the text so far may become a call. Undefined: it is not a call. `end`: where the text continues after the form. */
export type Read = { calls: readonly WrittenCall[]; end: number } | 'more' | undefined;

export interface TextForm {
  /** Of the answer's log and header. */
  name: string;
  opening: string;
  /** Only with nothing but white space behind it, to the end of the answer. */
  standsLast?: true;
  read(text: string, offered: OfferedTools): Read;
}

/** `body`: what follows the opening of a form that has no brackets of its own. */
export type Body = (cursor: Cursor, offered: OfferedTools) => readonly WrittenCall[];

export function form(name: string, opening: string, body: Body): TextForm {
  return {
    name,
    opening,
    read(text, offered) {
      const cursor = new Cursor(text, opening.length);
      try {
        const calls = body(cursor, offered);
        return calls.length === 0 ? undefined : { calls, end: cursor.at };
      } catch (error) {
        if (error instanceof NeedsMore) return 'more';
        if (error instanceof NotThisForm) return undefined;
        throw error;
      }
    },
  };
}
