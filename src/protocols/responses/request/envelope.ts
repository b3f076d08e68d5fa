// What the gateway reads of a responses request, relayed or not.
import type { JsonObject } from '../../../canonical/json.ts';
import type { Envelope } from '../../protocol.ts';

export function readEnvelope(_value: JsonObject): Envelope {
  throw new Error('not built yet');
}
