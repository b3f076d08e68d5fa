// The types of a loaded configuration: checked, with all defaults, durations in milliseconds and sizes in bytes; and the error of
// one that cannot be used. schema.ts defines the format of the file; load.ts builds a Config from the file, the environment and
// the flags.
import type { ProtocolName } from '../canonical/request.ts';
import type { Traits } from '../canonical/traits.ts';
import type { Tier } from '../tier.ts';

/** undefined: a brake that is off. */
export interface Brakes {
  /** Billionths of a dollar that a conversation may take. */
  conversation: number | undefined;
  /** Equal calls with equal results in a row at which it is stopped. */
  repeatedCall: number | undefined;
  requestsAPrompt: number | undefined;
}

export interface Config {
  /** The path of the file; null: zero configuration. */
  file: string | null;
  /** Of a file of the current folder: the record of the consent to it. undefined: the file needs none. */
  consent: string | undefined;
  listen: {
    hosts: string[];
    /** The user chose no hosts: a default host that the machine lacks is skipped. */
    defaultHosts: boolean;
    port: number;
    names: string[];
    /** Web pages of these origins may read what model endpoints answer. */
    origins: string[];
  };
  /** An absolute path, or a URL of another engine. */
  database: string;
  /** The line of the file that sets `database`: `gateway.yaml:3 database`. undefined: another source sets it. */
  databaseFrom: string | undefined;
  /** In order of preference, without the providers in `leftOut`. */
  providers: ProviderConfig[];
  /** A route whose providers are all left out stays here without a target. */
  routes: ReadonlyMap<string, RouteConfig>;
  tiers: ReadonlyMap<string, Tier>;
  /** The tier of new accounts. */
  defaultTier: string;
  /** Of a model without a price, where a limit of money holds: whether it may be used. */
  unknownPrice: 'allow' | 'refuse';
  /** When conversations of runaway agents are stopped; null: never. */
  brakes: Brakes | null;
  /** Where notices are sent; null: nowhere. */
  alerts: { url: string; secret: string | undefined } | null;
  strict: boolean;
  /** Why conversations miss their prompt caches is found out and recorded. */
  explainMisses: boolean;
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
    keepAlive: number;
    shutdownGrace: number;
  };
  maintenance: boolean;
  /** The admin API and its page are on from the start. */
  admin: boolean;
  /** Sign-in of agents by a code; null: off. `url`: the public origin of a proxy with TLS; null: clients ask at loopback. `autoApprove`: a
   *  code that this machine asks for is shown in the log. */
  signIn: { url: string | null; autoApprove: boolean } | null;
  /** `settings`: what signed-in Claude Codes are given: the path of the file, and its value when it was read. `telemetry`: their counts of
   *  commits, pull requests and lines join the conversation. */
  claude: { settings: { file: string; value: unknown } | null; telemetry: boolean };
  /** Ollama's API is served, and its clients, who send no keys, are this account; null: it is not. */
  ollama: { account: string } | null;
  /** What `GET /metrics` shows; null: the path does not exist. */
  metrics: { accounts: boolean } | null;
  /** Where spans are sent, with the path; null: nowhere. */
  otlp: string | null;
  log: 'pretty' | 'json' | 'off' | undefined;
  leftOut: readonly LeftOut[];
  /** Lines for the user: a provider left out, a variable ignored. */
  warnings: string[];
}

/** A provider that is not used because something is missing. Errors about it give the reason. */
export interface LeftOut {
  provider: string;
  /** `ANTHROPIC_API_KEY is not set` */
  why: string;
  /** Other names under which clients ask for it: its models, and routes that name it. */
  names: readonly string[];
}

/** A target of the file (`provider/model`) in two parts. `model` is the name that clients use. */
export interface TargetRef {
  provider: string;
  model: string;
}

/** Targets of a kind of work, or of a kind of agent, before those of the route. */
export interface RouteRule {
  by: 'agent' | 'class';
  /** The agent's type or the class, as clients write it. */
  name: string;
  targets: readonly TargetRef[];
}

export const STRATEGIES = ['priority', 'fastest', 'balanced'] as const;

export interface RouteConfig {
  /** Those of agents stand before those of classes. */
  rules?: readonly RouteRule[];
  /** `priority`: in the given order. `fastest`: the shortest time to first byte. `balanced`: each by its share. */
  strategy: (typeof STRATEGIES)[number];
  targets: WeightedRef[];
}

export interface WeightedRef extends TargetRef {
  /** Its share of the requests of a balanced route: twice as many as one of half the weight. undefined: 1. */
  weight?: number;
}

export interface ProviderConfig {
  name: string;
  /** The protocols of its API. The first is used for a client that speaks none of them. */
  protocols: readonly ProtocolName[];
  /** Base URL of each protocol, with the version, without a slash at the end: `https://api.openai.com/v1`. */
  baseUrls: Partial<Record<ProtocolName, string>>;
  /** undefined: requests carry no key. */
  apiKey: string | undefined;
  /** All keys where there are several, `apiKey` first. Each cools down by itself. */
  apiKeys?: readonly string[] | undefined;
  /** The source of the key: a variable of the environment, or a path in the file. */
  keyFrom?: string | undefined;
  /** The header that carries the key. `protocol`: the protocol's usual one (chat: bearer, messages: x-api-key). */
  auth: 'protocol' | 'bearer' | 'x-api-key' | 'api-key';
  headers: Record<string, string>;
  /** Ids of what it keeps are passed on unchecked: one account alone uses it. */
  sharedIds: boolean;
  /** The well-known provider that it is, by its name or its address: what is known of models there holds. */
  preset?: string | undefined;
  /** Deviations from the protocol: the preset's, overridden by the file's `flags` and `prompt_cache`. */
  traits: Partial<Traits>;
  /** The file's `flags` alone, which stand above all that is known of models. */
  flags?: Partial<Traits> | undefined;
  /** `relay: exact`: nothing of a relayed body is changed but the model's name. */
  exactRelay?: boolean;
  /** Tool calls that its models write in other forms are repaired. */
  repairTools: boolean;
  timeout: { connect: number; firstByte: number; idle: number; whole: number };
  /** undefined: it takes as many requests as come. */
  line?: LineConfig | undefined;
  /** The way to it; undefined: that of every provider. */
  network?: NetworkConfig | undefined;
  /** null: clients may send any name as `provider/name`, and the gateway asks the provider for its list. */
  models: ModelConfig[] | null;
  /** The preset's model for `auto`, used if `models` is null. */
  defaultModel: string | undefined;
  /** How it was found. The banner shows it, and it decides whether the provider is part of `auto`. */
  source: 'file' | 'environment' | 'local' | 'builtin';
}

/** A provider takes no more than some requests at once. */
export interface LineConfig {
  maxConcurrent: number;
  /** Requests that may wait. */
  size: number;
  /** Milliseconds that each may wait. */
  wait: number;
}

export interface NetworkConfig {
  /** `off`: none, whatever the environment says. undefined: that of the environment. */
  proxy: string | undefined;
  /** Certificates (PEM) that are trusted beside the usual ones. */
  ca: string | undefined;
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
  embeddings?: boolean;
  contextWindow?: number;
  maxOutput?: number;
  /** USD per million tokens. */
  price?: { input?: number; output?: number; cacheRead?: number; cacheWrite?: number };
}

/** The place of a running gateway stays, whatever its file says now: hosts and port. What it accepts there changes. */
export function listenAt(place: Config['listen'], { names, origins }: Config['listen']): Config['listen'] {
  return { ...place, names, origins };
}

/** Changed settings of where the gateway is: of several processes, too, they take effect only with a new start. */
export function placeChanges(before: Config, after: Config): string[] {
  const changed: string[] = [];
  if (before.listen.hosts.join() !== after.listen.hosts.join()) changed.push('listen.hosts');
  if (before.listen.port !== after.listen.port) changed.push('listen.port');
  if (before.database !== after.database) changed.push('database');
  return changed;
}

export type Path = readonly (string | number)[];

/** One fault. `message` is "problem; correction" and never contains a value of the file, which may be a secret. */
export interface ConfigFault {
  path: Path;
  message: string;
}

/** The configuration can't be used. `faults` are lines for the user: `file:line path: message`. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(faults.join('\n'));
    this.faults = faults;
  }
}

/** `providers.workstation.models[1].price` */
export function formatPath(path: Path): string {
  let text = '';
  for (const segment of path) {
    if (typeof segment === 'number') text += `[${segment}]`;
    else if (!/^[\w./:-]+$/.test(segment)) text += `[${JSON.stringify(segment)}]`;
    else text += text === '' ? segment : `.${segment}`;
  }
  return text;
}
