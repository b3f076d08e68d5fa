// The base URL of a provider as people have it: from an official SDK's settings, from a server's start, or copied with its endpoint.
import type { ProtocolName } from '../../canonical/request.ts';

type BaseUrl = { urlFor: (protocol: ProtocolName) => string } | { fault: string };

const RIGHT = 'write it as for an official SDK, like http://127.0.0.1:11434/v1';
const ENDPOINT = /\/(?:chat\/completions|completions|embeddings|messages(?:\/count_tokens)?|responses)$/;
const VERSION = /\/v\d[^/]*(?:\/|$)/;

/**
 * An empty path gets `/v1`, a path stays, a whole endpoint is cut. The messages SDKs put `/v1` behind whatever they are given: for them a
 * path without a version gets it, too. The fault never repeats the text, which may hold a password.
 */
export function readBaseUrl(text: string): BaseUrl {
  if (!URL.canParse(text.trim())) return { fault: `is not a URL; ${RIGHT}` };
  const url = new URL(text.trim());
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return { fault: `is not an http or https URL; ${RIGHT}` };
  if (url.username !== '' || url.password !== '')
    return { fault: 'holds credentials; put them into api_key or headers' };
  if (url.search !== '' || url.hash !== '') return { fault: `has a query or a fragment; ${RIGHT}` };
  const given = url.pathname.replace(/\/+$/, '');
  const path = given.replace(ENDPOINT, '');
  const isComplete = path !== given || VERSION.test(path);
  return {
    urlFor: (protocol) => {
      const isBare = path === '' || protocol === 'messages';
      return `${url.origin}${path}${isBare && !isComplete ? '/v1' : ''}`;
    },
  };
}
