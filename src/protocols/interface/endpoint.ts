// The endpoints of a protocol are rows of a table: a method and a path, how the body is read, and what the gateway does with it. The router and the reader of requests know nothing else of them.
import { asCount, isObject, type JsonObject } from '../../canonical/json.ts';
import type { Usage } from '../../canonical/reply.ts';
import type { EndpointName, Permission } from '../../canonical/request.ts';
import type { Traits } from '../../canonical/traits.ts';
import { percentDecoded } from '../../percent.ts';
import type { Ids } from '../../ids.ts';
import type { Envelope } from './bodies.ts';
import type { StoredAnswers } from './features.ts';
import type { SocketDialect } from './socket.ts';
import type { StreamClassifier } from './stream.ts';

/** What stands in a path in place of a pattern's `{names}`, decoded. */
export type PathValues = Readonly<Record<string, string>>;

interface Row {
  /** Below the version, of the gateway and of providers. `{id}` stands for one segment, or for a part of it. */
  readonly path: string;
}

interface WithBody extends Row {
  readonly method: 'POST';
  /**
   * Validates what the gateway itself relies on, and finds model and stream, in the body or in the path. Throws GatewayError
   * `invalid_request` naming the field.
   */
  readEnvelope(value: JsonObject, values: PathValues): Envelope;
}

/** Answered by a provider of any protocol, whole or as a stream. */
export interface Generation extends WithBody {
  readonly does: 'generate';
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
  /** The permission that a key needs, if it is not the protocol's. */
  readonly permission?: Permission;
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

export type Endpoint = Generation | Relayed | TokenCount | StoredShow | StoredDelete | Socketed;

/** The gateway's path of an endpoint. */
export function servedPath({ path }: Pick<Endpoint, 'path'>): string {
  return `/v1${path}`;
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
