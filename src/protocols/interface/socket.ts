// How a protocol speaks over a WebSocket: a message of the client is a request, and each event of the answer is a message.
import type { GatewayError } from '../../errors.ts';
import type { Frame } from '../sse/splitter.ts';
import type { ClientHeaders } from './outline.ts';

/** What a message asks for. */
export type SocketRequest =
  /** An answer. `body`: as the same request has it over HTTP, for a stream. */
  | { does: 'answer'; body: Buffer }
  /** What a later message continues, without an answer now. */
  | { does: 'prepare'; body: Buffer }
  /** Nothing: the client tells something. */
  | { does: 'nothing' };

export interface SocketDialect {
  /** Throws GatewayError `invalid_request` for what is no message of this protocol. */
  read(message: Buffer): SocketRequest;
  /** The message in front of an answer, for what its head says over HTTP; undefined: it has none. `client`: the client's own headers. */
  head(headers: readonly string[], client: ClientHeaders): string | undefined;
  /** The message for a frame of the answer's stream; undefined: it has none. */
  event(frame: Frame): string | undefined;
  /** The message that ends a request before its answer began. `headers`: those of the same error over HTTP, flat. */
  encodeError(error: GatewayError, requestId: string, headers: readonly string[]): string;
}
