// The headers of this protocol (the key, the version, the betas, the hourly limit with its reset as RFC 3339), and what else is known
// of it without its code, which only requests need.
import { GatewayError, type Admission } from '../../errors.ts';
import { withoutKeys } from '../../ids.ts';
import type { ClientHeaders, ForwardedHeaders, KeyHeader, ProtocolOutline } from '../interface/outline.ts';
import { API_KEY, BEARER } from '../shared/client.ts';

/** Known to be a date: to check one costs 1 µs. */
const USUAL_VERSION = '2023-06-01';
const VERSION_HEADERS = ['anthropic-version', 'provider-version'] as const;
const BETA_HEADER = 'anthropic-beta';
const OWN_PREFIX = 'anthropic-';
/** In the name of a header that holds a secret. */
const CREDENTIAL = /key|token|secret|auth|password|credential|cookie/;
/** The beginning of the beta that comes with `tags`. */
const REQUEST_TAGS = 'request-tags-';
/** Characters: all betas together are some hundred. */
const MOST_BETA = 8192;
/** The beginning of the beta that asks for the long window. */
const LONG_CONTEXT = 'context-1m-';

export const keyHeaders: readonly KeyHeader[] = [API_KEY, BEARER];

/** On a path that belongs to no protocol, a request with one of these headers comes from a client of this one. */
export const ownHeaders: readonly string[] = [API_KEY.name, ...VERSION_HEADERS];

function authHeaders(apiKey: string): string[] {
  return [API_KEY.name, apiKey];
}

/** Every provider requires it. */
const requestHeaders: readonly string[] = [VERSION_HEADERS[0], USUAL_VERSION];

/** Throws GatewayError `invalid_request` for a version that is no date, two that differ, and betas that are too long. */
export function forwardedHeaders(given: ClientHeaders, query: string): ForwardedHeaders {
  const beta = textOf(given[BETA_HEADER]);
  if (beta.length > MOST_BETA) {
    const message = `${BETA_HEADER}: is longer than ${MOST_BETA} characters`;
    throw new GatewayError('invalid_request', message, { param: BETA_HEADER });
  }
  const version = [VERSION_HEADERS[0], versionOf(given) ?? USUAL_VERSION];
  const forwarded: ForwardedHeaders = {
    headers: withBeta(version, beta),
    query: query === '?beta=true' ? query : '',
    longContext: beta.includes(LONG_CONTEXT),
  };
  if (beta.includes(REQUEST_TAGS)) forwarded.untagged = withBeta(version, withoutTags(beta));
  const further = furtherHeaders(given);
  if (further.length > 0) forwarded.further = further;
  return forwarded;
}

function withBeta(version: readonly string[], beta: string): readonly string[] {
  return beta === '' ? version : [...version, BETA_HEADER, beta];
}

function withoutTags(beta: string): string {
  const betas = beta.split(',').map((name) => name.trim());
  return betas.filter((name) => !name.startsWith(REQUEST_TAGS)).join(',');
}

/** What else programs tell the vendor, now and in versions to come. */
function furtherHeaders(given: ClientHeaders): string[] {
  const further: string[] = [];
  for (const name in given) {
    if (!name.startsWith(OWN_PREFIX) || name === VERSION_HEADERS[0] || name === BETA_HEADER) continue;
    const value = textOf(given[name]);
    if (value !== '' && !CREDENTIAL.test(name) && withoutKeys(value) === value) further.push(name, value);
  }
  return further;
}

function versionOf(headers: ClientHeaders): string | undefined {
  let version: string | undefined;
  for (const name of VERSION_HEADERS) {
    const text = textOf(headers[name]);
    if (text === '') continue;
    if (version !== undefined && version !== text) {
      const message = `${VERSION_HEADERS.join(' and ')} differ; send one of them`;
      throw new GatewayError('invalid_request', message, { param: VERSION_HEADERS[0] });
    }
    version ??= checked(text, name);
  }
  return version;
}

function checked(version: string, name: string): string {
  if (version === USUAL_VERSION || isDate(version)) return version;
  const message = `${name}: ${JSON.stringify(version.slice(0, 40))} is not a date such as ${USUAL_VERSION}`;
  throw new GatewayError('invalid_request', message, { param: name });
}

function textOf(value: string | string[] | undefined): string {
  return (Array.isArray(value) ? value.join(', ') : (value ?? '')).trim();
}

function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const time = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}

export function limitHeaders(admission: Admission): string[] {
  return [
    'anthropic-ratelimit-requests-limit',
    String(admission.limit),
    'anthropic-ratelimit-requests-remaining',
    String(Math.max(0, admission.limit - admission.used)),
    'anthropic-ratelimit-requests-reset',
    resetText(admission.resetsAt),
  ];
}

/** The hour's, written once: 1 µs otherwise. */
let written = { resetsAt: NaN, text: '' };

function resetText(resetsAt: number): string {
  if (written.resetsAt !== resetsAt) {
    written = { resetsAt, text: new Date(resetsAt).toISOString().replace(/\.\d+Z$/, 'Z') };
  }
  return written.text;
}

export const outline: ProtocolOutline = {
  path: '/messages',
  setup: {
    title: 'messages',
    base: '',
    baseVariable: 'ANTHROPIC_BASE_URL',
    keyVariable: 'ANTHROPIC_API_KEY',
  },
  hasServerTools: true,
  authHeaders,
  requestHeaders,
  firstModels: '?limit=1000',
};
