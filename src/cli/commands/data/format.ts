// The file of `gateway export`: JSON lines. The first line names the format, the last one holds the counts; between them stands one
// record a line, with the members of StoredRecord in snake case.
import { SOURCES } from '../../../store/rows.ts';
import type { StoredRecord } from '../../../store/store.ts';
import { USAGE_COLUMNS } from '../../../store/usage-columns.ts';
import { CliError } from '../../../cli-error.ts';
import { createOwners, MEMBERS } from './members.ts';

const VERSION = 1;

export type Counts = Record<StoredRecord['type'], number>;

export const noCounts = (): Counts => ({
  account: 0,
  removed_account: 0,
  key: 0,
  sign_in_token: 0,
  grant: 0,
  spending: 0,
  brake: 0,
  brake_prompt: 0,
  work: 0,
  hour: 0,
  usage: 0,
});

/** Members of a record, and of its line. */
const columnsOf = (type: StoredRecord['type']): [member: string, name: string][] =>
  Object.entries(SOURCES[type].columns);

/** The lines of an export. `counts` grows with them. */
export async function* exportLines(
  batches: AsyncIterable<readonly StoredRecord[]>,
  head: { created_at: string; gateway: string },
  counts: Counts,
): AsyncGenerator<string> {
  yield `${JSON.stringify({ type: 'export', version: VERSION, ...head })}\n`;
  for await (const batch of batches) yield batch.map((record) => lineOf(record, counts)).join('');
  yield `${JSON.stringify({ type: 'end', counts })}\n`;
}

function lineOf(record: StoredRecord, counts: Counts): string {
  counts[record.type] += 1;
  const line: Record<string, unknown> = { type: record.type };
  const members = new Map<string, unknown>(Object.entries(record));
  for (const [member, name] of columnsOf(record.type)) line[name] = members.get(member);
  return `${JSON.stringify(line)}\n`;
}

const BATCH = 1000;
/** By column of usage that is not nullable. */
const OLDER = new Map(USAGE_COLUMNS.map(({ name, older }) => [name, older]));

/** Columns of keys that an older gateway does not export. */
const NEWER_OF_KEYS: ReadonlySet<string> = new Set(['usage_label', 'native', 'origin']);

/** What a person does with a file that is no export. */
const ANOTHER = 'name a file that gateway export wrote';

/** The records of a file, in batches. `name`: the file in messages. Throws CliError at the first line that is not right. */
export async function* importedRecords(
  lines: AsyncIterable<string>,
  name: string,
  counts: Counts,
): AsyncGenerator<StoredRecord[]> {
  const owners = createOwners();
  let batch: StoredRecord[] = [];
  let at = 0;
  let ended = false;
  for await (const line of lines) {
    at += 1;
    const fault = (what: string): CliError => new CliError(`${name}:${at}: ${what}; nothing was imported`);
    const value = parsed(line, fault);
    if (ended) throw fault('a line after the end');
    if (at === 1) checkHead(value, fault);
    else if (value['type'] === 'end') {
      checkCounts(value['counts'], counts, fault);
      ended = true;
    } else {
      const record = recordOf(value, fault);
      const ownerFault = owners.fault(record);
      if (ownerFault !== undefined) throw fault(ownerFault);
      counts[record.type] += 1;
      batch.push(record);
    }
    if (batch.length === BATCH) {
      yield batch;
      batch = [];
    }
  }
  if (!ended)
    throw new CliError(
      at === 0
        ? `${name} is empty; ${ANOTHER}; nothing was imported`
        : `${name} ends early: its last line, which holds the counts, is missing; export again; nothing was imported`,
    );
  if (batch.length > 0) yield batch;
}

type Fault = (what: string) => CliError;

function parsed(line: string, fault: Fault): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {
    // The message of the parser would show a part of the line.
  }
  throw fault(`not a JSON object; ${ANOTHER}`);
}

function checkHead(head: Record<string, unknown>, fault: Fault): void {
  if (head['type'] !== 'export') throw fault(`not a file of gateway export; ${ANOTHER}`);
  if (head['version'] !== VERSION)
    throw fault(`version ${JSON.stringify(head['version'])} is not known to this gateway; use a newer one`);
}

function checkCounts(stated: unknown, counts: Counts, fault: Fault): void {
  const found = JSON.stringify(counts);
  if (JSON.stringify({ ...noCounts(), ...(stated as object) }) !== found)
    throw fault(`the counts ${JSON.stringify(stated)} are not those of the lines: ${found}`);
}

function recordOf(line: Record<string, unknown>, fault: Fault): StoredRecord {
  const type = String(line['type']);
  const members = Object.hasOwn(MEMBERS, type) ? MEMBERS[type as StoredRecord['type']] : undefined;
  if (members === undefined) throw fault(`unknown type ${JSON.stringify(line['type'])}`);
  const record: Record<string, unknown> = { type };
  for (const [member, name] of columnsOf(type as StoredRecord['type'])) {
    const rule = members[name];
    // A column may be newer than the gateway that wrote the file. Of a key, null may mean every model, or no end.
    const value =
      type === 'usage' || NEWER_OF_KEYS.has(name) ? (line[name] ?? OLDER.get(name) ?? null) : line[name];
    if (rule?.fits(value) !== true)
      throw fault(`${type}.${name} is missing or not right: ${rule?.right ?? 'nothing'} is expected`);
    record[member] = value;
  }
  return record as unknown as StoredRecord;
}
