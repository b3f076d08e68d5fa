// The members of each record of an export, and the values that the gateway itself would have written. A file may come from anyone, and
// what it holds is shown, counted and compared later.
import { nameFault } from '../../../accounts/json.ts';
import { ENDPOINT_NAMES, PERMISSIONS } from '../../../canonical/request.ts';
import { HOUR_MS } from '../../../clock.ts';
import type { StoredRecord } from '../../../store/store.ts';
import { BRAKES } from '../../../store/holds/brakes.ts';
import { LIMIT_KINDS } from '../../../tier.ts';
import { MAX_MODEL_LENGTH, USAGE_COLUMNS, type UsageKind } from '../../../store/usage-columns.ts';
import { MOST_WORK } from '../../../store/holds/work-sql.ts';

interface Rule {
  fits: (value: unknown) => boolean;
  /** What would be right. */
  right: string;
}

const rule = (right: string, fits: Rule['fits']): Rule => ({ fits, right });

const optional = ({ fits, right }: Rule): Rule =>
  rule(`${right}, or null,`, (value) => value === null || fits(value));

const isWhole = (value: unknown, from: number, to = Number.MAX_SAFE_INTEGER): value is number =>
  Number.isSafeInteger(value) && Number(value) >= from && Number(value) <= to;

const matching = (right: string, pattern: RegExp): Rule =>
  rule(right, (value) => typeof value === 'string' && pattern.test(value));

const list = (right: string, fits: Rule['fits']): Rule =>
  rule(right, (value) => Array.isArray(value) && new Set(value).size === value.length && value.every(fits));

/** The last millisecond that a Date has. */
const LAST_TIME = 8_640_000_000_000_000;
const CONTROL = /\p{Cc}/u;

const count = rule('a whole number, 0 or more,', (value) => isWhole(value, 0));
const work = rule(`a whole number from 0 to ${MOST_WORK}`, (value) => isWhole(value, 0, MOST_WORK));
const number = rule(
  'a number, 0 or more,',
  (value) => typeof value === 'number' && value >= 0 && value < Infinity,
);
const accountNumber = rule('the number of an account', (value) => isWhole(value, 1));
const time = rule('a time in milliseconds since 1970', (value) => isWhole(value, 0, LAST_TIME));
const hour = rule(
  'the start of an hour in milliseconds since 1970',
  (value) => isWhole(value, 0, LAST_TIME) && value % HOUR_MS === 0,
);
const name = rule(
  'a name of 1 to 128 visible characters',
  (value) => typeof value === 'string' && nameFault(value) === undefined,
);
/** Of a provider, and of an error. */
const word = rule(
  'a text of 1 to 256 characters without control characters',
  (value) => typeof value === 'string' && value.length > 0 && value.length <= 256 && !CONTROL.test(value),
);
/** Clients choose it, so it may hold any character. */
const model = rule(
  `a text of at most ${MAX_MODEL_LENGTH} characters`,
  (value) => typeof value === 'string' && value.length <= MAX_MODEL_LENGTH,
);
const flag = rule('true or false', (value) => typeof value === 'boolean');
const sha256 = matching('a SHA-256 in hex', /^[0-9a-f]{64}$/);
const conversation = matching('the ID of a conversation', /^conv_\w{1,60}$/);
const keyId = matching('the ID of a key', /^key_\w{1,60}$/);
const oneOf =
  (names: readonly string[]) =>
  (value: unknown): boolean =>
    names.some((known) => known === value);

const detail = rule('the JSON of an object', (value) => {
  try {
    const parsed: unknown = typeof value === 'string' ? JSON.parse(value) : null;
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed);
  } catch {
    return false;
  }
});

/** Of the columns of usage. */
const OF_KIND: Readonly<Record<UsageKind, Rule>> = {
  time,
  account: accountNumber,
  key: keyId,
  endpoint: rule(`one of ${ENDPOINT_NAMES.join(', ')}`, oneOf(ENDPOINT_NAMES)),
  model,
  name: word,
  status: rule('a status of HTTP', (value) => isWhole(value, 100, 999)),
  flag,
  count,
  number,
  milliseconds: number,
  request: matching('the ID of a request', /^\w{1,64}$/),
  json: detail,
};

/** By type of record, as the file names them. */
export const MEMBERS: Readonly<Record<StoredRecord['type'], Readonly<Record<string, Rule>>>> = {
  account: { id: accountNumber, name, tier: word, created_at: time },
  removed_account: { id: accountNumber, data_left: rule('0 or 1', (value) => value === 0 || value === 1) },
  key: {
    id: keyId,
    account_id: accountNumber,
    hash: sha256,
    prefix: matching('the beginning of a key', /^sk-gw-[0-9A-Za-z]{1,16}$/),
    label: optional(name),
    usage_label: optional(word),
    permissions: list(`a list of some of ${PERMISSIONS.join(', ')}`, oneOf(PERMISSIONS)),
    models: optional(list('a list of names of models', (value) => word.fits(value))),
    created_at: time,
    last_used_at: optional(time),
    expires_at: optional(time),
    revoked_at: optional(time),
    native: optional(flag),
    origin: optional(word),
  },
  sign_in_token: {
    hash: sha256,
    key_id: keyId,
    kind: rule('access or refresh', oneOf(['access', 'refresh'])),
    created_at: time,
    expires_at: optional(time),
    spent_at: optional(time),
    replayed_at: optional(time),
  },
  grant: {
    id: matching('the ID of a grant', /^\w{1,64}$/),
    account_id: accountNumber,
    kind: rule(`one of ${LIMIT_KINDS.join(', ')}`, (value) => LIMIT_KINDS.some((kind) => kind === value)),
    amount: count,
    until: time,
    created_at: time,
    revoked_at: optional(time),
  },
  spending: {
    account_id: accountNumber,
    kind: rule('0 or 1', (value) => value === 0 || value === 1),
    start: hour,
    tokens: count,
    fresh: count,
    cost: count,
    estimated_tokens: count,
    estimated_fresh: count,
    estimated_cost: count,
    unpriced: count,
  },
  brake: {
    id: conversation,
    account_id: accountNumber,
    spent: optional(count),
    base: count,
    allowed: optional(count),
    stopped: optional(rule(`one of ${BRAKES.join(', ')}`, oneOf(BRAKES))),
    stopped_at: optional(time),
    run: optional(word),
    run_calls: optional(count),
    run_forgiven: optional(count),
    at: time,
  },
  brake_prompt: { conversation, prompt: word, account_id: accountNumber, requests: count, at: time },
  work: {
    account_id: accountNumber,
    conversation,
    series: matching('the digest of a series, or an empty text', /^\w{0,64}$/),
    commits: work,
    pull_requests: work,
    lines_added: work,
    lines_removed: work,
    at: time,
  },
  hour: { account_id: accountNumber, hour, requests: count },
  usage: Object.fromEntries(
    USAGE_COLUMNS.map(({ name, kind, nullable }) => [
      name,
      nullable ? optional(OF_KIND[kind]) : OF_KIND[kind],
    ]),
  ),
};

/** Accounts stand before what belongs to them, so a record is checked when it is read. */
export function createOwners(): { fault: (record: StoredRecord) => string | undefined } {
  const accounts = new Set<number>();
  const removed = new Set<number>();
  const signIns = new Set<string>();
  return {
    fault(record) {
      const { type } = record;
      if (type === 'account' || type === 'removed_account') {
        if (accounts.has(record.id) || removed.has(record.id))
          return `${type}.id ${record.id} is there twice`;
        (type === 'account' ? accounts : removed).add(record.id);
        return undefined;
      }
      if (type === 'sign_in_token')
        return signIns.has(record.keyId)
          ? undefined
          : `${type}.key_id ${record.keyId} is of no sign-in that stands before it`;
      if (type === 'key' && record.origin !== null) signIns.add(record.id);
      const { accountId } = record;
      // Requests in progress are recorded also after the account was removed.
      const isKnown = accounts.has(accountId) || (type !== 'key' && removed.has(accountId));
      return isKnown ? undefined : `${type}.account_id ${accountId} is of no account that stands before it`;
    },
  };
}
