// A client's wire body as a provider of another protocol gets it, and the paths that the client is told were left out.
import { repairHistory } from '../../src/canonical/history.ts';
import type { JsonObject } from '../../src/canonical/json.ts';
import type { ProtocolName } from '../../src/canonical/request.ts';
import { DEFAULT_TRAITS, type Traits } from '../../src/canonical/traits.ts';
import { GatewayError } from '../../src/errors.ts';
import type { EncodedRequest } from '../../src/protocols/interface/bodies.ts';
import { protocols } from '../../src/protocols/registry.ts';

export interface Crossed extends EncodedRequest {
  /** What `x-gateway-dropped` names. */
  dropped: string[];
}

export function cross(from: ProtocolName, members: JsonObject, over: Partial<Traits> = {}): Crossed {
  return crossTo(from, from === 'chat' ? 'messages' : 'chat', members, over);
}

export function crossTo(
  from: ProtocolName,
  target: ProtocolName,
  members: JsonObject,
  over: Partial<Traits> = {},
): Crossed {
  const traits = { ...DEFAULT_TRAITS, ...over };
  const request = protocols[from].client.decodeRequest({ model: 'm', ...QUESTION[from], ...members });
  const repaired = repairHistory(request, { rules: protocols[target].provider.historyRules, traits });
  const encoded = protocols[target].provider.encodeRequest(repaired.request, 'target', traits);
  const paths = [...repaired.warnings, ...encoded.warnings]
    .filter(({ effect }) => effect === 'dropped' || effect === 'suspended')
    .map(({ field }) => (typeof field === 'string' ? protocols[from].client.wirePath(field) : field.path));
  return { ...encoded, dropped: [...new Set(paths)].sort() };
}

const ASK: JsonObject = { max_tokens: 9000, messages: [{ role: 'user', content: 'hi' }] };
const QUESTION: Record<ProtocolName, JsonObject> = { chat: ASK, messages: ASK, responses: { input: 'hi' } };

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
