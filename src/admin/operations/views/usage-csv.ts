// Reports of usage as CSV (RFC 4180): a row for each group, with the names of the JSON as its head.
import type { AccountUsage, PrintedTotals, summarizeUsage } from '../../../accounts/usage-report.ts';

type Row = Record<string, string | number | null>;

export const summaryCsv = ({ groups }: Awaited<ReturnType<typeof summarizeUsage>>): string =>
  csvOf(groups.map(({ group, totals }) => ({ ...group, ...columnsOf(totals) })));

/** A row for each account, or for each group of each account. */
export const usageCsv = (accounts: readonly AccountUsage[]): string =>
  csvOf(
    accounts.flatMap(({ account, tier, totals, by }): Row[] => {
      if (by === undefined) return [{ account, tier, ...columnsOf(totals) }];
      return by.map(({ totals: own, ...group }) => ({ ...(group as Row), account, tier, ...columnsOf(own) }));
    }),
  );

function columnsOf({ first_byte_ms: firstByte, ...totals }: PrintedTotals): Row {
  return { ...totals, first_byte_ms_p50: firstByte?.p50 ?? null, first_byte_ms_p95: firstByte?.p95 ?? null };
}

function csvOf(rows: readonly Row[]): string {
  const head = Object.keys(rows[0] ?? {});
  const lines = [head, ...rows.map((row) => head.map((name) => row[name] ?? null))];
  return lines.map((cells) => `${cells.map(cellOf).join(',')}\r\n`).join('');
}

/** Spreadsheets take a text that begins with one of these for a formula; clients choose names. */
const FORMULA = /^[=+\-@\t\r]/;

function cellOf(value: string | number | null): string {
  const text = String(value ?? '');
  const safe = typeof value === 'string' && FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
