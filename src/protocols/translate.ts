// The translation between two protocols without a server, as the package's entry `local-llm-gateway/translate` (docs/translate.md):
// a client's request becomes a provider's, and the provider's answer becomes the client's, whole or streamed.
import { repairHistory } from '../canonical/history.ts';
import { isObject, type JsonObject } from '../canonical/json.ts';
import { PROTOCOL_NAMES, type ProtocolName, type Warning } from '../canonical/request.ts';
import { createEventRestorer, restoreReply, type ReverseMapping } from '../canonical/reverse-mapping.ts';
import { DEFAULT_TRAITS, type Traits } from '../canonical/traits.ts';
import { FailureError, GatewayError } from '../errors.ts';
import { createIds, type Ids } from '../ids.ts';
import type { ReplyContext } from './interface/answer.ts';
import type { Protocol } from './interface/protocol.ts';
import { bodyIn } from './json/body.ts';
import { MAX_LEVELS, rawJson } from './json/raw-json.ts';
import { measureJson } from './json/splice.ts';
import { parseJson } from './json/values.ts';
import { protocols } from './registry.ts';
import { gatewayErrorOf } from './shared/client.ts';
import { StreamTranslator } from './sse/stream-translation.ts';

export type { JsonObject, ProtocolName, Traits };
export { GatewayError };

export interface TranslateOptions {
  /** The protocol of the request, and of the answer that the client gets. */
  from: ProtocolName;
  /** The provider's protocol. */
  to: ProtocolName;
  /** The provider's name of the model; without it, the name in the request. */
  model?: string;
  /** What the model and its server take and refuse, as far as it differs from the defaults. */
  traits?: Partial<Traits>;
  /** For ids that are the same each time. */
  ids?: Ids;
  /** Milliseconds since the epoch. */
  now?: () => number;
}

/** What became of a field of the request that the provider does not get as it was. */
export interface Loss {
  /** `suspended`: left out of this request alone, because its turn could not be finished otherwise. */
  effect: 'dropped' | 'suspended' | 'changed';
  /** What the client's protocol calls the field. */
  path: string;
  detail: string;
}

export interface Translation {
  /** The request for the provider. */
  body: JsonObject;
  losses: Loss[];
  /** The provider's whole answer for the client. Throws GatewayError if it is an error, empty or not the protocol. */
  readonly reply: (whole: JsonObject | string) => JsonObject;
  /** One streamed answer. A failure of the provider ends it as an error event of the client's protocol. */
  readonly stream: () => StreamTranslation;
}

export interface StreamTranslation {
  /** The events for the client that these bytes complete; '' if none. After the end of the answer all input is ignored. */
  push(bytes: Uint8Array): string;
  /** The provider's body has ended: the last events. A stream that broke off ends with an error event. */
  end(): string;
}

/** A body as JSON, with the numbers of a request that was given as text. `JSON.stringify` rounds them as JavaScript does. */
export function stringify(body: JsonObject): string {
  return rawJson(body);
}

/** `request`: the body, or its text, whose numbers stay exact. Throws GatewayError for what the provider must not get. */
export function translate(request: JsonObject | string, options: TranslateOptions): Translation {
  const { ids = createIds(), now = Date.now } = options;
  const startedAt = now();
  const { client } = protocolOf(options.from, 'from');
  const { provider } = protocolOf(options.to, 'to');
  const traits = traitsOf(options.traits);
  const { text, value } = readObject(request, 'the request');
  const read = bodyIn(Buffer.from(text));
  const envelope = client.endpoints[0].readEnvelope(read, {});
  const { model = envelope.model } = options;
  const rules = { rules: provider.historyRules, traits };
  const repaired = repairHistory(client.decodeRequest(value, read), rules);
  const { body, warnings, restore } = provider.encodeRequest(repaired.request, model, traits);
  const context = (): ReplyContext => ({
    ids,
    created: Math.floor(now() / 1000),
    now,
    elapsed: () => now() - startedAt,
    request: client.readAsked(read),
    estimateInput: () => client.hints.estimate(value),
  });
  return {
    body,
    losses: lossesOf([...repaired.warnings, ...warnings], (field) => client.wirePath(field)),
    reply(whole) {
      const reply = decodeReply(provider, whole, restore);
      return client.encodeReply(reply.model === '' ? { ...reply, model } : reply, context());
    },
    stream: () =>
      new StreamTranslator({
        client,
        decoder: provider.createStreamDecoder({ ids, traits }),
        restorer: createEventRestorer(restore),
        model,
        context: context(),
      }),
  };
}

function decodeReply(provider: Protocol['provider'], whole: JsonObject | string, restore: ReverseMapping) {
  const { text, value } = readObject(whole, 'the answer');
  try {
    return restoreReply(provider.decodeReply(value, text), restore);
  } catch (error) {
    throw error instanceof FailureError ? gatewayErrorOf(error.failure) : error;
  }
}

function lossesOf(
  warnings: readonly Warning[],
  wirePath: (field: Extract<Warning['field'], string>) => string,
) {
  return warnings.flatMap(({ effect, field, detail }): Loss[] => {
    if (effect === 'quiet') return [];
    return [{ effect, path: typeof field === 'string' ? wirePath(field) : field.path, detail }];
  });
}

function protocolOf(name: ProtocolName | undefined, option: string): Protocol {
  if (name !== undefined && Object.hasOwn(protocols, name)) return protocols[name];
  const problem = name === undefined ? 'is missing' : `${JSON.stringify(name)} is no protocol`;
  throw new GatewayError('invalid_request', `${option}: ${problem}; use ${PROTOCOL_NAMES.join(', ')}`);
}

/** Traits that are not known by default. */
type OpenTrait = { [K in keyof Traits]-?: undefined extends Traits[K] ? K : never }[keyof Traits];

const OPEN_TRAITS: Readonly<Record<OpenTrait, true>> = {
  vision: true,
  documents: true,
  audio: true,
  tools: true,
  thinking: true,
  structuredOutput: true,
  embeddings: true,
  contextWindow: true,
  longContextWindow: true,
  maxOutput: true,
};

function traitsOf(given: Partial<Traits> = {}): Traits {
  const unknown = Object.keys(given).find(
    (name) => !Object.hasOwn(DEFAULT_TRAITS, name) && !Object.hasOwn(OPEN_TRAITS, name),
  );
  if (unknown === undefined) return { ...DEFAULT_TRAITS, ...given };
  throw new GatewayError('invalid_request', `traits: there is no trait ${JSON.stringify(unknown)}`);
}

/** A copy, with the text that it was read from. */
function readObject(given: JsonObject | string, what: string): { text: string; value: JsonObject } {
  let text: string;
  let value: unknown;
  try {
    text = typeof given === 'string' ? given : rawJson(given);
    if (measureJson(Buffer.from(text), MAX_LEVELS).tooDeep)
      throw new Error(`nested deeper than ${MAX_LEVELS} levels`);
    value = parseJson(text);
  } catch (error) {
    throw new GatewayError('invalid_request', `${what} is not JSON: ${(error as Error).message}`);
  }
  if (isObject(value)) return { text, value };
  throw new GatewayError('invalid_request', `${what} must be a JSON object`);
}
