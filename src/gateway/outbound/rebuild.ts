// Builds a request for the next target, or again for the same one: without what the provider refused, with less output.
import { LEAST_OUTPUT, type ProviderFailure, GatewayError } from '../../errors.ts';
import { authHeaders } from '../../protocols/outlines.ts';
import { redact } from '../../providers/redact.ts';
import type { Target } from '../../routing/catalog.ts';
import type { HealthTicket } from '../../routing/state/health.ts';
import type { KeyUse } from '../../routing/state/provider-keys.ts';
import { type Asking, passOver, figuresOf } from './asking.ts';
import { type BuildOptions, type BuiltRequest, buildRequest } from './build-request.ts';
import type { RequestFigures } from './fallback-error.ts';

/** The same request with this key of its provider, which has several. */
export function keyed(request: BuiltRequest, providerKey: KeyUse): BuiltRequest {
  const { target, protocol, headers } = request;
  const { apiKey, auth } = target.provider;
  const [name, value] = authHeaders({ apiKey, auth }, protocol.name);
  const [, own = ''] = authHeaders({ apiKey: providerKey.key, auth }, protocol.name);
  if (value === own) return { ...request, providerKey };
  const at = headers.findIndex(
    (each, index) => index % 2 === 0 && each === name && headers[index + 1] === value,
  );
  return { ...request, providerKey, headers: at < 0 ? headers : headers.with(at + 1, own) };
}

/** The same request as the provider's error says that it can be answered; undefined: the error says nothing of that kind. */
export function changedFor(
  failure: ProviderFailure,
  request: BuiltRequest,
  health: HealthTicket,
  asking: Asking,
): BuiltRequest | undefined {
  try {
    if (failure.reason === REFUSED_THINKING) return withoutThinking(failure, request, asking);
    const room = request.crossing ? outputRoom(failure, figuresOf(asking)) : undefined;
    return room === undefined ? undefined : buildNext(asking, request.target, { room });
  } catch (error) {
    health.abandoned();
    throw error;
  }
}

const REFUSED_THINKING: ProviderFailure['reason'] = 'signature';

/** Without the thinking of earlier turns; undefined if they have none. */
function withoutThinking(
  failure: ProviderFailure,
  { target, bytes }: BuiltRequest,
  asking: Asking,
): BuiltRequest | undefined {
  const next = buildNext(asking, { ...target, withoutThinking: 'refused' });
  if (next === undefined || next.bytes.equals(bytes)) return undefined;
  asking.deps.log.warn('a provider refused thinking of earlier turns; asked again without it', {
    request: asking.trace.requestId,
    target: target.key,
    message: redact(failure.message, target.provider),
  });
  return next;
}

/** Undefined if the target can't take the request: it is skipped. */
export function buildNext(
  asking: Asking,
  target: Target,
  { build = asking.options.build, room }: { build?: BuildOptions; room?: number } = {},
): BuiltRequest | undefined {
  try {
    return buildRequest(asking.options.inbound, target, build, room);
  } catch (error) {
    if (error instanceof GatewayError) return passOver(target, error.message, asking);
    throw error;
  }
}

/** The estimate may be too small by this factor. */
const ESTIMATE_MARGIN = 1.25;

/**
 * The tokens of output that fit where a provider refused input and output together. Messages demands a limit of output, so that
 * clients ask for more than they need; a translated request is sent once more with what fits. Undefined if something else was
 * wrong, or if hardly any tokens are left.
 */
function outputRoom(
  { tokens = {} }: ProviderFailure,
  { estimate }: Pick<RequestFigures, 'estimate'>,
): number | undefined {
  const { sent, limit, output, atLeast = false } = tokens;
  if (limit === undefined || output === undefined) return undefined;
  const input =
    sent === undefined || atLeast ? Math.max(sent ?? 0, Math.ceil(estimate() * ESTIMATE_MARGIN)) : sent;
  const room = limit - input;
  return room < LEAST_OUTPUT || room >= output ? undefined : room;
}
