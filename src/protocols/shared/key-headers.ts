// The two headers in which clients send a key: every endpoint takes both, each protocol's own first.
import type { KeyHeader } from '../protocol.ts';

export const BEARER: KeyHeader = { name: 'authorization', bearer: true, shown: 'Authorization: Bearer KEY' };
export const API_KEY: KeyHeader = { name: 'x-api-key', bearer: false, shown: 'x-api-key: KEY' };
