// Chat's headers: those that carry a key, and those that show the account's hourly limit. None of a client's is meant for a provider.
import type { KeyHeader } from '../protocol.ts';
import { API_KEY, BEARER } from '../shared/client.ts';

export {
  bearerHeaders as authHeaders,
  noneForwarded as forwardedHeaders,
  requestLimitHeaders as limitHeaders,
} from '../shared/client.ts';

export const keyHeaders: readonly KeyHeader[] = [BEARER, API_KEY];
