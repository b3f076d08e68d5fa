// The headers of this protocol: who a request comes from, what of a client's goes on, and the account's hour.
import type { Admission, ClientHeaders, ForwardedHeaders, KeyHeader } from '../protocol.ts';
import { API_KEY, BEARER } from '../shared/key-headers.ts';

export const keyHeaders: readonly KeyHeader[] = [BEARER, API_KEY];

export function authHeaders(apiKey: string): string[] {
  return ['authorization', `Bearer ${apiKey}`];
}

export function forwardedHeaders(_given: ClientHeaders, _query: string): ForwardedHeaders {
  return { headers: [], query: '', longContext: false };
}

export function limitHeaders(_admission: Admission, _now: number): string[] {
  return [];
}
