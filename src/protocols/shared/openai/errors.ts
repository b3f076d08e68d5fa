// The error object that chat and responses share: its members, and the type and code of each kind of error where both protocols have
// the same. What their clients act on differently stands in the protocol's own `errors.ts`.
// https://platform.openai.com/docs/guides/error-codes
import type { JsonObject, JsonValue } from '../../../canonical/json.ts';
import type { ErrorKind, GatewayError, ProviderFailure } from '../../../errors.ts';

export interface ErrorWords {
  type: string;
  code: string | null;
}

export const SHARED_ERRORS = {
  invalid_request: { type: 'invalid_request_error', code: null },
  model_not_found: { type: 'invalid_request_error', code: 'model_not_found' },
  context_overflow: { type: 'invalid_request_error', code: 'context_length_exceeded' },
  unauthenticated: { type: 'authentication_error', code: 'invalid_api_key' },
  forbidden_permission: { type: 'permission_error', code: 'insufficient_permissions' },
  forbidden_host: { type: 'permission_error', code: 'insufficient_permissions' },
  not_found: { type: 'invalid_request_error', code: 'not_found' },
  method_not_allowed: { type: 'invalid_request_error', code: 'method_not_allowed' },
  rate_limited: { type: 'rate_limit_error', code: 'rate_limit_exceeded' },
} as const satisfies Partial<Record<ErrorKind, ErrorWords>>;

export interface OpenAiError extends JsonObject {
  message: string;
  type: string;
  param: string | null;
  code: string | null;
}

/** The words after which agents of the chat and responses protocols begin to compact their history. */
function overflowMessage(message: string, tokens: ProviderFailure['tokens']): string {
  const { sent, limit, output } = tokens ?? {};
  if (sent === undefined || limit === undefined) return message;
  const most = `This model's maximum context length is ${limit} tokens.`;
  if (output === undefined) return `${most} However, your messages resulted in ${sent} tokens.`;
  return `${most} However, you requested ${sent + output} tokens (${sent} in the messages, ${output} in the completion).`;
}

/** `open`: a provider's own code may take the place of the table's. */
export function openAiError(error: GatewayError, { type, code }: ErrorWords, open: boolean): OpenAiError {
  const { kind, message, options } = error;
  return {
    message: kind === 'context_overflow' ? overflowMessage(message, options.tokens) : message,
    type,
    param: options.param ?? null,
    code: open ? (options.code ?? code) : code,
  };
}

/** The body of an error answer. */
export function errorBody(wire: OpenAiError, { options }: GatewayError): JsonObject {
  const { details, failedGeneration } = options;
  if (details !== undefined) wire.details = details as JsonValue;
  if (failedGeneration !== undefined) wire.failed_generation = failedGeneration;
  return { error: wire };
}
