// The names that clients can ask for, and why another name is not one of them.
import type { Config, ProviderConfig } from '../config/config.ts';
import type { GatewayError } from '../errors.ts';
import type { Catalog, Entry, Listing } from './catalog.ts';
import { unknownModel } from './refusals.ts';
import type { Discovered } from './targets.ts';

/** The names that clients can ask for; built again at each change. */
export interface Names {
  catalog: Catalog;
  listing: Listing;
  leftOut: Config['leftOut'];
  /** The file names providers that are left out. */
  lacksKeys: boolean;
  /** Providers whose models are not known: clients may ask them for any name. */
  open: readonly string[];
}

/** Its models are not known. */
export function isOpen({ name, models, source }: ProviderConfig, discovered: Discovered): boolean {
  return models === null && source !== 'builtin' && (discovered.get(name) ?? []).length === 0;
}

export function findEntry(
  { model, allowed }: { model: string; allowed: readonly string[] | null },
  names: Names,
): Entry {
  const entry = names.catalog.find(model);
  if (entry !== undefined) return entry;
  throw unknownName(model, allowed, names);
}

/** Of Ollama's clients: they put it behind a name without a tag. */
const LATEST = ':latest';

/** `name`, or what stands before `:latest` if that is the name. */
export function meantName(name: string, { catalog }: Names): string {
  if (!name.endsWith(LATEST)) return name;
  const short = name.slice(0, -LATEST.length);
  const isListed = catalog.entries().some((entry) => entry.name === name);
  return isListed || catalog.find(short) === undefined ? name : short;
}

/** `model_not_found`, with the reason or the names that are alike. */
export function unknownName(
  name: string,
  allowed: readonly string[] | null,
  { listing, leftOut, lacksKeys, open }: Names,
): GatewayError {
  return unknownModel(name, {
    usable: listing.names(allowed),
    targets: listing.targets(allowed),
    leftOut: allowed?.includes(name) === false ? [] : leftOut,
    limited: allowed !== null,
    lacksKeys,
    open: open.flatMap((provider) => askableAt(provider, allowed)),
  });
}

/** What this key may ask a provider for whose models are not known. */
function askableAt(provider: string, allowed: readonly string[] | null): string[] {
  if (allowed === null) return [`${provider}/NAME`];
  return allowed.filter((name) => name.startsWith(`${provider}/`));
}
