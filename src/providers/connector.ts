// Connecting to a provider, so that later it can be told whether a connection that broke had served before.
import type { buildConnector } from 'undici';
import { skipContinue } from './interim.ts';
import { joinSmallPieces } from '../write-batch.ts';

/** undici tells how many bytes a failed socket had read before: more than none means that it had served a reply. */
export function reusedConnectionClosed(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, socket } = error as { code?: string; socket?: { bytesRead?: number } };
  if (code === 'UND_ERR_SOCKET') return (socket?.bytesRead ?? 0) > 0;
  return brokeAfterUse.has(error);
}

/** Errors of sockets that had read something before: undici hands on the system's own error, which does not tell. */
const brokeAfterUse = new WeakSet<Error>();

/** The same connector, whose connections are watched as this file and interim.ts need it. */
export function watched(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) => {
    connect(options, (...connected) => {
      const [failed, socket] = connected;
      if (failed === null) {
        skipContinue(socket);
        joinSmallPieces(socket);
        socket.prependListener('error', (error: Error) => {
          if (socket.bytesRead > 0) brokeAfterUse.add(error);
        });
      }
      callback(...connected);
    });
  };
}
