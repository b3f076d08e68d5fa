// A provider's base URL, as an official SDK takes it: some SDKs want it with /v1, some without, so both are understood.

export type BaseUrl = { url: string } | { fault: string };

const RIGHT = 'write it as for an official SDK, like http://127.0.0.1:11434/v1';

/** Version included, no slash at the end. The fault never repeats the text: it may hold a password. */
export function normalizeBaseUrl(text: string): BaseUrl {
  if (!URL.canParse(text.trim())) return { fault: `is not a URL; ${RIGHT}` };
  const url = new URL(text.trim());
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return { fault: `is not an http or https URL; ${RIGHT}` };
  if (url.username !== '' || url.password !== '')
    return { fault: 'holds credentials; put them into api_key or headers' };
  if (url.search !== '' || url.hash !== '') return { fault: `has a query or a fragment; ${RIGHT}` };
  const path = url.pathname.replace(/\/+$/, '');
  const versioned = path.split('/').some((segment) => /^v\d/.test(segment));
  return { url: `${url.origin}${path}${versioned ? '' : '/v1'}` };
}
