// A change of what the page shows. Where somebody else changed it since, nothing is done, and an error says what it is now and who did that.
import { ApiError, get, getWithTag, write, type AuditRow, type Page } from '../api.ts';
import { auditName, auditWords } from '../../../store/admin/audit-words.ts';
import * as format from '../format.ts';

interface Shown<Item> {
  /** Of the item itself. */
  path: string;
  /** For a person. */
  title: string;
  /** Rows of the audit about it: the parameter by which they name it, its value, and their operations. */
  audited: { param: string; value: string; operations: readonly string[] };
  shown: Item;
  /** Members on which the choice rests. */
  members: readonly (keyof Item)[];
  /** What is different now, as half a sentence. */
  different: (now: Item) => string;
}

interface Change {
  method: 'POST' | 'PATCH' | 'DELETE';
  /** Below the path of the item. */
  below?: string;
  body?: object;
}

/** Members that do not matter for the choice may change in between. */
const MOST_TRIES = 4;

export async function changeShown<Value, Item>(of: Shown<Item>, change: Change): Promise<Value> {
  const { method, below = '', body } = change;
  for (let tries = 1; ; tries += 1) {
    const { value: now, tag } = await getWithTag<Item>(of.path).catch(async (error: unknown) => {
      if (!(error instanceof ApiError) || error.status !== 404) throw error;
      throw new Error(await sentence(of, 'it is not there any more'));
    });
    if (of.members.some((name) => JSON.stringify(now[name]) !== JSON.stringify(of.shown[name])))
      throw new Error(await sentence(of, of.different(now)));
    try {
      return await write<Value>(method, of.path + below, body, tag);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 412 || tries === MOST_TRIES) throw error;
    }
  }
}

async function sentence<Item>({ title, audited }: Shown<Item>, different: string): Promise<string> {
  const by = await lastChangeOf(audited).catch(() => undefined);
  const who =
    by === undefined
      ? ''
      : ` (${auditName(by.actor, by.names)}, ${by.address}, ${format.ago(by.at)}: ${auditWords(by.operation, by.detail, by.names)})`;
  return `Nothing was done: ${title} was changed meanwhile, ${different}${who}.`;
}

const MOST_ROWS = '200';

async function lastChangeOf({
  param,
  value,
  operations,
}: Shown<unknown>['audited']): Promise<AuditRow | undefined> {
  const { data } = await get<Page<AuditRow>>('/audit', { limit: MOST_ROWS });
  return data.find(
    ({ operation, detail, status }) =>
      operations.includes(operation) &&
      status !== null &&
      status < 300 &&
      (detail[param] === value || detail[`new_${param}`] === value),
  );
}
