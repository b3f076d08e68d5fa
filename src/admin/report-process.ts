// The process that makes one report: reads an order from its input, writes a line about the outcome and then the report.
import { createHash } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { databaseExists, openStore } from '../store/open.ts';
import { StoreError } from '../store/store.ts';
import { makeReport, type Order, type Outcome } from './reports.ts';

async function run({ database, query }: Order): Promise<string> {
  // Opening a file that is gone would create it.
  if (!databaseExists(database)) throw new StoreError('unavailable', 'the database is gone');
  const store = await openStore(database);
  try {
    return await makeReport(query, store);
  } finally {
    await store.close();
  }
}

function write(outcome: Outcome, report = ''): void {
  process.stdout.write(`${JSON.stringify(outcome)}\n${report}`);
}

async function main(): Promise<void> {
  try {
    const report = await run(JSON.parse(await text(process.stdin)) as Order);
    write({ digest: createHash('sha256').update(report).digest('base64') }, report);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    write({ fault: error.kind, message: error.message });
  }
}

void main();
