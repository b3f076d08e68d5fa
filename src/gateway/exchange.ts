// What the stations of the line are given: the parts of the program, which app.ts puts together once, and each request as the
// server hands it over.
import type { Cancellation } from '../cancellation.ts';
import type { Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import type { Beginnings } from '../conversations/beginnings.ts';
import type { GatewayError } from '../errors.ts';
import type { Ids } from '../ids.ts';
import type { Logger } from '../log.ts';
import type { NewStored } from '../protocols/interface/features.ts';
import type { StreamNotices } from '../protocols/interface/stream.ts';
import type { ProviderClient } from '../providers/client.ts';
import type { Lines } from '../providers/line.ts';
import type { Repeats } from '../repeats.ts';
import type { Routing } from '../routing/routing.ts';
import type { SealedItems } from '../store/items/sealed-items.ts';
import type { BrakeStore } from '../store/holds/brakes.ts';
import type { HoldStore } from '../store/holds/holds.ts';
import type { Key, KeyStore, AdmissionStore, UsageStore } from '../store/store.ts';
import type { DatabaseHealth } from './database-health.ts';
import type { CacheMisses } from './cache-misses.ts';
import type { Arrival } from './inbound/read-request.ts';
import type { Observer } from './trace.ts';
import type { UsualOutputs } from './usual-outputs.ts';

/** Flat list of header names (lower case) and values. */
export type HeaderList = string[];

export interface Sink {
  /** The head was written: from then on an error can only be an event of the stream. */
  readonly opened: boolean;
  /** A whole answer, with its length. */
  send(status: number, headers: HeaderList, body: Buffer | string): void;
  /** Opens an event stream. A second call only replaces the notices: the answer has begun. */
  open(headers: HeaderList, notices: Required<StreamNotices>): void;
  /** `false`: the client reads slowly; wait for `onDrain`. */
  write(bytes: Buffer | string): boolean;
  onDrain(listener: () => void): void;
  /** Ends the stream, after these bytes if there are any. */
  end(last?: Buffer | string): void;
  /** Ends a stream that failed: these bytes leave, then the connection ends without the end of the body. */
  breakOff(last: Buffer | string): void;
}

/** What a connection remembers of its last answer, so that its next request may refer to it although nothing is stored. */
export interface AnswerMemory {
  /** The texts by id, as `SealedItems.find` gives them. */
  find(ids: readonly string[]): ReadonlyMap<string, string>;
  /** In place of what it remembers. */
  keep(items: readonly NewStored[]): void;
}

export interface Exchange {
  readonly requestId: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** `?beta=true`, or ''. */
  readonly query: string;
  /** Cancelled with ClientGone when the client left, with a GatewayError when the server shuts down. */
  readonly cancellation: Cancellation;
  /** The whole body, decompressed, within the limit. Throws or rejects with GatewayError. */
  readBody(): Buffer | Promise<Buffer>;
  readonly sink: Sink;
  /** undefined: the connection carries single requests. */
  readonly memory?: AnswerMemory | undefined;
  /** Whose request it is, where that is known before: the owner's page asks as a key. */
  readonly key?: Key | undefined;
  /** The client is a program of this machine, as far as its connection and its headers tell. */
  readonly isLocal: boolean;
  /** Before the server began to shut down. */
  readonly arrivedInTime: boolean;
  /** Set when the request is admitted: from then on the observers report how it ends. */
  admitted: boolean;
  /** Set when the request was answered fully, and without an error. */
  answered: boolean;
  /** Calls `task` when the last byte of the answer has left or the connection is closed; at once if that has happened already. */
  whenDelivered(task: () => void): void;
}

/** A request for a path that no client of models uses: the admin API's, and its page's. */
export interface SiteExchange extends Exchange {
  readonly method: string;
  /** Without its query. */
  readonly path: string;
  /** The client's address; '' if its connection is closed. */
  readonly remoteAddress: string;
  /** The client's port and the gateway's own; undefined if its connection is closed. */
  readonly ports: { remote: number; local: number } | undefined;
  /** As `Exchange.readBody`, with a lower limit in bytes. */
  readBody(most?: number): Buffer | Promise<Buffer>;
  /** As `readBody`, of a form. */
  readForm(most: number): Buffer | Promise<Buffer>;
  /** As `readBody`, of any type. */
  readBytes(most: number): Buffer | Promise<Buffer>;
}

/** Paths beside those of models, which the server asks for only if no other route matches. */
export interface Site {
  /** Whether the path belongs to it now. */
  serves(path: string): boolean;
  /** Answers every request, also with its errors. Rejects with ClientGone alone. */
  answer(exchange: SiteExchange): Promise<void>;
}

/** The client closed the connection, so there is nobody to answer. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}

/** What `GET /metrics` shows. */
interface MetricsPage {
  /** Counts a request that was refused before its admission. */
  refused(path: string, error: GatewayError): void;
  /** In Prometheus' text format. */
  read(): Promise<string>;
}

/** Counts requests in flight, and refuses new ones during overload, maintenance and shutdown. */
export interface InFlightLimit {
  /**
   * Counts a request, or throws 503. The returned function must be called once, when the request is over. A request that
   * `arrivedInTime`, before `close`, is not refused for the shutdown: behind a proxy, a restart would not be free of failures.
   */
  enter(config: Config, arrivedInTime: boolean): () => void;
  readonly inFlight: number;
  /** Refuses requests that arrive from now on; resolves when none is in flight. */
  close(): Promise<void>;
  readonly closed: boolean;
}

/** Records one process (`gateway record`; tapes/record). */
export interface Recording {
  /** Answers a request with `answer`, which gets the exchange to use: the same one if the request is not of that process. */
  watch(arrival: Arrival, exchange: Exchange, answer: (watched: Exchange) => Promise<void>): Promise<void>;
}

export interface GatewayDeps {
  /** A change of the file replaces the configuration; a request reads it once. */
  current: { readonly config: Config };
  store: KeyStore &
    AdmissionStore &
    HoldStore &
    Pick<BrakeStore, 'forgivenCalls' | 'noteStop'> &
    Pick<UsageStore, 'totalsBy' | 'rowTotals' | 'listRequests'>;
  usual: UsualOutputs;
  /** To be told of accounts that have spent. */
  limitNotices: { look(key: Key): void };
  /** What accounts may ask for again, and what is sealed for them. */
  items: SealedItems;
  routing: Routing;
  /** When conversations began that nothing but their beginning names. */
  beginnings: Beginnings;
  /** Resolves when the first search for local servers is over. */
  discovered: Promise<void>;
  /** What has to be waited for before this name of a model is resolved, such as a provider's list; undefined: nothing. */
  learn: (name: string) => Promise<void> | undefined;
  client: ProviderClient;
  /** Of requests with an Idempotency-Key. */
  repeats: Repeats;
  /** In front of providers with `max_concurrent`. */
  lines: Lines;
  /** Called at the end of each admitted request, in this order. */
  observers: readonly Observer[];
  cacheMisses: CacheMisses;
  /** Of one process, while `gateway record` runs it; a server has none. */
  recording?: Recording | undefined;
  /** Requests are exported as spans. */
  traces: boolean;
  /** undefined: metrics are off. */
  metrics: MetricsPage | undefined;
  inFlightLimit: InFlightLimit;
  database: DatabaseHealth;
  clock: Clock;
  ids: Ids;
  log: Logger;
}
