// Every wire protocol that the gateway speaks, by name.
import type { JsonObject } from '../canonical/json.ts';
import { PROTOCOL_NAMES, type ProtocolName } from '../canonical/request.ts';
import { chat } from './chat/index.ts';
import { completions } from './chat/relayed/completions.ts';
import { embeddings } from './chat/relayed/embeddings.ts';
import { messages } from './messages/index.ts';
import type { ClientHeaders } from './interface/outline.ts';
import { servedPath, type Endpoint } from './interface/endpoint.ts';
import type { ClientProtocol, Protocol } from './interface/protocol.ts';
import { ollama } from './ollama/index.ts';
import { responses } from './responses/index.ts';

export const protocols: Readonly<Record<ProtocolName, Protocol>> = { chat, messages, responses };

export const allProtocols: readonly Protocol[] = PROTOCOL_NAMES.map((name) => protocols[name]);
/** Those of clients alone. */
const keylessProtocols = ollama({ completions, embeddings });
export const clientProtocols: readonly ClientProtocol[] = [...allProtocols, ...keylessProtocols];

const USUAL = protocols[PROTOCOL_NAMES[0]];

/** As `protocolOfClient`, with protocols of clients that send no keys. */
export function protocolOfAnyClient(path: string, headers: ClientHeaders): ClientProtocol {
  return keylessProtocols.find((protocol) => isOf(path, protocol)) ?? protocolOfClient(path, headers);
}

/** Whose client asks: by the path, and where that is of no protocol by the headers. */
export function protocolOfClient(path: string, headers: ClientHeaders): Protocol {
  return (
    allProtocols.find((protocol) => isOf(path, protocol)) ??
    allProtocols.find(({ client }) => client.ownHeaders.some((name) => headers[name] !== undefined)) ??
    USUAL
  );
}

function isOf(path: string, { client }: ClientProtocol): boolean {
  return client.endpoints.some((endpoint) => isNear(path, endpoint));
}

/** What stands below `/v1/chat` belongs to the protocol of `/v1/chat/completions`. */
function isNear(path: string, endpoint: Endpoint): boolean {
  const first = endpoint.path.slice(0, `${endpoint.path}/`.indexOf('/', 1));
  return path.startsWith(servedPath({ ...endpoint, path: first }));
}

/** Of a body that came without a path. */
export function protocolOfBody(value: JsonObject): Protocol {
  return allProtocols.find(({ client }) => client.recognizes(value)) ?? USUAL;
}
