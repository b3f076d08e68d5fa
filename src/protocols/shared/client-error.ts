// What clients of several protocols read of a failure in the same words.
import { GatewayError, type ErrorKind, type FailureKind, type ProviderFailure } from '../../errors.ts';

/** The words after which agents of the chat and responses protocols begin to compact their history. */
export function overflowMessage(message: string, tokens: ProviderFailure['tokens']): string {
  const { sent, limit, output } = tokens ?? {};
  if (sent === undefined || limit === undefined) return message;
  const most = `This model's maximum context length is ${limit} tokens.`;
  if (output === undefined) return `${most} However, your messages resulted in ${sent} tokens.`;
  return `${most} However, you requested ${sent + output} tokens (${sent} in the messages, ${output} in the completion).`;
}

const KIND_TO_CLIENT = {
  invalid_request: 'invalid_request',
  context_overflow: 'context_overflow',
  provider_key: 'upstream',
  billing: 'upstream',
  not_found: 'model_not_found',
  too_large: 'invalid_request',
  rate_limited: 'unavailable',
  overloaded: 'unavailable',
  exhausted: 'unavailable',
  timeout: 'upstream',
  failed: 'upstream',
} as const satisfies Record<FailureKind, ErrorKind>;

/** The client's error of a provider's failure that nobody judged. */
export function gatewayErrorOf({ kind, message, param, code, tokens }: ProviderFailure): GatewayError {
  return new GatewayError(KIND_TO_CLIENT[kind], message, { param, code, tokens });
}
