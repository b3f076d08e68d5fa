// What undici's and Node's errors of a connection mean: the words for people, the reason for the log.
import type { ProviderFailure } from '../errors.ts';

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
  tls: "the provider's certificate could not be verified",
  connect_timeout: 'the provider did not take the connection in time',
  truncated: "the provider's answer ended too early",
  http: 'the provider did not answer with proper HTTP',
};

export function connectionFailure(error: Error, replied: boolean): ProviderFailure {
  const { code = '' } = error as { code?: string };
  const inner =
    error instanceof AggregateError ? (error.errors[0] as { code?: string } | undefined)?.code : '';
  let reason = REASONS[code] ?? REASONS[inner ?? ''];
  if (reason === undefined) {
    if (/CERT|TLS|SSL|EPROTO|SELF_SIGNED|UNABLE_TO/.test(code)) reason = 'tls';
    else reason = error.name === 'HTTPParserError' ? 'http' : 'reset';
  }
  if (replied && reason === 'reset') reason = 'truncated';
  return {
    kind: reason === 'connect_timeout' ? 'timeout' : 'failed',
    message: MESSAGES[reason] ?? 'the connection to the provider failed',
    reason,
  };
}
