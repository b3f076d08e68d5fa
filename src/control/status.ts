// What a running gateway answers to `GET /status`: the server writes it, commands read it. Members may be added, never renamed.

export interface GatewayStatus {
  pid: number;
  version: string;
  /** ISO 8601, as all times here. */
  since: string;
  state: 'serving' | 'maintenance' | 'stopping';
  urls: string[];
  /** null: zero configuration. */
  config: string | null;
  /** A path, or a URL without its password. */
  database: string;
  /** The file of a gateway in the background; null: the log goes to stderr, or nowhere. */
  log: string | null;
  /** Of `gateway run`: the tool with which it ends. */
  tool?: string;
  requests_in_flight: number;
  /** How long `stop` waits for them, in milliseconds. */
  grace_ms: number;
  providers: ProviderStatus[];
  /** Of a gateway with several processes; `pid` is the one that started them. */
  workers?: WorkerStatus[];
  /** Its workers are being replaced. */
  reloading?: boolean;
  /** Why the last reload did not replace them. */
  reload_fault?: string | null;
}

export interface WorkerStatus {
  worker: number;
  pid: number;
  state: 'starting' | 'serving' | 'stopping';
  /** null: it did not answer. */
  requests_in_flight: number | null;
}

export interface ProviderStatus {
  name: string;
  /** Targets that requests avoid until that time. */
  avoided: { target: string; state: 'cooling' | 'failing'; until: string }[];
}

/** The members that every version has. */
export function isStatus(value: unknown): value is GatewayStatus {
  const { pid, urls, database } = (value ?? {}) as Record<string, unknown>;
  return Number.isSafeInteger(pid) && Array.isArray(urls) && typeof database === 'string';
}
