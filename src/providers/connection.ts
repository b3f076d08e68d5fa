// Connections to providers: their sockets skip interim heads, it is known of one that broke whether it had served a reply before,
// and errors of undici and Node become failures: the message for people, the reason for the log.
import { descriptorsLeft, isExhaustion } from '../descriptors.ts';
import type { ProviderFailure } from '../errors.ts';
import { ProxyFailed } from './network/proxy.ts';
import type { buildConnector } from 'undici';
import type { Socket } from 'node:net';

/** Whether a connection that broke had served a reply before: undici reports the bytes that a failed socket had read. */
export function reusedConnectionClosed(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, socket } = error as { code?: string; socket?: { bytesRead?: number } };
  if (code === 'UND_ERR_SOCKET') return (socket?.bytesRead ?? 0) > 0;
  return brokeAfterUse.has(error);
}

/** Errors of sockets that had read bytes before: undici forwards the system's error, which does not say so. */
const brokeAfterUse = new WeakSet<Error>();

/** The connector with its sockets prepared. */
export function preparing(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) => {
    connect(options, (...connected) => {
      const [failed, socket] = connected;
      if (failed === null) {
        skipContinue(socket);
        socket.prependListener('error', (error: Error) => {
          if (socket.bytesRead > 0) brokeAfterUse.add(error);
        });
      }
      callback(...connected);
    });
  };
}

const STARTS = ['HTTP/1.1 100', 'HTTP/1.0 100'];
/** undici's own limits apply to a longer head. */
const MOST_BYTES = 16 * 1024;

/**
 * Takes `100 Continue` out of the socket before undici reads: some servers send it although no request expects it; HTTP lets a
 * client ignore it, but undici ends the connection. To be called before undici listens to `socket`. Later replies of a connection are
 * checked only if the first had such a head, since a server that sends one sends it for every request.
 */
function skipContinue(socket: Socket): void {
  let held: Buffer | undefined;
  let found = false;
  /** Bytes written when the head of the last reply was read: more mean that another reply is due. */
  let answered = -1;

  function look(): void {
    if (socket.bytesWritten === answered) return;
    // Since Node 26, `read()` without a size gives one chunk of what is buffered.
    const read = socket.read(socket.readableLength) as Buffer | null;
    if (read === null) return;
    let bytes = held === undefined ? read : Buffer.concat([held, read]);
    held = undefined;
    for (;;) {
      if (!mayBeContinue(bytes)) break;
      const end = bytes.indexOf('\r\n\r\n');
      if (end < 0 && bytes.length < MOST_BYTES) {
        held = bytes;
        return;
      }
      if (end < 0) break;
      found = true;
      bytes = bytes.subarray(end + 4);
    }
    if (bytes.length === 0) return;
    answered = socket.bytesWritten;
    if (!found) socket.off('readable', look);
    socket.unshift(bytes);
  }

  socket.on('readable', look);
}

/** True also if the bytes end before it is clear. */
function mayBeContinue(bytes: Buffer): boolean {
  if (bytes.length === 0) return false;
  const start = bytes.toString('latin1', 0, 12);
  return STARTS.some((known) => known.startsWith(start));
}

const REASONS: Record<string, string> = {
  ECONNREFUSED: 'refused',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
  UND_ERR_SOCKET: 'reset',
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  ETIMEDOUT: 'connect_timeout',
  UND_ERR_CONNECT_TIMEOUT: 'connect_timeout',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'truncated',
};

const MESSAGES: Record<string, string> = {
  refused: 'the provider refused the connection',
  reset: 'the connection to the provider broke',
  dns: 'the name of the provider could not be resolved',
  unreachable: 'the provider is not reachable',
  tls: "the provider's certificate could not be verified: if a company or you signed it, `ca` of the provider names a file of certificates to trust",
  connect_timeout: 'the provider did not take the connection in time',
  truncated: "the provider's answer ended too early",
  http: 'the provider did not answer with proper HTTP',
  http2: 'the provider speaks HTTP/2 alone, which the gateway does not: name an address that speaks HTTP/1.1',
};

const EXHAUSTED: ProviderFailure = {
  kind: 'exhausted',
  message: 'the gateway may open no more connections (ulimit -n raises that)',
  reason: 'descriptors',
};

export function connectionError(error: Error, replied: boolean): ProviderFailure {
  if (error instanceof ProxyFailed) return proxyFailure(error);
  const { code = '' } = error as { code?: string };
  const inner =
    error instanceof AggregateError ? (error.errors[0] as { code?: string } | undefined)?.code : '';
  let reason = REASONS[code] ?? REASONS[inner ?? ''];
  if (reason === undefined) {
    if (speaksHttp2(error, code)) reason = 'http2';
    else if (/CERT|TLS|SSL|EPROTO|SELF_SIGNED|UNABLE_TO/.test(code)) reason = 'tls';
    else reason = isUnreadable(error, code) ? 'http' : 'reset';
  }
  // Looking up a name needs descriptors, too: without any, the name is reported as not found.
  if (isExhaustion(error) || (reason === 'dns' && !descriptorsLeft())) return EXHAUSTED;
  if (replied && reason === 'reset') reason = 'truncated';
  return {
    kind: reason === 'connect_timeout' ? 'timeout' : 'failed',
    message: MESSAGES[reason] ?? 'the connection to the provider failed',
    reason,
  };
}

/** A server without HTTP/1.1 refuses the only protocol that TLS offers to it, or starts with a SETTINGS frame. */
function speaksHttp2(error: Error, code: string): boolean {
  if (code === 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL') return true;
  const { data, rawPacket } = error as { data?: unknown; rawPacket?: Buffer };
  const read = data ?? rawPacket?.toString('latin1');
  return isUnreadable(error, code) && typeof read === 'string' && SETTINGS_FRAME.test(read);
}

/** What was read is no HTTP/1.1, as undici or Node's client says it. */
const isUnreadable = (error: Error, code: string): boolean =>
  error.name === 'HTTPParserError' || code.startsWith('HPE_');

/** Three bytes of length, the type 4, no flags, stream 0. */
// eslint-disable-next-line no-control-regex -- a frame of HTTP/2 begins with control bytes
const SETTINGS_FRAME = /^\0\0.\x04\0\0\0\0\0/s;

function proxyFailure({ place, status, refusal, cause }: ProxyFailed): ProviderFailure {
  if (status === 407) {
    // Not written as a URL: redaction would take out what stands before its @.
    const message = `the proxy wants a user name and a password: put USER:PASSWORD@ before its host in ${place.name}`;
    return { kind: 'failed', message, reason: 'proxy_auth' };
  }
  if (status !== undefined)
    return { kind: 'failed', message: `the proxy answered ${status} to CONNECT`, reason: 'proxy' };
  if (refusal !== undefined) return { kind: 'failed', message: `the proxy ${refusal}`, reason: 'proxy' };
  const { kind, reason } = connectionError(cause instanceof Error ? cause : new Error('unknown'), false);
  return {
    kind,
    message: `the proxy that ${place.name} names failed (${reason ?? kind}): ${place.mend}`,
    reason: 'proxy',
  };
}
