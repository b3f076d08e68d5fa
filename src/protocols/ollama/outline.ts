// The headers of Ollama's clients, and what else is known of them. They send no key; who has one of this gateway sends it as to the
// other protocols.
import type { KeyHeader } from '../interface/outline.ts';
import { API_KEY, BEARER } from '../shared/client.ts';

export const keyHeaders: readonly KeyHeader[] = [BEARER, API_KEY];

/** Before the paths of its endpoints. */
export const BELOW = '/api';

export const setup = {
  title: 'Ollama',
  base: '',
  baseVariable: 'OLLAMA_HOST',
  keyVariable: 'OLLAMA_API_KEY',
};

/** The version of Ollama whose API this is: clients refuse old ones, and this one gives calls their ids. */
export const VERSION = '0.13.0';
