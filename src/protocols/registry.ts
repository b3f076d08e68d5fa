// Every wire protocol that the gateway speaks, by name.
import type { JsonObject } from '../canonical/json.ts';
import { PROTOCOL_NAMES, type ProtocolName } from '../canonical/request.ts';
import { chat } from './chat/index.ts';
import { messages } from './messages/index.ts';
import type { ClientHeaders } from './interface/outline.ts';
import { servedPath, type Endpoint } from './interface/endpoint.ts';
import type { Protocol } from './interface/protocol.ts';
import { responses } from './responses/index.ts';

export const protocols: Readonly<Record<ProtocolName, Protocol>> = { chat, messages, responses };

export const allProtocols: readonly Protocol[] = PROTOCOL_NAMES.map((name) => protocols[name]);
const USUAL = protocols[PROTOCOL_NAMES[0]];

/** Whose client asks: by the path, and where that is of no protocol by the headers. */
export function protocolOfClient(path: string, headers: ClientHeaders): Protocol {
  return (
    allProtocols.find(({ client }) => client.endpoints.some((endpoint) => isNear(path, endpoint))) ??
    allProtocols.find(({ client }) => client.ownHeaders.some((name) => headers[name] !== undefined)) ??
    USUAL
  );
}

/** What stands below `/v1/chat` belongs to the protocol of `/v1/chat/completions`. */
function isNear(path: string, endpoint: Endpoint): boolean {
  return path.startsWith(servedPath({ path: endpoint.path.slice(0, `${endpoint.path}/`.indexOf('/', 1)) }));
}

/** Of a body that came without a path. */
export function protocolOfBody(value: JsonObject): Protocol {
  return allProtocols.find(({ client }) => client.recognizes(value)) ?? USUAL;
}
