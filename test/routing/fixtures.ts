// Providers, configurations and questions of the routing tests, with only what a test is about spelt out.
import type { Clock } from '../../src/clock.ts';
import { NO_NEEDS, DEFAULT_TRAITS, type Traits } from '../../src/canonical/traits.ts';
import type { Config, ModelConfig, ProviderConfig, RouteConfig } from '../../src/config/config.ts';
import type { Target } from '../../src/routing/catalog.ts';
import type { RoutingQuery } from '../../src/routing/resolve.ts';

export interface FakeClock extends Clock {
  pass(ms: number): void;
}

export function fakeClock(): FakeClock {
  let time = 0;
  return {
    now: () => Date.UTC(2026, 10, 1) + time,
    monotonic: () => time,
    after: () => () => undefined,
    pass(ms) {
      time += ms;
    },
  };
}

type ModelText = string | (Partial<ModelConfig> & { id: string });

export function provider(
  name: string,
  models: ModelText[] | null,
  more: Partial<ProviderConfig> = {},
): ProviderConfig {
  return {
    name,
    protocols: ['chat'],
    baseUrls: { chat: `https://${name}.example/v1` },
    apiKey: undefined,
    auth: 'protocol',
    headers: {},
    sharedIds: false,
    traits: {},
    repairTools: false,
    timeout: { connect: 1000, firstByte: 1000, idle: 1000, whole: 1000 },
    models:
      models?.map((model) =>
        typeof model === 'string' ? { id: model, upstream: model } : { upstream: model.id, ...model },
      ) ?? null,
    defaultModel: undefined,
    source: 'file',
    ...more,
  };
}

/** Routes as the file writes them: targets as `provider/model`. */
export function config(
  providers: ProviderConfig[],
  routes: Record<string, readonly (string | { target: string; weight: number })[]> = {},
  strategy: RouteConfig['strategy'] = 'priority',
): Config {
  const targets = (given: (typeof routes)[string]): RouteConfig['targets'] =>
    given.map((one) => {
      const { target, ...share } = typeof one === 'string' ? { target: one } : one;
      const slash = target.indexOf('/');
      return { provider: target.slice(0, slash), model: target.slice(slash + 1), ...share };
    });
  return {
    file: null,
    listen: { hosts: [], defaultHosts: true, port: 0, names: [], origins: [] },
    database: ':memory:',
    consent: undefined,
    databaseFrom: undefined,
    providers,
    routes: new Map(
      Object.entries(routes).map(([name, texts]) => [name, { strategy, targets: targets(texts) }]),
    ),
    defaultTier: 'free',
    tiers: new Map(),
    unknownPrice: 'allow',
    brakes: null,
    alerts: null,
    strict: false,
    explainMisses: true,
    usage: { keep: 0 },
    responses: { store: true, keep: 86_400_000 },
    limits: {
      maxBody: 1,
      maxReply: 1,
      maxValues: 1,
      maxConcurrent: 1,
      headerTimeout: 1,
      requestTimeout: 1,
      writeTimeout: 1,
      keepAlive: 1,
      shutdownGrace: 1,
    },
    maintenance: false,
    admin: false,
    signIn: null,
    claude: { settings: null, telemetry: false },
    log: undefined,
    leftOut: [],
    metrics: null,
    otlp: null,
    warnings: [],
    ollama: null,
  };
}

export function question(model: string, more: Partial<RoutingQuery> = {}): RoutingQuery {
  return {
    protocol: 'chat',
    model,
    needs: NO_NEEDS,
    allowed: null,
    accountId: 1,
    identity: undefined,
    openToolTurn: false,
    estimate: () => 10,
    ...more,
  };
}

export function target(key: string, traits: Partial<Traits> = {}, more: Partial<Target> = {}): Target {
  const [name = '', model = ''] = key.split('/');
  return {
    key,
    provider: provider(name, null),
    model,
    upstream: model,
    traits: { ...DEFAULT_TRAITS, ...traits },
    family: model,
    made: { urls: {}, forRelays: {}, forTranslations: {} },
    ...more,
  };
}

export const keys = (targets: readonly Target[]): string[] => targets.map(({ key }) => key);
