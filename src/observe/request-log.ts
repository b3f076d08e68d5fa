// Writes one log record for each admitted request, when it is over.
import { totalInput } from '../canonical/usage.ts';
import type { FinishedTrace, Observer } from '../gateway/trace.ts';
import type { Logger } from '../log.ts';

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
    upstream_id: trace.upstreamId,
    reply_id: trace.replyIds?.ours,
    upstream_reply_id: trace.replyIds?.theirs,
    dropped: listOf(contact?.dropped),
    changed: listOf(contact?.changed),
    lost: outcome.lost,
  };
}

/** Fields of the client that one record names. */
const MAX_NAMED = 50;

function listOf(names: readonly string[] = []): readonly string[] | undefined {
  if (names.length <= MAX_NAMED) return names.length === 0 ? undefined : names;
  return [...names.slice(0, MAX_NAMED), `… and ${names.length - MAX_NAMED} more`];
}
