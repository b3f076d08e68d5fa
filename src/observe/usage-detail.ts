// The column `detail` of a usage row: attempts, skipped targets, fields that were left out, the error's message, as JSON. Most requests
// have none. Never a key or a body.
import type { AttemptDetail, RequestDetail } from '../accounts/request-json.ts';
import { withoutKeys } from '../ids.ts';
import type { FinishedTrace } from '../gateway/trace.ts';

/** Characters of the whole text. */
const MOST = 2048;
/** Characters of a message, of a name or reason, and names in a list. They are reduced until the whole text fits. */
const BOUNDS = [
  { message: 1000, name: 160, names: 40 },
  { message: 400, name: 100, names: 12 },
  { message: 150, name: 60, names: 5 },
  { message: 60, name: 30, names: 2 },
] as const;
type Bounds = (typeof BOUNDS)[number];

/** Requests of one client to one target often have the same detail: a look-up is faster than making it again. */
const fieldDetails = new Map<string, string | null>();
const MOST_FIELD_DETAILS = 500;
/** Clients choose the names of fields, so the cache bounds their length. */
const LONGEST_KEY = 1000;

/** The column `detail` of a usage row, as JSON; null if the request has nothing for it. */
export function detailOf(trace: FinishedTrace): string | null {
  const { failures, passedOver, rule, contact, outcome, message, estimatedInput, identity, learnt } = trace;
  const onlyFields =
    failures.length + passedOver.length === 0 &&
    rule === undefined &&
    outcome.lost === undefined &&
    outcome.repaired === undefined &&
    message === undefined &&
    contact?.providerKey === undefined &&
    estimatedInput === undefined &&
    learnt === undefined &&
    waitedMs(trace) === undefined &&
    identity.tools === null;
  if (!onlyFields) return write(trace);
  if (contact === undefined || contact.dropped.length + contact.changed.length === 0) return null;
  const key = `${contact.dropped.join()}\n${contact.changed.join()}`;
  if (key.length > LONGEST_KEY) return write(trace);
  let text = fieldDetails.get(key);
  if (text === undefined) {
    if (fieldDetails.size >= MOST_FIELD_DETAILS) fieldDetails.clear();
    fieldDetails.set(key, (text = write(trace)));
  }
  return text;
}

function write(trace: FinishedTrace): string | null {
  for (const bounds of BOUNDS) {
    const text = JSON.stringify(describe(trace, bounds));
    if (text.length <= MOST) return text === '{}' ? null : text;
  }
  return null;
}

function describe(trace: FinishedTrace, bounds: Bounds): RequestDetail {
  const { contact, outcome, message, estimatedInput, identity, rule } = trace;
  const detail: RequestDetail = {};
  if (rule !== undefined) detail.rule = rule;
  const attempts = attemptsOf(trace, bounds);
  if (attempts.length > 0) detail.attempts = attempts;
  const passedOver = passedOverOf(trace, bounds);
  if (passedOver.length > 0) detail.passed_over = passedOver;
  const lists = {
    dropped: contact?.dropped,
    changed: contact?.changed,
    lost: outcome.lost,
    repaired: outcome.repaired,
    learnt: trace.learnt,
  };
  for (const [name, list = []] of Object.entries(lists)) {
    if (list.length > 0) detail[name as keyof typeof lists] = namesOf(list, bounds);
  }
  const waited = waitedMs(trace);
  if (waited !== undefined) detail.waited_ms = waited;
  if (identity.tools !== null) detail.tools = [...identity.tools];
  if (estimatedInput !== undefined) detail.estimated_input = estimatedInput;
  if (message !== undefined) detail.message = cut(message, bounds.message);
  return detail;
}

/** Shorter ones are not worth a note. */
const LEAST_WAITED_MS = 500;

/** Before the only attempt; of several, their times say it. */
function waitedMs({ failures, contacts, contactedAt, startedAt }: FinishedTrace): number | undefined {
  if (failures.length > 0 || contacts !== 1) return undefined;
  const ms = contactedAt - startedAt;
  return ms < LEAST_WAITED_MS ? undefined : round(ms);
}

/** The attempts of a request; empty if its first contact answered. */
function attemptsOf(trace: FinishedTrace, bounds: Bounds): AttemptDetail[] {
  const { failures, contact, contacts, contactedAt, startedAt, durationMs, message } = trace;
  if (failures.length === 0 && contact?.providerKey === undefined) return [];
  const attempts = failures.map((failure): AttemptDetail => {
    const { target, protocol, key, status, kind, reason, ms } = failure;
    const attempt: AttemptDetail = {
      target: cut(target.key, bounds.name),
      protocol: protocol.name,
      ms: round(ms),
    };
    if (key !== undefined) attempt.provider_key = key;
    if (status !== undefined) attempt.status = status;
    attempt.error = reason === undefined || reason === 'status' ? kind : `${kind}: ${reason}`;
    // The message of a single attempt is in the message of the request.
    if (message?.includes(failure.message) !== true)
      attempt.message = cut(failure.message, bounds.message / 2);
    return attempt;
  });
  if (contact === undefined || contacts <= failures.length) return attempts;
  const ms = round(startedAt + durationMs - contactedAt);
  const last: AttemptDetail = {
    target: cut(contact.target.key, bounds.name),
    protocol: contact.protocol.name,
    ...(contact.providerKey !== undefined && { provider_key: contact.providerKey.number }),
    ms,
  };
  return [...attempts, last];
}

/** The targets that were skipped, without one that was contacted later. */
function passedOverOf({ passedOver, failures, contact }: FinishedTrace, bounds: Bounds) {
  const contacted = new Set(
    [...failures, ...(contact === undefined ? [] : [contact])].map(({ target }) => target.key),
  );
  return passedOver
    .filter(({ target }) => !contacted.has(target.key))
    .slice(0, bounds.names)
    .map(({ target, why }) => ({ target: cut(target.key, bounds.name), why: cut(why, bounds.name) }));
}

function namesOf(names: readonly string[], bounds: Bounds): string[] {
  const shown = names.slice(0, bounds.names).map((name) => cut(name, bounds.name));
  const more = names.length - shown.length;
  return more > 0 ? [...shown, `… and ${more} more`] : shown;
}

function cut(text: string, most: number): string {
  const clean = withoutKeys(text);
  return clean.length > most ? `${clean.slice(0, most)}…` : clean;
}

const round = (ms: number): number => Math.round(ms * 10) / 10;
