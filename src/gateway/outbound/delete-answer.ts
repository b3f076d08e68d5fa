// Deletes an answer at the provider that keeps it: what a client deletes must not live on there.
import type { Cancellation } from '../../cancellation.ts';
import { providerUrl } from '../../providers/url.ts';
import type { ProviderConfig } from '../../config/config.ts';
import { FailureError, GatewayError, type ProviderFailure } from '../../errors.ts';
import type { Protocol } from '../../protocols/interface/protocol.ts';
import type { ProviderClient } from '../../providers/client.ts';
import { readBody } from '../../providers/reply-body.ts';
import { ClientGone } from '../exchange.ts';
import { headersFor } from './build-request.ts';
import { redact } from '../../providers/redact.ts';

const TIMEOUT_MS = 15_000;
const MOST_REPLY = 64 * 1024;
/** It is gone already. */
const GONE: ReadonlySet<number> = new Set([404, 410]);

interface AnswerAtProvider {
  id: string;
  protocol: Protocol;
  provider: ProviderConfig;
  cancellation: Cancellation;
}

/** Rejects with GatewayError `upstream` if the provider does not say that the answer is gone. */
export async function deleteAtProvider(
  { id, protocol, provider, cancellation }: AnswerAtProvider,
  client: ProviderClient,
): Promise<void> {
  if (provider.baseUrls[protocol.name] === undefined)
    throw notDeleted(provider, `it speaks ${protocol.name} no more`);
  const failure = await ask(
    providerUrl(provider, {
      protocol: protocol.name,
      path: `${protocol.provider.path}/${encodeURIComponent(id)}`,
    }),
  );
  if (failure !== undefined) throw notDeleted(provider, failure.message);

  async function ask(url: string): Promise<ProviderFailure | undefined> {
    try {
      const reply = await client.open(
        {
          url,
          method: 'DELETE',
          headers: headersFor(provider, protocol.name, false),
          stream: false,
          timeout: { ...provider.timeout, whole: TIMEOUT_MS },
          network: provider.network,
        },
        cancellation,
      );
      const body = await readBody(reply.body, MOST_REPLY);
      const { status } = reply;
      if ((status >= 200 && status < 300) || GONE.has(status)) return undefined;
      return protocol.provider.decodeError(status, reply.headers(), body.toString('utf8'));
    } catch (error) {
      if (error instanceof ClientGone || error instanceof GatewayError) throw error;
      if (error instanceof FailureError) return error.failure;
      throw error;
    }
  }
}

function notDeleted(provider: ProviderConfig, why: string): GatewayError {
  const message = `${provider.name} did not delete the answer, so it is kept here too; try again (${redact(why, provider)})`;
  return new GatewayError('upstream', message);
}
