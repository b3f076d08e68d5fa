// A client's wire body as a provider of another protocol gets it, and the paths that the client is told were left out.
import { repairHistory } from '../../src/canonical/history.ts';
import type { JsonObject } from '../../src/canonical/json.ts';
import type { ClientProtocolName, ProtocolName } from '../../src/canonical/request.ts';
import { DEFAULT_TRAITS, type Traits } from '../../src/canonical/traits.ts';
import { GatewayError } from '../../src/errors.ts';
import type { EncodedRequest } from '../../src/protocols/interface/bodies.ts';
import type { ClientSide } from '../../src/protocols/interface/protocol.ts';
import { clientProtocols, protocols } from '../../src/protocols/registry.ts';

export interface Crossed extends EncodedRequest {
  /** What `x-gateway-dropped` names. */
  dropped: string[];
}

export function cross(from: ProtocolName, members: JsonObject, over: Partial<Traits> = {}): Crossed {
  return crossTo(from, from === 'chat' ? 'messages' : 'chat', members, over);
}

/** Of a protocol with several forms, that of a chat. */
export function clientOf(name: ClientProtocolName): ClientSide {
  const found = clientProtocols.find((protocol) => protocol.name === name);
  if (found === undefined) throw new Error(`no protocol of clients is ${name}`);
  return found.client;
}

export function crossTo(
  from: ClientProtocolName,
  target: ProtocolName,
  members: JsonObject,
  over: Partial<Traits> = {},
): Crossed {
  const client = clientOf(from);
  const traits = { ...DEFAULT_TRAITS, ...over };
  const request = client.decodeRequest({ model: 'm', ...QUESTION[from], ...members });
  const repaired = repairHistory(request, { rules: protocols[target].provider.historyRules, traits });
  const encoded = protocols[target].provider.encodeRequest(repaired.request, 'target', traits);
  const paths = [...repaired.warnings, ...encoded.warnings]
    .filter(({ effect }) => effect === 'dropped' || effect === 'suspended')
    .map(({ field }) => (typeof field === 'string' ? client.wirePath(field) : field.path));
  return { ...encoded, dropped: [...new Set(paths)].sort() };
}

const ASK: JsonObject = { max_tokens: 9000, messages: [{ role: 'user', content: 'hi' }] };
const QUESTION: Record<ClientProtocolName, JsonObject> = {
  ...{ chat: ASK, messages: ASK, ollama: ASK },
  responses: { input: 'hi' },
};

export function refused(
  from: ProtocolName,
  members: JsonObject,
  over: Partial<Traits> = {},
): string | undefined {
  return refusedAt(() => cross(from, members, over));
}

/** The field that a refusal names. */
export function refusedAt(run: () => unknown): string | undefined {
  try {
    run();
  } catch (error) {
    if (error instanceof GatewayError) return error.options.param;
    throw error;
  }
  throw new Error('was not refused');
}
