// The names that people choose: of accounts, and labels of keys and tokens. The command line and the admin API take the same.
const MAX_NAME_LENGTH = 128;

/** Control characters, lone surrogates, and characters that are invisible or change the direction of text. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]|\u034f|\u17b4|\u17b5/u;

/** What is wrong with a name: 1 to 128 visible characters, no space at either end. undefined: nothing. */
export function nameFault(text: string): string | undefined {
  const length = [...text].length;
  if (length < 1 || length > MAX_NAME_LENGTH)
    return `A name has 1 to ${MAX_NAME_LENGTH} characters; this has ${length}.`;
  if (INVISIBLE.test(text)) return 'A name has no control or zero-width characters.';
  return text.trim() === text ? undefined : 'A name has no space at its beginning or end.';
}
