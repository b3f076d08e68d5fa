// The configuration as the rest of the program sees it: read, checked, every default filled in, durations in milliseconds,
// sizes in bytes. schema.ts says what a file may hold; load.ts makes this from it.
import type { ProtocolName } from '../canonical/request.ts';
import type { Traits } from '../canonical/traits.ts';

export interface Config {
  /** The file it was read from; null: zero configuration. */
  file: string | null;
  listen: {
    hosts: string[];
    /** The hosts were not chosen by the user: one that the machine lacks is skipped. */ defaultHosts: boolean;
    port: number;
    names: string[];
  };
  /** An absolute path, or a URL of another engine. */
  database: string;
  /** Where the file says so: `gateway.yaml:3 database`. */
  databaseFrom: string | undefined;
  /** In order of preference; without those left out for a missing variable. */
  providers: ProviderConfig[];
  /** One whose providers are all left out has no target. */
  routes: ReadonlyMap<string, RouteConfig>;
  /** Tier -> requests an hour; Infinity: no limit. */
  tiers: ReadonlyMap<string, number>;
  /** Of new accounts. */
  defaultTier: string;
  strict: boolean;
  usage: { keep: number };
  /** Whether answers of the responses protocol are stored for later requests, and for how long. */
  responses: { store: boolean; keep: number };
  limits: {
    maxBody: number;
    maxReply: number;
    /** JSON values of a request, of a provider's whole reply and of one event of its stream. */
    maxValues: number;
    maxConcurrent: number;
    headerTimeout: number;
    requestTimeout: number;
    writeTimeout: number;
    shutdownGrace: number;
  };
  maintenance: boolean;
  log: 'pretty' | 'json' | 'off' | undefined;
  leftOut: readonly LeftOut[];
  /** Lines for the user: a provider left out, a variable ignored. */
  warnings: string[];
}

/** A provider that is not used for want of what it needs; whoever asks for it is told what that is. */
export interface LeftOut {
  provider: string;
  /** `ANTHROPIC_API_KEY is not set` */
  why: string;
  /** What clients would have called it beside `provider/model`: its models, and routes to it. */
  names: readonly string[];
}

/** `provider/model` texts, split. `model` is the client's name for it. */
export interface TargetRef {
  provider: string;
  model: string;
}

export interface RouteConfig {
  strategy: 'priority' | 'fastest';
  targets: TargetRef[];
}

export interface ProviderConfig {
  name: string;
  /** The protocols it speaks; the first is used for a client of neither. */
  protocols: readonly ProtocolName[];
  /** Base URL of each protocol, version included, no slash at the end: `https://api.openai.com/v1`. */
  baseUrls: Partial<Record<ProtocolName, string>>;
  /** undefined: none is sent. */
  apiKey: string | undefined;
  /** Where the key was read: a variable of the environment, or a place of the file. */
  keyFrom?: string | undefined;
  /** How the key is sent: by the protocol's own custom (chat: bearer, messages: x-api-key), or as told. */
  auth: 'protocol' | 'bearer' | 'x-api-key' | 'api-key';
  headers: Record<string, string>;
  /** Deviations of its wire: the preset's, beaten by the file's `flags` and `prompt_cache`. */
  traits: Partial<Traits>;
  timeout: { connect: number; firstByte: number; idle: number; whole: number };
  /** null: any name is taken as `provider/name`, its list is asked of the provider. */
  models: ModelConfig[] | null;
  /** The preset's: what `auto` uses where `models` is null. */
  defaultModel: string | undefined;
  /** Where it was found: for the banner and for who may be part of `auto`. */
  source: 'file' | 'environment' | 'local' | 'builtin';
}

export interface ModelConfig {
  /** The name that clients use. */
  id: string;
  /** The provider's name for it. */
  upstream: string;
  vision?: boolean;
  documents?: boolean;
  audio?: boolean;
  tools?: boolean;
  thinking?: boolean;
  structuredOutput?: boolean;
  contextWindow?: number;
  maxOutput?: number;
  /** USD a million tokens. */
  price?: { input?: number; output?: number; cacheRead?: number; cacheWrite?: number };
}
