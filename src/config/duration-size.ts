// Durations and sizes as people write them, for the file and for the command line alike.

const DURATION_UNITS: Readonly<Record<string, number>> = {
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

/** Milliseconds of `500ms 10s 2m 24h 30d 1w 1y`, of several (`1h30m`), or of a plain whole number; undefined where it is none of them. */
export function parseDuration(value: string | number): number | undefined {
  return parseQuantity(value, DURATION_UNITS) ?? parseCompound(value);
}

/** The larger unit first, each once: `1h30m`. */
function parseCompound(value: string | number): number | undefined {
  if (typeof value === 'number' || !/^\s*(?:\d{1,16}\s*[A-Za-z]+\s*){2,7}$/.test(value)) return undefined;
  let total = 0;
  let last = Infinity;
  for (const [, digits = '', unit = ''] of value.matchAll(/(\d+)\s*([A-Za-z]+)/g)) {
    const factor = Object.hasOwn(DURATION_UNITS, unit.toLowerCase())
      ? DURATION_UNITS[unit.toLowerCase()]
      : undefined;
    if (factor === undefined || factor >= last) return undefined;
    last = factor;
    total += Number(digits) * factor;
  }
  return Number.isSafeInteger(total) ? total : undefined;
}

/** Bytes of `64KB 32MiB` (thousands, and 1,024s) or of a plain whole number; undefined where it is none of them. */
export function parseSize(value: string | number): number | undefined {
  return parseQuantity(value, SIZE_UNITS);
}

/** A whole number of at least 0, as a number or as its digits. */
export function parseWhole(value: unknown): number | undefined {
  return typeof value === 'number' || typeof value === 'string' ? parseQuantity(value, {}) : undefined;
}

function parseQuantity(value: string | number, units: Readonly<Record<string, number>>): number | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? value : undefined;
  const [, digits, unit] = /^\s*(\d{1,16})\s*([A-Za-z]*)\s*$/.exec(value) ?? [];
  if (digits === undefined || unit === undefined) return undefined;
  const factor = unit === '' ? 1 : units[unit.toLowerCase()];
  const total = factor === undefined ? NaN : Number(digits) * factor;
  return Number.isSafeInteger(total) ? total : undefined;
}
