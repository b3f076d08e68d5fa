// Words of clients and providers as values of headers: percent-encoded where HTTP needs it, and short enough for every reader.
import { wellFormed } from '../../canonical/surrogates.ts';
import { withoutKeys } from '../../log.ts';

/** Characters of a value, before the count of what is left out. */
const MOST = 2048;

/** What a header can't hold is percent-encoded. */
function encoded(text: string): string {
  return withoutKeys(wellFormed(text)).replace(/[^\x21-\x7e ]/gu, (char) => encodeURIComponent(char));
}

/** A name that is too long is cut. */
export function headerText(text: string): string {
  const whole = encoded(text.slice(0, MOST));
  return whole.length <= MOST ? whole : whole.slice(0, MOST).replace(/%[^%]{0,1}$/, '');
}

/** The names, separated by commas; beyond the limit, how many there are: `a,b,… and 3 more`. */
export function headerList(names: readonly string[]): string {
  let list = '';
  for (const [index, name] of names.entries()) {
    const next = `${index === 0 ? '' : ','}${headerText(name)}`;
    if (list.length + next.length > MOST) {
      return `${list}${list === '' ? '' : ','}${encoded('…')} and ${names.length - index} more`;
    }
    list += next;
  }
  return list;
}
