// What a row of the audit says to a person: the operation and its detail as words, for the command line and for the page.

type Detail = Readonly<Record<string, unknown>>;
/** By ID. */
type Names = Readonly<Record<string, string>>;

const MOST_SHOWN = 200;

function word(value: unknown): string {
  if (typeof value === 'string') return value.slice(0, MOST_SHOWN);
  return typeof value === 'number' ? String(value) : '?';
}

/** ` of ada`, or nothing if the detail lacks it. */
const part = (before: string, value: unknown): string =>
  value === undefined || value === null ? '' : ` ${before} ${word(value)}`;

function accountChange({ account, new_account: to, tier }: Detail): string {
  const changes = [
    ...(to === undefined ? [] : [`renamed account ${word(account)} to ${word(to)}`]),
    ...(tier === undefined ? [] : [`assigned tier ${word(tier)} to ${word(to ?? account)}`]),
  ];
  return changes.join(', ') || `changed account ${word(account)}`;
}

/** Of the key that was made. */
const made = (value: unknown): string => {
  const { prefix } = Object(value) as Detail;
  return typeof prefix === 'string' ? ` (${word(prefix)}…)` : '';
};

const WORDS: Readonly<Record<string, (detail: Detail, nameOf: (id: unknown) => string) => string>> = {
  changeAccount: accountChange,
  removeAccount: ({ account }) => `removed account ${word(account)}`,
  createKey: ({ account, name, made: key }) =>
    `created a key${part('for', account)}${part('named', name)}${made(key)}`,
  rotateKey: ({ id }, nameOf) => `replaced key ${nameOf(id)}`,
  revokeKey: ({ id }, nameOf) => `revoked key ${nameOf(id)}`,
  approveSignIn: ({ account }) => `let a client sign in${part('as', account)}`,
  denySignIn: () => 'denied a client that asked to sign in',
  signIn: ({ account }) => `signed in${part('as', account)}`,
  signOut: ({ account }) => `signed out${part('as', account)}`,
  spentRefreshToken: ({ account }) => `sent a refresh token that was used already${part('of', account)}`,
  createToken: ({ scope, name }) =>
    `created a token of the admin API${part('with scope', scope)}${part('named', name)}`,
  revokeToken: ({ id }, nameOf) => `revoked token ${nameOf(id)}`,
  raiseLimits: ({ account, until }) => `raised the limits${part('of', account)}${part('until', until)}`,
  revokeGrant: ({ id, account }) => `ended grant ${word(id)}${part('of', account)}`,
  continueConversation: ({ id }) => `let conversation ${word(id)} go on`,
  resetTargets: ({ target }) => (target === undefined ? 'reset all targets' : `reset target ${word(target)}`),
  tryKey: ({ id, model }, nameOf) => `tried ${word(model)} as key ${nameOf(id)}`,
  askKey: ({ id, model }, nameOf) => `asked ${word(model)} as key ${nameOf(id)}`,
  import: () => 'imported a file',
  createLink: () => 'made a link to the dashboard',
  openSession: () => 'opened the dashboard',
  openMemberSession: ({ account, key }, nameOf) =>
    `signed in to the dashboard${part('as', account)}${key === undefined ? '' : part('with key', nameOf(key))}`,
  closeSession: () => 'left the dashboard',
  turnOn: () => 'turned the admin API on',
  turnOff: () => 'turned the admin API off',
};

/** What has a name goes by it: `laptop of ada (sk-gw-Ab12…)`. */
export function auditName(id: string, names: Names): string {
  return Object.hasOwn(names, id) ? (names[id] ?? id) : id;
}

/** `created a key for ada`; of an operation that this version does not know, its name. */
export function auditWords(operation: string, detail: Detail, names: Names = {}): string {
  const nameOf = (id: unknown): string => (typeof id === 'string' ? word(auditName(id, names)) : word(id));
  return Object.hasOwn(WORDS, operation) ? (WORDS[operation]?.(detail, nameOf) ?? operation) : operation;
}

/** How it ended, in a word; `isGood`: it was done. */
export function auditOutcome(status: number | null): { text: string; isGood: boolean } {
  if (status === null) return { text: 'not ended', isGood: false };
  return status < 400 ? { text: 'done', isGood: true } : { text: `refused (${status})`, isGood: false };
}
