// Reports of usage. A large one is up to seconds of work without a pause, so a process of its own makes it, and requests and streams
// are not delayed (docs/decisions/0021).
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import {
  readUsage,
  summarizeUsage,
  type AccountUsage,
  type Window as UsageWindow,
} from '../accounts/usage-report.ts';
import { conversationPage } from './operations/views/conversation-page.ts';
import { summaryCsv, usageCsv } from './operations/views/usage-csv.ts';
import {
  type ConversationReader,
  type ConversationsQuery,
  type FoundConversation,
  readConversation,
} from '../accounts/conversation-report.ts';
import type { Cancellation } from '../cancellation.ts';
import { HOUR_MS } from '../clock.ts';
import type { UsageReader } from '../accounts/usage-report.ts';
import { StoreError, type Account, type Grouping, type StoreFault } from '../store/store.ts';
import type { Report } from './reply.ts';
import { createTurns, type Asker } from './turns.ts';

type Window = Omit<UsageWindow, 'dayOf'>;

interface UsageQuery {
  window: Window;
  /** Whose usage is listed. `limit` null: no limit. */
  accounts: readonly { account: Account; limit: number | null }[];
}

interface SummaryQuery {
  window: Window & { by: Grouping };
}

/** A report as JSON can carry it to the process. */
export type ReportQuery =
  | ({ format: Format } & (({ report: 'usage' } & UsageQuery) | ({ report: 'summary' } & SummaryQuery)))
  | ({ report: 'conversations' } & ConversationsQuery)
  | { report: 'conversation'; found: FoundConversation };

export const FORMATS = ['json', 'csv'] as const;
type Format = (typeof FORMATS)[number];

type ReportReader = UsageReader & ConversationReader;

/** What the process reads. `database` may hold a password, so it is no argument. */
export interface Order {
  database: string;
  query: ReportQuery;
}

/** The first line that the process writes. Without an error, the report follows. */
export type Outcome = { digest: string } | { fault: StoreFault; message: string };

async function listUsage({ window, accounts }: UsageQuery, store: UsageReader): Promise<AccountUsage[]> {
  const describe = await readUsage(window, store);
  return accounts.map(({ account, limit }) => describe(account, limit ?? Infinity));
}

/** The text of the answer. */
export async function makeReport(query: ReportQuery, store: ReportReader): Promise<string> {
  switch (query.report) {
    case 'usage': {
      const data = await listUsage(query, store);
      return query.format === 'csv' ? usageCsv(data) : JSON.stringify({ data, next: null });
    }
    case 'summary': {
      const summary = await summarizeUsage(query.window, store);
      return query.format === 'csv' ? summaryCsv(summary) : JSON.stringify(summary);
    }
    case 'conversations':
      return JSON.stringify(await conversationPage(query, store));
    case 'conversation':
      return JSON.stringify(await readConversation(query.found, store));
  }
}

/** The gateway itself reads so many requests for a report of conversations, in about 10 ms. */
export const MOST_READ = 2000;

/** The gateway itself makes a report of so many sums, in about 30 ms. */
const MOST_SUMS = 1000;

/** `accounts`: all that the database has. Each has a sum an hour. */
export function isLarge({ since, until, now }: Window, accounts: number): boolean {
  return (((until ?? now) - since) / HOUR_MS) * accounts > MOST_SUMS;
}

export interface Reports {
  /** Rejects with StoreError, with Problem 429, and with the reason of the cancellation. */
  make(query: ReportQuery, asker: Asker, cancellation: Cancellation): Promise<Report>;
}

export function createReports(database: () => string): Reports {
  const turns = createTurns();
  return {
    make: (query, asker, cancellation) =>
      turns.take(asker, cancellation, () => makeApart({ database: database(), query }, cancellation)),
  };
}

/** The same path relative to src/admin and to dist/cli. */
const SCRIPT = fileURLToPath(new URL('../../dist/cli/report-process.cjs', import.meta.url));
const MOST_SHOWN = 1000;

function makeApart(order: Order, cancellation: Cancellation): Promise<Report> {
  return new Promise((resolve, reject) => {
    if (cancellation.reason !== undefined) {
      reject(cancellation.reason);
      return;
    }
    const child = spawn(process.execPath, [SCRIPT], { windowsHide: true });
    const stop = (): void => void child.kill('SIGKILL');
    cancellation.subscribe(stop);
    const written: Buffer[] = [];
    let complaint = '';
    child.stdout.on('data', (bytes: Buffer) => written.push(bytes));
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      complaint = (complaint + text).slice(0, MOST_SHOWN);
    });
    child.on('error', reject);
    child.on('close', (code, signal) => {
      cancellation.unsubscribe(stop);
      if (cancellation.reason !== undefined) reject(cancellation.reason);
      else if (code === 0) settle(Buffer.concat(written), resolve, reject);
      else reject(new Error(`the process of a report ended with ${code ?? signal}: ${complaint}`));
    });
    // A process that ends early reads nothing.
    child.stdin.on('error', () => undefined);
    child.stdin.end(JSON.stringify(order));
  });
}

function settle(written: Buffer, resolve: (report: Report) => void, reject: (error: Error) => void): void {
  const end = written.indexOf('\n');
  const outcome = JSON.parse(written.toString('utf8', 0, end)) as Outcome;
  if ('fault' in outcome) reject(new StoreError(outcome.fault, outcome.message));
  else resolve({ text: written.subarray(end + 1), digest: outcome.digest });
}
