// Targets (a provider and one of its models), made once for each name; and the providers that there are: those of the configuration,
// then those found after the start.
import type { ThinkingCut } from '../canonical/thinking-signature.ts';
import type { Traits } from '../canonical/traits.ts';
import type { ModelConfig, ProviderConfig } from '../config/config.ts';
import { withoutKeys } from '../ids.ts';
import { PROTOCOL_NAMES, type ProtocolName } from '../canonical/request.ts';
import { isLoopback } from '../loopback.ts';
import type { Health } from './state/health.ts';
import type { ModelInfo } from './model-info.ts';
import type { Price } from './price.ts';

export interface Target {
  /** `provider/model`, unique. */
  key: string;
  provider: ProviderConfig;
  /** The name that clients use. */
  model: string;
  /** The provider's name for it. */
  upstream: string;
  traits: Traits;
  /** Models of one family may be given each other's thinking. */
  family: string;
  price?: Price;
  /** Set for one request alone: its thinking is left out and reported. */
  withoutThinking?: ThinkingCut;
  readonly made: Made;
}

/** Of each protocol, for whole answers and for streams. Lists are flat: name, value, name, value. */
type UsualHeaders = Partial<Record<ProtocolName, { whole?: string[]; stream?: string[] }>>;

/** What is the same in every request to a target and its answer, made when it is first needed (docs/decisions/0014). */
interface Made {
  readonly urls: Partial<Record<ProtocolName, string>>;
  readonly forRelays: UsualHeaders;
  /** With the headers that the protocol demands, which clients of another protocol do not send. */
  readonly forTranslations: UsualHeaders;
  /** The headers of an answer that name the target. */
  names?: string[];
  /** Whether the traits hold anything that it refuses. */
  refuses?: boolean;
}

/** Provider -> the models that it reported. */
export type Discovered = ReadonlyMap<string, readonly string[]>;

/** undefined: the provider has no such model. */
export type TargetOf = (provider: ProviderConfig, name: string) => Target | undefined;

/** Of the built-in provider. */
const FREE: Price = { input: { base: 0 }, output: { base: 0 } };

// Clients may ask a provider without a list for any name, so the number of its targets in memory is bounded.
const MOST_MADE = 2000;
const LONGEST_KEPT = 256;

export function createTargets(models: ModelInfo, discovered: Discovered, now: number): TargetOf {
  const all = new Map<string, Target>();

  function make(provider: ProviderConfig, name: string, model?: ModelConfig): Target {
    const key = `${provider.name}/${name}`;
    const known = all.get(key);
    if (known !== undefined) return known;
    const upstream = model?.upstream ?? name;
    const made: Made = { urls: {}, forRelays: {}, forTranslations: {} };
    const target = {
      key,
      provider,
      model: name,
      upstream,
      ...models.about(provider, upstream, model, now),
      ...(isBuiltin(provider) && { price: FREE }),
      made,
    };
    remember(all, key, target);
    return target;
  }

  return (provider, name) => {
    if (name === '') return undefined;
    if (provider.models !== null) {
      const model = provider.models.find(({ id }) => id === name);
      return model && make(provider, name, model);
    }
    // A key of the gateway in the model's name must not reach a provider.
    if (withoutKeys(name) !== name) return undefined;
    // The models of the built-in provider are known.
    const has = provider.source !== 'builtin' || discovered.get(provider.name)?.includes(name) !== false;
    return has ? make(provider, name) : undefined;
  };
}

/** Adds to a map that forgets its oldest half when it is full, and no key that is very long. */
export function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  if (key.length > LONGEST_KEPT) return;
  if (map.size >= MOST_MADE) {
    let surplus = MOST_MADE / 2;
    for (const old of map.keys()) {
      if (surplus-- === 0) break;
      map.delete(old);
    }
  }
  map.set(key, value);
}

export interface Providers {
  all: readonly ProviderConfig[];
  /** Providers in the lists: the built-in one only if there is no other or the file names it. */
  shown: readonly ProviderConfig[];
  /** Providers of `auto`: the built-in one only if it stands in for others. */
  auto: readonly ProviderConfig[];
}

export const isBuiltin = ({ source }: Pick<ProviderConfig, 'source'>): boolean => source === 'builtin';

/** `standsIn`: no other provider was ever configured or found. Later, `auto` never answers with the user's own prompt. */
export function mergeProviders(
  configured: readonly ProviderConfig[],
  added: ReadonlyMap<string, ProviderConfig>,
  standsIn: boolean,
): Providers {
  const names = new Set(configured.map(({ name }) => name));
  const named = configured.map((provider) => withAddress(provider, added.get(provider.name)));
  const found = [...added.values()].filter(({ name }) => !names.has(name));
  const others = [...named, ...found.filter((provider) => !isBuiltin(provider))];
  const all = [...named, ...found];
  const shown = others.length > 0 ? others : all;
  return { all, shown, auto: standsIn ? shown : shown.filter((provider) => !isBuiltin(provider)) };
}

/** The built-in provider's address is known only once it listens, also where the file names it. */
function withAddress(provider: ProviderConfig, found: ProviderConfig | undefined): ProviderConfig {
  if (found?.source !== 'builtin') return provider;
  const { protocols, baseUrls, apiKey, auth } = found;
  return {
    ...provider,
    protocols,
    baseUrls,
    apiKey,
    auth,
    defaultModel: provider.defaultModel ?? found.defaultModel,
  };
}

/** Its addresses belong to this machine. */
export function isOnLoopback({ baseUrls }: ProviderConfig): boolean {
  return Object.values(baseUrls).every((url) => isLoopback(new URL(url).hostname));
}

/** Forgets the health of providers that are gone or have another address or key. */
export function forgetChanged(
  before: Providers,
  now: Providers,
  health: Pick<Health, 'forget'>,
  keys: Pick<Health, 'forget'>,
): void {
  for (const provider of before.all) {
    const same = now.all.find(({ name }) => name === provider.name);
    if (sameServer(provider, same)) continue;
    for (const state of [health, keys]) state.forget((key) => key.startsWith(`${provider.name}/`));
  }
}

function sameServer(before: ProviderConfig, now: ProviderConfig | undefined): boolean {
  return (
    now !== undefined &&
    before.apiKey === now.apiKey &&
    before.apiKeys?.join() === now.apiKeys?.join() &&
    PROTOCOL_NAMES.every((name) => before.baseUrls[name] === now.baseUrls[name])
  );
}
