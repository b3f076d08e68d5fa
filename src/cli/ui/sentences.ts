// Sentences that several commands say: unknown names with the nearest known one, limits, warnings.
import { CliError } from '../../cli-error.ts';
import type { Config } from '../../config/config.ts';
import { isLoopback } from '../../loopback.ts';
import type { Account, KeyStore } from '../../store/store.ts';
import type { Context } from '../context.ts';
import { say } from './lines.ts';
import { clean, shellWord } from './style.ts';
import { tierNamed } from '../../accounts/terms.ts';
import { tierText } from '../../tier.ts';

/** A database URL without its password. */
export const shownDatabase = (location: string): string => location.replace(/(:\/\/).*@/, '$1');

/** The error for an unknown name, with the nearest known one. */
export async function unknown(
  kind: string,
  name: string,
  known: readonly string[],
  otherwise: string,
): Promise<CliError> {
  const { didYouMean } = await import('../../config/did-you-mean.ts');
  const near = didYouMean(name, known);
  const hint = near === undefined ? otherwise : `did you mean ${near}?`;
  return new CliError(`unknown ${kind} ${JSON.stringify(name)}; ${hint}`);
}

/** Wrong usage of `gateway run` and `gateway connect`. `otherwise`: what helps a person who means another program. */
export async function unknownTool(
  name: string,
  known: readonly string[],
  otherwise: string,
): Promise<CliError> {
  const { suggest } = await import('../../config/did-you-mean.ts');
  return new CliError(
    `unknown tool ${JSON.stringify(name)}; ${suggest(name, known)}; ${otherwise}`.replace('?;', '? Or'),
    2,
  );
}

const MAX_NAMED = 5;

export async function unknownAccount(store: Pick<KeyStore, 'listAccounts'>, name: string): Promise<CliError> {
  const accounts = await store.listAccounts();
  const known = accounts.map((account) => account.name);
  let otherwise = 'see: gateway accounts list';
  if (known.length === 0) otherwise = 'no account exists yet; create one: gateway keys create --account NAME';
  else if (known.length <= MAX_NAMED) otherwise = `known accounts: ${known.join(', ')}`;
  return unknown('account', name, known, otherwise);
}

/** Warns of a new name that people confuse with another account's: the two accounts would have separate limits. */
export async function warnOfLookalike(
  account: string,
  store: Pick<KeyStore, 'listAccounts'>,
  { stderr }: Context,
): Promise<void> {
  const { lookalike } = await import('../args/key-warnings.ts');
  const names = (await store.listAccounts()).map(({ name }) => name);
  const other = lookalike(
    account,
    names.filter((name) => name !== account),
  );
  if (other === undefined) return;
  say(stderr, `warning: the new account ${clean(account)} differs from ${clean(other)} only by case or look`);
}

/** Rejects with CliError, which names the nearest known one. */
export async function mustFind(
  name: string,
  store: Pick<KeyStore, 'findAccount' | 'listAccounts'>,
): Promise<Account> {
  const account = await store.findAccount(name);
  if (account === undefined) throw await unknownAccount(store, name);
  return account;
}

/** Of an account that is held to another tier than its own. */
export function warnOfUnknownTier({ name, tier }: Account, config: Config, { stderr }: Context): void {
  if (config.tiers.has(tier)) return;
  say(
    stderr,
    `warning: tier ${clean(tier)} of account ${clean(name)} is not in the configuration: the limit of tier free applies`,
  );
}

export async function unknownTier(config: Config, tier: string): Promise<CliError> {
  const known = [...config.tiers.keys()];
  return unknown('tier', tier, known, `known tiers: ${known.join(', ')}`);
}

/** A new key never changes the tier of an account. */
export function otherTier({ name, tier }: { name: string; tier: string }, wanted: string): CliError {
  return new CliError(
    `account ${JSON.stringify(name)} already has tier ${tier}; change it first: gateway tiers assign ${shellWord(name)} ${wanted}`,
  );
}

/** What `serve` warns of at its start. */
export function startWarnings(config: Config): string[] {
  const open = config.listen.hosts.filter((host) => !isLoopback(host));
  return open.length === 0 ? config.warnings : [...config.warnings, withoutTls(open)];
}

const withoutTls = (hosts: readonly string[]): string =>
  `others can reach ${hosts.join(', ')}, and there is no TLS: keys and prompts cross the network as plain text; ` +
  'listen on 127.0.0.1 alone, or put a proxy with TLS in front';

/** `10 requests an hour, 5 USD a day`, `no limit`. */
export function limitText(config: Config, tier: string): string {
  return tierText(tierNamed(tier, config.tiers));
}
