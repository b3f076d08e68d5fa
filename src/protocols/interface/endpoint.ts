// The endpoints of a protocol are rows of a table: a method and a path, how the body is read, and what the gateway does with it. The router and the reader of requests know nothing else of them.
import { asCount, isObject, type JsonObject } from '../../canonical/json.ts';
import type { Reply, Usage } from '../../canonical/reply.ts';
import type { EndpointName, Permission, ProtocolName } from '../../canonical/request.ts';
import type { Traits } from '../../canonical/traits.ts';
import { percentDecoded } from '../../percent.ts';
import type { Ids } from '../../ids.ts';
import type { BodyReading, Envelope } from './bodies.ts';
import type { StoredAnswers } from './features.ts';
import type { SocketDialect } from './socket.ts';
import type { StreamClassifier, StreamDecoder } from './stream.ts';

/** What stands in a path in place of a pattern's `{names}`, decoded. */
export type PathValues = Readonly<Record<string, string>>;

interface Row {
  /** Below the version, of the gateway and of providers. `{id}` stands for one segment, or for a part of it. */
  readonly path: string;
  /** In place of the version, at the gateway. */
  readonly below?: string;
  /**
   * Programs of this machine may ask without a key, where the configuration names the account that they are. `unsigned`: only those
   * that send no credential of any kind, and no web page.
   */
  readonly keyless?: true | 'unsigned';
}

interface WithBody extends Row {
  readonly method: 'POST';
  /**
   * Validates what the gateway itself relies on, and finds model and stream, in the body or in the path. Throws GatewayError
   * `invalid_request` naming the field.
   */
  readEnvelope(body: BodyReading, values: PathValues): Envelope;
  /** The permission that a key needs, if it is not the protocol's. */
  readonly permission?: Permission;
}

/** Answered by a provider of any protocol, whole or as a stream. */
export interface Generation extends WithBody {
  readonly does: 'generate';
  /** The endpoint that serves such a body, if another does. */
  elsewhere?(body: BodyReading): Relayed | undefined;
}

/** How a model does what an endpoint does. */
export interface Instead {
  /** The body of a request for a whole answer. */
  ask(value: JsonObject): JsonObject;
  /** The endpoint's answer, from the model's. Throws GatewayError `upstream` for one that is of no use. */
  answer(
    reply: JsonObject,
    asked: JsonObject,
    make: { ids: Ids; now: () => number; seal: (text: string) => string },
  ): JsonObject;
}

/** Forwarded to a provider of the same protocol, or not served. */
export interface Relayed extends WithBody {
  readonly does: 'relay';
  /** The name in usage rows, if it is not the protocol. */
  readonly recordedAs?: EndpointName;
  /** Targets that have it, and where; undefined: every target that speaks the protocol does, at `path`. */
  readonly at?: ServedAt;
  /** Where no target has it; undefined: it is not served then. */
  readonly instead?: Instead;
  /** Its requests are parts of no conversation, unless the client names one. */
  readonly isAlone?: true;
  /** Reads its streams; undefined: the answer is whole. */
  createClassifier?(options: { usageAsked: boolean }): StreamClassifier;
  /**
   * Finds the usage of an answer, and gives another `value` where the provider answers in another form. Throws FailureError for what
   * is no answer.
   */
  inspectReply(value: unknown): { usage?: Usage; value?: JsonObject };
  /** Providers are asked in the form of another protocol's endpoint; undefined: they get and give what the client does. */
  readonly carrier?: Carrier;
}

/** How an endpoint of providers is asked for a client that has another form of it. */
export interface Carrier {
  /** Whose providers are asked. */
  readonly protocol: ProtocolName;
  /** `left`: wire paths of what the endpoint does not take. */
  encode(
    value: JsonObject,
    target: { upstream: string; traits: Traits },
  ): { body: JsonObject; left: string[] };
  /** Throws FailureError for what is no answer. */
  decodeReply(value: unknown): Reply;
  /** undefined: it answers whole. */
  createStreamDecoder?(): StreamDecoder;
}

export interface ServedAt {
  /** Behind the provider's base URL; undefined: the target does not have it. */
  pathOf(traits: Traits): string | undefined;
  /** What such targets do, for errors: `make embeddings`. */
  readonly ability: string;
  /** Answers of different models can't stand in for each other. */
  readonly oneModel?: true;
}

/** Counts the tokens of a request without answering it. */
export interface TokenCount extends WithBody {
  readonly does: 'count';
  isCount(reply: unknown): boolean;
  encode(tokens: number): JsonObject;
}

/** Whether a provider's answer is a count, as two protocols write it. */
export function hasInputTokens(reply: unknown): boolean {
  return isObject(reply) && asCount(reply.input_tokens) !== undefined;
}

/** Shows a stored answer, or a part of it. The path has its `{id}`. */
export interface StoredShow extends Row {
  readonly does: 'show_stored';
  readonly method: 'GET';
  readonly stored: StoredAnswers;
  /**
   * `text`: what is stored under the id. undefined: it is no answer. Throws GatewayError `invalid_request` for a query that asks for
   * what is not kept.
   */
  show(text: string, query: URLSearchParams, id: string): JsonObject | undefined;
}

/** Deletes a stored answer, also at the provider that keeps it. The path has its `{id}`. */
export interface StoredDelete extends Row {
  readonly does: 'delete_stored';
  readonly method: 'DELETE';
  readonly stored: StoredAnswers;
}

/** Takes the requests of the protocol's own path over a WebSocket. */
interface Socketed extends Row {
  readonly does: 'converse';
  readonly method: 'GET';
  readonly dialect: SocketDialect;
}

/** What the gateway knows of a name that clients may send. */
export interface KnownModel {
  name: string;
  owner: string;
  /** It makes embeddings, and no answers. */
  embeddings: boolean;
  vision: boolean;
  tools: boolean;
  thinking: boolean;
  /** It completes bare texts. */
  completes: boolean;
  /** Tokens. */
  contextWindow: number | null;
  maxOutput: number | null;
}

/** Answered from what the gateway itself knows; nothing is counted. */
export interface Told extends Row {
  readonly does: 'tell';
  readonly method: 'GET' | 'POST';
  /** The model that a body asks about; undefined: all. Throws GatewayError `invalid_request`. */
  modelIn?(value: JsonObject): string;
  tell(models: readonly KnownModel[]): JsonObject;
}

/** Known to clients of the protocol, and nothing that a gateway does. */
export interface Refused extends Row {
  readonly does: 'refuse';
  readonly method: 'POST' | 'DELETE';
  readonly why: string;
}

export type Endpoint =
  Generation | Relayed | TokenCount | StoredShow | StoredDelete | Socketed | Told | Refused;

/** The path at which the gateway serves an endpoint. */
export function servedPath({ path, below = '/v1' }: Pick<Endpoint, 'path' | 'below'>): string {
  return below + path;
}

const NAME = /\{(\w+)\}/g;

/** Reads the values of a pattern's names from paths; undefined for a path of another form. */
export function pathReader(pattern: string): (path: string) => PathValues | undefined {
  const names = [...pattern.matchAll(NAME)].map(([, name = '']) => name);
  const form = new RegExp(`^${pattern.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(NAME, '([^/]+)')}$`);
  return (path) => {
    const found = form.exec(path)?.slice(1).map(percentDecoded);
    if (found === undefined || found.some((value) => value.includes('/'))) return undefined;
    return Object.fromEntries(names.map((name, at) => [name, found[at] ?? '']));
  };
}
