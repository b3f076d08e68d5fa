// What brakes have counted of conversations and of prompts; which conversations they stopped, and which ones people let go on.
import {
  type BrakeChanges,
  type BrakeQuestion,
  type BrakeReading,
  type BrakeStore,
  costOfUsage,
  promptKey,
  type Stopped,
} from '../../holds/brakes.ts';
import type { Connection } from '../connection.ts';
import { literal, type Row } from './own-client.ts';

/** What the transactions of admissions and settlements read: sums, then requests of prompts. The accounts are locked before. */
export function brakeStatements(question: BrakeQuestion | undefined): [string, string] {
  const sums = [...(question?.conversations ?? [])].map(
    ([id, accountId]) => `(${literal(id)}, ${accountId}::bigint)`,
  );
  const counts = [...(question?.prompts.values() ?? [])].map(
    ({ conversation, prompt }) => `(${literal(conversation)}, ${literal(prompt)})`,
  );
  return [
    sums.length === 0
      ? 'SELECT'
      : `SELECT asked.id, brakes.spent IS NOT NULL AS known, coalesce(brakes.spent, ${costOfUsage('asked.id')}) AS spent,
           coalesce(base, 0) AS base, allowed,
           (SELECT coalesce(sum(cost), 0) FROM holds
            WHERE holds.account_id = asked.account_id AND conversation = asked.id AND lapsed_at IS NULL) AS held
         FROM (VALUES ${sums.join(', ')}) AS asked (id, account_id) LEFT JOIN brakes ON brakes.id = asked.id`,
    counts.length === 0
      ? 'SELECT'
      : `SELECT conversation, prompt, requests FROM brake_prompts WHERE (conversation, prompt) IN (VALUES ${counts.join(', ')})`,
  ];
}

/** `rows`: of these statements. */
export function brakeReading([sums = [], counts = []]: Row[][]): BrakeReading {
  return {
    conversations: new Map(
      sums.flatMap((row) => {
        const { id, known, spent, held, base, allowed } = row;
        if (typeof id !== 'string') return [];
        const sum = { spent: Number(spent), held: Number(held), base: Number(base) };
        return [[id, { known: known === true, ...sum, allowed: allowed === null ? null : Number(allowed) }]];
      }),
    ),
    prompts: new Map(
      counts.flatMap(({ conversation, prompt, requests }) =>
        typeof conversation === 'string' && typeof prompt === 'string'
          ? [[promptKey(conversation, prompt), Number(requests)]]
          : [],
      ),
    ),
  };
}

export function brakeWrites({ conversations, prompts }: BrakeChanges, now: number): string[] {
  const sums = [...conversations]
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .map(
      ({ id, accountId, spent, base, allowed }) =>
        `(${literal(id)}, ${accountId}, ${spent}, ${base}, ${allowed ?? 'NULL::bigint'}, ${now})`,
    );
  const counts = prompts.map(
    ({ conversation, prompt, accountId, requests }) =>
      `(${literal(conversation)}, ${literal(prompt)}, ${accountId}, ${requests}, ${now})`,
  );
  return [
    ...(sums.length === 0
      ? []
      : [
          `INSERT INTO brakes (id, account_id, spent, base, allowed, at) VALUES ${sums.join(', ')}
           ON CONFLICT (id) DO UPDATE SET spent = excluded.spent, base = excluded.base, allowed = excluded.allowed, at = excluded.at`,
        ]),
    ...(counts.length === 0
      ? []
      : [
          `INSERT INTO brake_prompts (conversation, prompt, account_id, requests, at) VALUES ${counts.join(', ')}
           ON CONFLICT (conversation, prompt) DO UPDATE SET requests = excluded.requests, at = excluded.at`,
        ]),
  ];
}

/** What conversations cost more, in billionths of a dollar. */
export class BrakeSpending {
  readonly #costs = new Map<string, number>();

  add(conversation: string, cost: number): void {
    this.#costs.set(conversation, (this.#costs.get(conversation) ?? 0) + cost);
  }

  statements(now: number): string[] {
    if (this.#costs.size === 0) return [];
    const values = [...this.#costs].map(([id, cost]) => `(${literal(id)}, ${cost}::bigint)`).sort();
    return [
      `UPDATE brakes SET spent = spent + more.cost, at = greatest(at, ${now})
       FROM (VALUES ${values.join(', ')}) AS more (id, cost) WHERE brakes.id = more.id`,
    ];
  }
}

const FORGIVEN = { text: 'SELECT run_forgiven AS calls FROM brakes WHERE id = $1 AND run = $2' };
const STOP = {
  text: `INSERT INTO brakes AS b (id, account_id, base, stopped, stopped_at, run, run_calls, at)
    VALUES ($1, $2, 0, $3, $4, $5, $6, $4)
    ON CONFLICT (id) DO UPDATE SET stopped = excluded.stopped, stopped_at = excluded.stopped_at, at = excluded.at,
      run_forgiven = CASE WHEN excluded.run IS NULL OR excluded.run = b.run THEN b.run_forgiven END,
      run_calls = coalesce(excluded.run_calls, b.run_calls), run = coalesce(excluded.run, b.run)`,
};
const LIST = {
  text: `SELECT brakes.id AS conversation, account_id AS "accountId", accounts.name AS account, stopped AS brake, stopped_at AS at
    FROM brakes LEFT JOIN accounts ON accounts.id = account_id
    WHERE stopped IS NOT NULL AND ($1::bigint IS NULL OR stopped_at >= $1) AND ($2::bigint IS NULL OR account_id = $2)
      AND ($3::text IS NULL OR left(brakes.id, length($3)) = $3)
    ORDER BY stopped_at DESC LIMIT $4`,
};
const LOCK = { text: 'SELECT id FROM accounts WHERE id = $1 FOR NO KEY UPDATE' };
const GO_ON = {
  text: `INSERT INTO brakes AS b (id, account_id, spent, base, at) VALUES ($1, $2, ${costOfUsage('$1')}, 0, $3)
    ON CONFLICT (id) DO UPDATE SET spent = coalesce(b.spent, excluded.spent), run_forgiven = b.run_calls, stopped = NULL,
      stopped_at = NULL, at = excluded.at`,
};
const RENEW = {
  text: `UPDATE brakes SET base = CASE WHEN $2::bigint IS NULL THEN spent ELSE base END, allowed = spent + $2::bigint WHERE id = $1`,
};
const FORGET_PROMPTS = { text: 'DELETE FROM brake_prompts WHERE conversation = $1' };

export function createBrakes(connection: Connection): BrakeStore {
  return {
    forgivenCalls: async (conversation, run) =>
      (await connection.read<{ calls: number | null }>(FORGIVEN, conversation, run))[0]?.calls ?? 0,
    async noteStop({ conversation, accountId, brake, at, run }) {
      await connection.run(STOP, conversation, accountId, brake, at, run?.id ?? null, run?.calls ?? null);
    },
    listStops: ({ since, accountId, prefix, limit }) =>
      connection.read<Stopped>(LIST, since ?? null, accountId ?? null, prefix ?? null, limit),
    letGoOn: ({ id, accountId }, most, at) =>
      connection.transaction(async (session) => {
        await session.run(LOCK, accountId);
        await session.run(GO_ON, id, accountId, at);
        await session.run(RENEW, id, most ?? null);
        await session.run(FORGET_PROMPTS, id);
      }),
  };
}
