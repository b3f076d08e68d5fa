// What a running gateway does for the commands of its own user: handlers, which the composition root gives to the control server
// (to add one, append a row to `controlHandlers` in app.ts), and its status, which `GET /status` sends and commands read. Members
// of the status may be added, never renamed.

export interface ControlRequest {
  query: URLSearchParams;
  /** The parsed JSON of the request; undefined if it has none. */
  body: unknown;
}

/** Replies with one JSON value, or with a promise of one. A ControlError becomes its status and message. */
interface ControlCall {
  method: 'GET' | 'POST' | 'DELETE';
  /** `/status`: exact, so parameters belong in the query or the body. */
  path: string;
  handle(request: ControlRequest): unknown;
}

/**
 * Sends JSON lines until the reader leaves or the gateway ends. `send` never blocks: while a slow reader has too much waiting, events
 * are dropped, and `{"dropped": 12}` comes before the next one. The returned function is called once, at the end.
 */
export interface ControlStream {
  method: 'GET';
  path: string;
  open(request: ControlRequest, send: (event: unknown) => void): () => void;
}

export type ControlHandler = ControlCall | ControlStream;

/** A refusal that the user of a command sees, on both sides of the socket. */
export class ControlError extends Error {
  override readonly name = 'ControlError';
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export interface GatewayStatus {
  pid: number;
  version: string;
  /** ISO 8601, as all times here. */
  since: string;
  /** `starting`: of its workers none serves; they start again. */
  state: 'starting' | 'serving' | 'maintenance' | 'stopping';
  urls: string[];
  /** null: zero configuration. */
  config: string | null;
  /** A path, or a URL without its password. */
  database: string;
  /** The file of a gateway in the background; null: the log goes to stderr, or nowhere. */
  log: string | null;
  /** Records of the log that were lost since the start. Older versions lack it. */
  log_lost?: number;
  /** The network of its addresses (`networkName`); null: unknown. Older versions lack it. */
  network?: string | null;
  /** Of `gateway run`: the tool that it ends with. */
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

interface ProviderStatus {
  name: string;
  /** Targets that requests avoid until that time. */
  avoided: { target: string; state: 'cooling' | 'failing'; until: string }[];
}

/** The members that every version has. */
export function isStatus(value: unknown): value is GatewayStatus {
  const { pid, urls, database } = (value ?? {}) as Record<string, unknown>;
  return Number.isSafeInteger(pid) && Array.isArray(urls) && typeof database === 'string';
}
