// A client's body as a provider of the other protocol gets it, and what was reported on the way.
import { repairHistory } from '../../src/canonical/history.ts';
import type { JsonObject } from '../../src/canonical/json.ts';
import type { ProtocolName } from '../../src/canonical/request.ts';
import { DEFAULT_TRAITS, type Traits } from '../../src/canonical/traits.ts';
import { protocols } from '../../src/protocols/registry.ts';

export interface Translated {
  body: JsonObject;
  messages: JsonObject[];
  /** As `effect field`, those that are told to nobody left out. */
  reports: string[];
}

/** `from`: what the client speaks. */
export function translated(
  from: ProtocolName,
  members: JsonObject,
  over: Partial<Traits> = {},
  target: ProtocolName = from === 'chat' ? 'messages' : 'chat',
): Translated {
  const traits = { ...DEFAULT_TRAITS, ...over };
  const limit = { [from === 'chat' ? 'max_completion_tokens' : 'max_tokens']: 100_000 };
  const messages = [{ role: 'user', content: 'hi' }];
  const request = protocols[from].client.decodeRequest({ model: 'm', ...limit, messages, ...members });
  const repaired = repairHistory(request, { rules: protocols[target].provider.historyRules, traits });
  const { body, warnings } = protocols[target].provider.encodeRequest(repaired.request, 'target', traits);
  const reports = [...repaired.warnings, ...warnings]
    .filter(({ effect }) => effect !== 'quiet')
    .map(({ effect, field }) => `${effect} ${typeof field === 'string' ? field : field.path}`);
  return { body, messages: body.messages as JsonObject[], reports };
}
