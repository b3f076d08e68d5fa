// The log record of a finished request. Never a key or a body.
import type { Logger } from '../log.ts';
import { type FinishedTrace, loggedId, type Observer } from '../gateway/trace.ts';
import { totalInput } from '../canonical/reply.ts';

export function createRequestLog(log: Logger): Observer {
  return {
    finished(trace) {
      const { error } = trace.outcome;
      if (error === null || error === 'client_closed') log.info('answered', fieldsOf(trace));
      else log.warn('failed', fieldsOf(trace));
    },
  };
}

function fieldsOf(trace: FinishedTrace) {
  const { key, contact, outcome, estimatedInput } = trace;
  const { usage } = outcome;
  return {
    request: trace.requestId,
    account: key.account,
    key: key.id,
    endpoint: trace.endpoint,
    model: trace.modelAsked,
    target: contact?.target.key,
    stream: trace.streamed,
    status: outcome.status,
    error: outcome.error ?? undefined,
    input: usage === undefined ? estimatedInput : totalInput(usage),
    output: usage?.output,
    estimated: estimatedInput === undefined ? undefined : true,
    first_byte_ms: trace.firstByteMs === null ? undefined : Math.round(trace.firstByteMs),
    ms: Math.round(trace.durationMs),
    attempts: trace.attempts > 1 ? trace.attempts : undefined,
    provider_key: contact?.providerKey?.number,
    upstream_id: loggedId(trace.upstreamId, trace),
    reply_id: trace.outcome.replyIds?.ours,
    upstream_reply_id: loggedId(trace.outcome.replyIds?.theirs, trace),
    dropped: listOf(contact?.dropped),
    changed: listOf(contact?.changed),
    lost: outcome.lost,
    repaired: outcome.repaired,
  };
}

/** Fields of the client that one record names. */
const MAX_NAMED = 50;

function listOf(names: readonly string[] = []): readonly string[] | undefined {
  if (names.length <= MAX_NAMED) return names.length === 0 ? undefined : names;
  return [...names.slice(0, MAX_NAMED), `… and ${names.length - MAX_NAMED} more`];
}
