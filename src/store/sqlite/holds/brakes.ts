// What brakes have counted of conversations and of prompts; which conversations they stopped, and which ones people let go on.
import {
  type BrakeChanges,
  type BrakeQuestion,
  type BrakeReading,
  type BrakeStore,
  type ConversationSum,
  costOfUsage,
  PROMPTS_KEPT_MS,
  type Stop,
  type Stopped,
  type StopQuery,
} from '../../holds/brakes.ts';
import type { Connection } from '../connection.ts';
import type { Db } from '../driver.ts';

type SumRow = Omit<ConversationSum, 'known'> & { known: number };

/** What the transactions of admissions and settlements read and write. */
export function prepareBrakeCounts(db: Db) {
  const sum = db.prepare<[{ id: string; account: number }], SumRow>(
    `SELECT brakes.spent IS NOT NULL AS known, coalesce(brakes.spent, ${costOfUsage('@id')}) AS spent,
       coalesce(base, 0) AS base, allowed,
       (SELECT coalesce(sum(cost), 0) FROM holds
        WHERE account_id = @account AND conversation = @id AND lapsed_at IS NULL) AS held
     FROM (SELECT 1) LEFT JOIN brakes ON brakes.id = @id`,
  );
  const requests = db
    .prepare<[conversation: string, prompt: string], number>(
      'SELECT requests FROM brake_prompts WHERE conversation = ? AND prompt = ?',
    )
    .pluck();
  const setSum = db.prepare<[string, number, number, number, number | null, number]>(
    `INSERT INTO brakes (id, account_id, spent, base, allowed, at) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET spent = excluded.spent, base = excluded.base, allowed = excluded.allowed, at = excluded.at`,
  );
  const setPrompt = db.prepare<[string, string, number, number, number]>(
    `INSERT INTO brake_prompts (conversation, prompt, account_id, requests, at) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET requests = excluded.requests, at = excluded.at`,
  );
  const spend = db.prepare<[cost: number, at: number, id: string]>(
    'UPDATE brakes SET spent = spent + ?, at = max(at, ?) WHERE id = ?',
  );
  return {
    read({ conversations, prompts }: BrakeQuestion): BrakeReading {
      const sums = [...conversations].map(([id, account]): [string, ConversationSum] => {
        const { known = 0, ...row } = sum.get({ id, account }) ?? {
          spent: 0,
          held: 0,
          base: 0,
          allowed: null,
        };
        return [id, { known: known === 1, ...row }];
      });
      const counts = [...prompts].map(([key, { conversation, prompt }]): [string, number] => [
        key,
        requests.get(conversation, prompt) ?? 0,
      ]);
      return { conversations: new Map(sums), prompts: new Map(counts) };
    },
    write({ conversations, prompts }: BrakeChanges, now: number): void {
      for (const { id, accountId, spent, base, allowed } of conversations)
        setSum.run(id, accountId, spent, base, allowed, now);
      for (const { conversation, prompt, accountId, requests: count } of prompts)
        setPrompt.run(conversation, prompt, accountId, count, now);
    },
    spend: (conversation: string, cost: number, now: number): void => void spend.run(cost, now, conversation),
  };
}

type StopValues = [string, number, string, number, string | null, number | null, number];

export function prepareBrakes(db: Db) {
  const forgiven = db
    .prepare<[id: string, run: string], number | null>(
      'SELECT run_forgiven FROM brakes WHERE id = ? AND run = ?',
    )
    .pluck();
  const stop = db.prepare<StopValues>(
    `INSERT INTO brakes (id, account_id, base, stopped, stopped_at, run, run_calls, at) VALUES (?, ?, 0, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET stopped = excluded.stopped, stopped_at = excluded.stopped_at, at = excluded.at,
       run_forgiven = iif(excluded.run IS NULL OR excluded.run = run, run_forgiven, NULL),
       run_calls = coalesce(excluded.run_calls, run_calls), run = coalesce(excluded.run, run)`,
  );
  const list = db.prepare<[StopValuesOfList], Stopped>(
    `SELECT brakes.id AS conversation, account_id AS accountId, accounts.name AS account, stopped AS brake, stopped_at AS at
     FROM brakes LEFT JOIN accounts ON accounts.id = account_id
     WHERE stopped IS NOT NULL AND (@since IS NULL OR stopped_at >= @since)
       AND (@account IS NULL OR account_id = @account) AND (@prefix IS NULL OR substr(brakes.id, 1, length(@prefix)) = @prefix)
     ORDER BY stopped_at DESC LIMIT @limit`,
  );
  const goOn = db.prepare<[{ id: string; account: number; most: number | null; at: number }]>(
    `INSERT INTO brakes (id, account_id, spent, base, at) VALUES (@id, @account, ${costOfUsage('@id')}, 0, @at)
     ON CONFLICT DO UPDATE SET spent = coalesce(spent, excluded.spent), run_forgiven = run_calls, stopped = NULL,
       stopped_at = NULL, at = excluded.at`,
  );
  const renew = db.prepare<[{ id: string; most: number | null }]>(
    'UPDATE brakes SET base = iif(@most IS NULL, spent, base), allowed = spent + @most WHERE id = @id',
  );
  const forgetPrompts = db.prepare<[conversation: string]>(
    'DELETE FROM brake_prompts WHERE conversation = ?',
  );
  const letGoOn = db.transaction((id: string, account: number, most: number | null, at: number): void => {
    goOn.run({ id, account, most, at });
    renew.run({ id, most });
    forgetPrompts.run(id);
  });
  const pruneSums = db.prepare<[before: number, most: number]>(
    'DELETE FROM brakes WHERE id IN (SELECT id FROM brakes WHERE at < ? LIMIT ?)',
  );
  const prunePrompts = db.prepare<[before: number, most: number]>(
    `DELETE FROM brake_prompts WHERE (conversation, prompt) IN
       (SELECT conversation, prompt FROM brake_prompts WHERE at < ? LIMIT ?)`,
  );
  return {
    forgivenCalls: (conversation: string, run: string): number => forgiven.get(conversation, run) ?? 0,
    noteStop({ conversation, accountId, brake, at, run }: Stop): void {
      stop.run(conversation, accountId, brake, at, run?.id ?? null, run?.calls ?? null, at);
    },
    listStops: ({ prefix, since, accountId, limit }: StopQuery): Stopped[] =>
      list.all({ prefix: prefix ?? null, since: since ?? null, account: accountId ?? null, limit }),
    letGoOn: (id: string, account: number, most: number | null, at: number): void =>
      letGoOn.immediate(id, account, most, at),
    /** Returns whether there may be more. */
    prune: (now: number, keep: number, most: number): boolean =>
      pruneSums.run(now - keep, most).changes + prunePrompts.run(now - PROMPTS_KEPT_MS, most).changes >= most,
  };
}

interface StopValuesOfList {
  prefix: string | null;
  since: number | null;
  account: number | null;
  limit: number;
}

export function brakesOf({
  run,
}: Pick<Connection<{ brakes: ReturnType<typeof prepareBrakes> }>, 'run'>): BrakeStore {
  return {
    forgivenCalls: (conversation, calls) => run(({ brakes }) => brakes.forgivenCalls(conversation, calls)),
    noteStop: (stop) => run(({ brakes }) => brakes.noteStop(stop)),
    listStops: (query) => run(({ brakes }) => brakes.listStops(query)),
    letGoOn: ({ id, accountId }, most, at) =>
      run(({ brakes }) => brakes.letGoOn(id, accountId, most ?? null, at)),
  };
}
