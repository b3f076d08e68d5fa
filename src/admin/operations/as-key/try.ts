// The operation with which the owner tries a model as a key: through the same line as every request, and nothing of it is kept but its
// row of usage.
import { z } from 'zod';
import { requestJson } from '../../../accounts/request-json.ts';
import { isValid } from '../../../accounts/terms.ts';
import { PROTOCOL_NAMES, type GenerationRequest, type ProtocolName } from '../../../canonical/request.ts';
import { DEFAULT_TRAITS } from '../../../canonical/traits.ts';
import type { GatewayError } from '../../../errors.ts';
import type { FinishedTrace } from '../../../gateway/trace.ts';
import { usageRow } from '../../../observe/records.ts';
import { protocols } from '../../../protocols/registry.ts';
import type { Key } from '../../../store/store.ts';
import { ANSWERED, operation, type AdminParts, type Operation } from '../../operation.ts';
import { Problem } from '../../reply.ts';
import { anyName } from '../../schemas.ts';
import { AnswerEvents } from './answer-events.ts';
import { KeyExchange } from './key-exchange.ts';

/** The longest prompt fits the largest body of a write, whatever its characters. */
const tryText = z.string().max(8000);
const Try = z.strictObject({
  model: z.string().min(1).max(256),
  prompt: tryText.min(1),
  system: tryText.optional().meta({ description: 'Instructions before the prompt' }),
  protocol: z
    .enum(PROTOCOL_NAMES)
    .optional()
    .meta({ description: 'As a client of this protocol; default: the first one that the key may use' }),
  max_output: z.int().min(1).max(100_000).default(1024).meta({ description: 'Tokens of the answer at most' }),
});
export const tryOperations: readonly Operation[] = [
  operation({
    id: 'tryKey',
    method: 'POST',
    path: '/keys/{id}/try',
    tag: 'keys',
    summary:
      'Send a prompt as a key: admitted, counted and recorded as any request of it; neither prompt nor answer is kept. Server-Sent Events: ' +
      '`head` (headers), `text`, `thinking`, `stop`, `error`, `end` (the request, as readRequest has it). Closing the connection ends it',
    params: z.object({ id: anyName }),
    body: Try,
    unrecorded: ['prompt', 'system'],
    replyType: 'text/event-stream',
    reply: z.string(),
    problems: [404, 409, 502],
    async run({ params, body }, parts, { exchange }) {
      const key = await findKey(params.id, parts);
      const protocol = body.protocol ?? firstPermitted(key);
      const { client, provider } = protocols[protocol];
      // Nothing is known of the target yet: the line fits the body to it.
      const sink = new AnswerEvents(
        exchange.sink,
        provider.createStreamDecoder({ ids: parts.ids, traits: DEFAULT_TRAITS }),
      );
      const asked = new KeyExchange(exchange, {
        ...{ key, sink, path: client.path },
        body: provider.encodeRequest(requestOf(body, protocol), body.model, DEFAULT_TRAITS).body,
      });
      let request: object | null = null;
      await parts.askAsKey(protocol, asked, (trace) => (request = endedJson(trace)));
      const { failure } = asked;
      if (failure !== undefined && !sink.opened) throw refusal(failure);
      const error = failure && ([['error', { code: failure.kind, message: failure.message }]] as const);
      sink.finish([...(error ?? []), ['end', { request }]]);
      return ANSWERED;
    },
  }),
];

/** Throws Problem 404 and 409. */
export async function findKey(id: string, { store, clock }: AdminParts): Promise<Key> {
  const key = await store.findKeyById(id);
  if (key === undefined) throw new Problem(404, 'unknown_key', 'no key has this ID');
  if (!isValid(key, clock.now())) throw new Problem(409, 'key_not_valid', 'the key is revoked or expired');
  return key;
}

/** Of a key that may use none of them, the first: the line says what is missing. */
function firstPermitted({ permissions }: Key): ProtocolName {
  const first = PROTOCOL_NAMES.find((name) => permissions.includes(protocols[name].permission));
  return first ?? PROTOCOL_NAMES[0];
}

function requestOf(
  { model, prompt, system, max_output: maxOutputTokens }: z.output<typeof Try>,
  protocol: ProtocolName,
): GenerationRequest {
  const text = (words: string) => [{ type: 'text' as const, text: words }];
  return {
    protocol,
    model,
    stream: true,
    includeUsage: true,
    messages: [
      ...(system === undefined || system === '' ? [] : [{ role: 'system' as const, parts: text(system) }]),
      { role: 'user', parts: text(prompt) },
    ],
    maxOutputTokens,
    native: [],
  };
}

export const endedJson = (trace: FinishedTrace) =>
  requestJson({ ...usageRow(trace), account: trace.key.account });

/** The status is the one that a client gets; 401 would say that the page's own session is over. */
function refusal({ status, kind, message, options }: GatewayError): Problem {
  const { retryAfter } = options;
  const headers = retryAfter === undefined ? [] : ['retry-after', String(retryAfter)];
  return new Problem(status === 401 ? 409 : status, kind, message, { headers });
}
