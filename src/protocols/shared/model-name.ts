// The name of a model, as clients of either protocol may send it.
import { wellFormed } from '../../canonical/surrogates.ts';

/** Characters: it stands in headers, in the log and in the database. */
const LONGEST = 256;

/** What is wrong with a name; undefined: nothing. */
export function faultOfName(name: string): string | undefined {
  if (name.length > LONGEST) return `must have at most ${LONGEST} characters`;
  return wellFormed(name) === name ? undefined : 'must not hold half of a surrogate pair';
}
