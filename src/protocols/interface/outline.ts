// Facts about a protocol that are needed before its code is loaded, and the headers of its clients.

export type ClientHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** A header with a client's key. */
export interface KeyHeader {
  /** In lower case. */
  name: string;
  /** Behind the word `Bearer`; else the key alone. */
  bearer: boolean;
  /** The form that the error for a missing key shows. */
  shown: string;
}

/** Headers of the client that are forwarded to a provider of the same protocol. */
export interface ForwardedHeaders {
  /** Flat: name, value, name, value; in place of the provider side's `requestHeaders`. */
  headers: readonly string[];
  /** The same for providers that take no tags (`Traits.requestTags`), if it differs. */
  untagged?: readonly string[];
  /** More of them, which only add to a provider's own of other names. */
  further?: readonly string[];
  query: string;
  /** They ask for the long window of models that have two. */
  longContext: boolean;
}

/** Settings of a client of this protocol. */
interface ClientSetup {
  title: string;
  /** The path of the base URL, after the gateway's address. */
  base: string;
  baseVariable: string;
  keyVariable: string;
}

/** What is known of a protocol without its code. */
export interface ProtocolOutline {
  /** The endpoint below the version, of the gateway and of providers: `/chat/completions`, `/messages`. */
  readonly path: string;
  readonly setup: ClientSetup;
  /** Server tools are a part of it: relayed to a provider that says nothing of them, they may work. */
  readonly hasServerTools: boolean;
  /** How a key is sent by default. */
  authHeaders(apiKey: string): string[];
  /** Sent with every request, unless the client's own headers are forwarded. */
  readonly requestHeaders: readonly string[];
  /** The query of the first page of a list of models. */
  readonly firstModels: string;
}
