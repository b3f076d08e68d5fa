// The headers of an answer that the gateway adds: who answered, after how many attempts, and what was left out.
import type { Admitted } from '../../accounts/admission.ts';
import { limitStates, standingsText } from '../../accounts/refusals.ts';
import { wellFormed } from '../../canonical/json.ts';
import type { Clock } from '../../clock.ts';
import { withoutKeys } from '../../ids.ts';
import type { ClientSide } from '../../protocols/interface/protocol.ts';
import type { Target } from '../../routing/catalog.ts';
import type { HeaderList } from '../exchange.ts';
import type { Contact, Trace } from '../trace.ts';

/** The headers of an answer beside its type and its ids. */
export function responseHeaders(
  { target, dropped }: Contact,
  { attempts, returnedHeaders, rule }: Trace,
  client: ClientSide,
  admission: Admitted,
  clock: Clock,
): HeaderList {
  const head = [...namesOf(target), 'x-gateway-attempts', String(attempts)];
  if (rule !== undefined) head.push('x-gateway-rule', rule);
  if (returnedHeaders.length > 0) head.push(...returnedHeaders);
  if (dropped.length > 0) head.push('x-gateway-dropped', headerList(dropped));
  if (admission.limit !== Infinity) head.push(...client.limitHeaders(admission, clock.now()));
  return head;
}

const EVENTS = 'text/event-stream; charset=utf-8';

/** Of a stream: with its type, and with the limits. */
export function streamHeaders(head: HeaderList, admission: Admitted, client: ClientSide): HeaderList {
  return addLimits(['content-type', client.streamType ?? EVENTS, ...head], admission, client);
}

/** What is known of the account's limits when the head goes out: tokens and money that are settled. */
export function addLimits(head: HeaderList, admission: Admitted, { screen }: ClientSide): HeaderList {
  const { limit, used, held, native } = admission;
  if (held !== undefined) head.push('x-gateway-limits', standingsText(held.standings));
  else if (limit !== Infinity) head.push('x-gateway-limits', `requests ${used}/${limit} hour`);
  if (screen !== undefined && (native || screen.unasked))
    head.push(...screen.headers(limitStates(admission, held?.standings)));
  return head;
}

function namesOf({ provider, model, made }: Target): HeaderList {
  return (made.names ??= [
    'x-gateway-provider',
    headerText(provider.name),
    'x-gateway-model',
    headerText(model),
  ]);
}

/** Characters of a header's value, without the count of the names that it leaves out. */
const MAX_HEADER_TEXT = 2048;

/** Percent-encodes what a header can't hold. */
function encoded(text: string): string {
  return withoutKeys(wellFormed(text)).replace(/[^\x21-\x7e ]/gu, (char) => encodeURIComponent(char));
}

/** A client's or provider's word as the value of a header: percent-encoded where HTTP needs it, cut at the limit. */
export function headerText(text: string): string {
  const whole = encoded(text.slice(0, MAX_HEADER_TEXT));
  return whole.length <= MAX_HEADER_TEXT ? whole : whole.slice(0, MAX_HEADER_TEXT).replace(/%[^%]{0,1}$/, '');
}

/** The names, separated by commas, and how many are beyond the limit: `a,b,… and 3 more`. */
export function headerList(names: readonly string[]): string {
  let list = '';
  for (const [index, name] of names.entries()) {
    const next = `${index === 0 ? '' : ','}${headerText(name)}`;
    if (list.length + next.length > MAX_HEADER_TEXT) {
      return `${list}${list === '' ? '' : ','}${encoded('…')} and ${names.length - index} more`;
    }
    list += next;
  }
  return list;
}
