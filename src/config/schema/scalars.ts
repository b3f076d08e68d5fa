// Rules for single values of a configuration file: which values are valid, and the message for an invalid one. schema.ts says
// which key has which rule.
import { isIP } from 'node:net';

/** One kind of value. The message of a fault is `wrong; right`. It never repeats the value, which may be a secret. */
export interface Rule<T> {
  wrong: string;
  right: string;
  /** Returns undefined for an invalid value. */
  read: (value: unknown) => T | undefined;
}

/** The longest delay of a timer (2^31 - 1 ms). A longer one would fire at once. */
const MAX_TIMER = 2_147_483_647;
/** The longest string of the runtime. */
const MAX_BYTES = 512 * 1024 * 1024;

export function text(wrong: string, right: string, pattern: RegExp): Rule<string> {
  return {
    wrong,
    right,
    read: (value) => (typeof value === 'string' && pattern.test(value) ? value : undefined),
  };
}

export function choice<const T extends string>(...values: readonly T[]): Rule<T> {
  return {
    wrong: 'is not a known choice',
    right: `write ${values.join(' or ')}`,
    read: (value) => values.find((known) => known === value),
  };
}

/** `auto`, or a truth value. */
export const AUTO_OR_TRUTH: Rule<'auto' | boolean> = {
  wrong: 'is not a known choice',
  right: 'write auto, true or false',
  read: (value) => (value === 'auto' ? value : TRUTH.read(value)),
};

/** Accepts text too, because `${NAME}` inserts text. */
export const TRUTH: Rule<boolean> = {
  wrong: 'is neither true nor false',
  right: 'write one of them',
  read(value) {
    if (typeof value === 'boolean') return value;
    return value === 'true' ? true : value === 'false' ? false : undefined;
  },
};

export function whole(what: string, min: number, max = Number.MAX_SAFE_INTEGER): Rule<number> {
  const range = max === Number.MAX_SAFE_INTEGER ? `of ${min} or more` : `from ${min} to ${max}`;
  return {
    wrong: `is not ${what}`,
    right: `write a whole number ${range}`,
    read: (value) => within(parseWhole(value), min, max),
  };
}

/** A duration for a timer: `min` to 24 days. */
export function duration(min: 0 | 1): Rule<number> {
  return {
    wrong: 'is not a duration that fits here',
    right: `write one like 500ms, 10s or 2m, or whole milliseconds (${min === 1 ? 'more than 0, ' : ''}24d at most)`,
    read: (value) => within(quantity(parseDuration, value), min, MAX_TIMER),
  };
}

export const KEEP: Rule<number> = {
  wrong: 'is not a duration',
  right: 'write one like 24h or 90d, or whole milliseconds',
  read: (value) => quantity(parseDuration, value),
};

export const SIZE: Rule<number> = {
  wrong: 'is not a size that fits here',
  right: 'write one like 64KB or 32MiB, or whole bytes (512MiB at most)',
  read: (value) => within(quantity(parseSize, value), 1, MAX_BYTES),
};

export const PRICE: Rule<number> = {
  wrong: 'is not a price',
  right: 'write USD per million tokens, 0 or more',
  read: (value) => (typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined),
};

/** A host to listen on. Brackets around an IPv6 address are removed. */
export const HOST: Rule<string> = {
  wrong: 'is not a host',
  right: 'write an address or a name without a port, like 127.0.0.1 or "::1"',
  read(value) {
    if (typeof value !== 'string') return undefined;
    const host = value.trim().replace(/^\[(.*)\]$/, '$1');
    const named = /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(host) && !/^[\d.]+$/.test(host);
    return named || isIP(host) !== 0 ? host : undefined;
  },
};

export const HOST_NAME = text(
  'is not a host name',
  'write it without a scheme or a port, like gateway.example.com',
  /^([A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_])?|\[?[0-9A-Fa-f:.]+\]?)$/,
);

const WEB = /^https?:$/;

/** As a browser sends it; that of an application is its own scheme (`app://obsidian.md`). */
export const ORIGIN: Rule<string> = {
  wrong: 'is not an origin',
  right:
    'write each one in full, like https://app.example.com or http://localhost:3000, without a path or a pattern',
  read(value) {
    if (typeof value !== 'string' || !/^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@*\\]+\/?$/i.test(value))
      return undefined;
    if (!URL.canParse(value)) return undefined;
    const { protocol, origin } = new URL(value);
    return WEB.test(protocol) ? origin : value.replace(/\/$/, '').toLowerCase();
  },
};

/** Where clients sign in: of a proxy with TLS. */
export const PUBLIC_URL: Rule<string> = {
  wrong: 'is not the address of a proxy with TLS',
  right: 'write its origin, like https://gateway.example.com, without a path',
  read(value) {
    const origin = ORIGIN.read(value);
    return origin?.startsWith('https://') === true ? origin : undefined;
  },
};

/** A part of a host's name. */
export const REGION = text(
  'is not a region',
  'write one like eu-central-1',
  /^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/,
);

export const DATABASE = text(
  'is not a database',
  'write a file (relative to this one) or postgres://…',
  /\S/,
);

export const URL_TEXT = text('is not text', 'write a URL, as for an official SDK', /\S/);

const SPANS_PATH = '/v1/traces';

/** The address of a collector, as OTEL_EXPORTER_OTLP_ENDPOINT takes it: the path of spans is added. */
export const COLLECTOR: Rule<string> = {
  wrong: 'is not the URL of a collector',
  right: 'write one like http://127.0.0.1:4318; secrets belong into OTEL_EXPORTER_OTLP_HEADERS',
  read(value) {
    if (typeof value !== 'string' || !URL.canParse(value.trim())) return undefined;
    const { protocol, origin, pathname, username, password, search, hash } = new URL(value.trim());
    if (!/^https?:$/.test(protocol) || username + password + search + hash !== '') return undefined;
    const path = pathname.replace(/\/+$/, '');
    return origin + (path.endsWith(SPANS_PATH) ? path : path + SPANS_PATH);
  },
};

/** Where alerts are sent. Its path may be a secret; a password in it would be sent as a header that `secret` stands for. */
export const RECEIVER: Rule<string> = {
  wrong: 'is not the URL of a receiver of alerts',
  right: 'write one like https://alerts.example.com/gateway',
  read(value) {
    if (typeof value !== 'string' || !/^\s*https?:\/\//i.test(value) || !URL.canParse(value.trim()))
      return undefined;
    const { href, username, password, hash } = new URL(value.trim());
    return username + password + hash === '' ? href : undefined;
  },
};

/** A name that a client may put in `model`: visible ASCII without a comma, which separates the names of a list. */
export const MODEL_NAME_PATTERN = /^[!-+\--~]{1,256}$/;
export const MODEL_NAME = text(
  'is not a name of a model',
  'write visible ASCII without spaces or commas, in quotes if it looks like a number',
  MODEL_NAME_PATTERN,
);
export const UPSTREAM = text(
  'is not a name of a model',
  "write the provider's name for it, in quotes if it looks like a number",
  /^[^\p{Cc}]{1,512}$/u,
);
/** The tier without a limit. */
/** As `gateway keys create` takes it. */
export const ACCOUNT = text(
  'is not the name of an account',
  'write 1 to 128 visible characters, without a space at either end',
  /^(?! )[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]{1,128}(?<! )$/u,
);

export const UNLIMITED = 'unlimited';
/** load.ts checks that the tier exists. */
export const TIER: Rule<string> = {
  wrong: 'is not a tier',
  right: 'write the name of one',
  read: (value) => (typeof value === 'string' || typeof value === 'number' ? String(value) : undefined),
};
export const TARGET = text('is not a target', 'write provider/model', /^[^/\s]+\/\S+$/);

export const HEADER_VALUE = text(
  'is not text that can be in a header',
  'write it in quotes, on one line',
  /^[\t\x20-\x7e\x80-\xff]*$/,
);

const PROXY_SCHEMES = new Set(['http:', 'https:', 'socks5:', 'socks5h:']);

/** The URL of a proxy, or `off`. Both kinds of socks5 leave the name of the provider to the proxy. */
export const PROXY: Rule<string> = {
  wrong: 'is not a proxy',
  right: 'write http://, https:// or socks5:// with HOST:PORT (USER:PASSWORD@ before it), or off',
  read(value) {
    if (value === 'off' || value === false) return 'off';
    if (typeof value !== 'string' || !URL.canParse(value.trim())) return undefined;
    const url = new URL(value.trim());
    const isBare = url.search + url.hash === '' && ['', '/'].includes(url.pathname);
    const isReadable = !/%(?![\da-f]{2})/i.test(url.username + url.password);
    const isKnown = PROXY_SCHEMES.has(url.protocol) && url.hostname !== '';
    return isKnown && isBare && isReadable ? url.href : undefined;
  },
};

export const FOLDER = text('is not a folder', 'write its path (relative to this file)', /\S/);
export const FILE = text('is not a file', 'write its path (relative to this file)', /\S/);

/** The key becomes the value of a header: spaces around it are removed, control characters inside are invalid. */
export const API_KEY: Rule<string> = {
  wrong: 'is not a key',
  right: 'write ${NAME} of the environment variable that holds it, or the key as text',
  read(value) {
    const key = typeof value === 'string' ? value.trim() : '';
    return /^[\x21-\x7e]+$/.test(key) ? key : undefined;
  },
};

export const SECRET: Rule<string> = {
  ...API_KEY,
  wrong: 'is not a secret that can be in a header',
  right: 'write ${NAME} of the environment variable that holds it',
};

/** Headers that the gateway or the connection writes; another value would break the request. */
const OWN_HEADERS =
  /^(host|connection|keep-alive|upgrade|te|trailer|expect|transfer-encoding|content-(length|type|encoding)|accept-encoding|proxy-.*)$/;

/** The fault of a header's name (given in lower case); undefined: valid. */
export function headerNameFault(name: string): string | undefined {
  if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name))
    return 'is not a name of a header; write letters, digits and hyphens';
  if (OWN_HEADERS.test(name)) return 'is a header that the gateway writes itself; leave it out';
  return undefined;
}

function quantity(parse: (value: string | number) => number | undefined, value: unknown): number | undefined {
  return typeof value === 'string' || typeof value === 'number' ? parse(value) : undefined;
}

function within(value: number | undefined, min: number, max: number): number | undefined {
  return value !== undefined && value >= min && value <= max ? value : undefined;
}

// Durations and sizes, in the forms that the file and the command line accept.

export const DURATION_UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
  y: 365 * 86_400_000,
};

const SIZE_UNITS: Readonly<Record<string, number>> = {
  b: 1,
  kb: 1000,
  mb: 1000 ** 2,
  gb: 1000 ** 3,
  kib: 1024,
  mib: 1024 ** 2,
  gib: 1024 ** 3,
};

/** Milliseconds of `500ms`, `10s`, `2m`, `24h`, `30d`, `1w`, `1y`, of a sum such as `1h30m`, or of a plain whole number.
 *  undefined: not a duration. */
export function parseDuration(value: string | number): number | undefined {
  return parseQuantity(value, durationFactor) ?? parseCompound(value);
}

/** `M` may mean minutes or months. */
function durationFactor(unit: string): number | undefined {
  const name = unit.toLowerCase();
  return unit !== 'M' && Object.hasOwn(DURATION_UNITS, name) ? DURATION_UNITS[name] : undefined;
}

/** Several units, the largest first, each once: `1h30m`. */
function parseCompound(value: string | number): number | undefined {
  if (typeof value === 'number' || !/^\s*(?:\d{1,16}\s*[A-Za-z]+\s*){2,7}$/.test(value)) return undefined;
  let total = 0;
  let last = Infinity;
  for (const [, digits = '', unit = ''] of value.matchAll(/(\d+)\s*([A-Za-z]+)/g)) {
    const factor = durationFactor(unit);
    if (factor === undefined || factor >= last) return undefined;
    last = factor;
    total += Number(digits) * factor;
  }
  return Number.isSafeInteger(total) ? total : undefined;
}

/** Bytes of `64KB` (thousands), of `32MiB` (units of 1,024), or of a plain whole number. undefined: not a size. */
export function parseSize(value: string | number): number | undefined {
  return parseQuantity(value, (unit) => SIZE_UNITS[unit.toLowerCase()]);
}

/** A whole number of at least 0, as a number or as its digits. */
export function parseWhole(value: unknown): number | undefined {
  return typeof value === 'number' || typeof value === 'string'
    ? parseQuantity(value, () => undefined)
    : undefined;
}

function parseQuantity(
  value: string | number,
  factorOf: (unit: string) => number | undefined,
): number | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? value : undefined;
  const [, digits, unit] = /^\s*(\d{1,16})\s*([A-Za-z]*)\s*$/.exec(value) ?? [];
  if (digits === undefined || unit === undefined) return undefined;
  const factor = unit === '' ? 1 : factorOf(unit);
  const total = factor === undefined ? NaN : Number(digits) * factor;
  return Number.isSafeInteger(total) ? total : undefined;
}
