// The tables of limits of tokens and money, of brakes, of notices, of work, and of refusals. Steps of ../migrations.ts: one that was released never changes.

// `spending`: sums by hour (kind 0) and by day (1); money in billionths of a dollar; `estimated_…` is a part. Usage rows that were
// `settled` are in it already. `holds`: of requests under way, by the process that holds them; `lapsed_at`: settled as estimated, since
// the process seemed gone. `holders`: these processes, each until its lease ends.
export const LIMITS = `
  CREATE TABLE spending (
    account_id INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    start INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    fresh INTEGER NOT NULL,
    cost INTEGER NOT NULL,
    estimated_tokens INTEGER NOT NULL,
    estimated_fresh INTEGER NOT NULL,
    estimated_cost INTEGER NOT NULL,
    unpriced INTEGER NOT NULL,
    PRIMARY KEY (account_id, kind, start)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE holds (
    account_id INTEGER NOT NULL,
    holder INTEGER NOT NULL,
    number INTEGER NOT NULL,
    at INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    cost INTEGER NOT NULL,
    lapsed_at INTEGER,
    PRIMARY KEY (account_id, holder, number)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE holders (
    id INTEGER PRIMARY KEY,
    address TEXT NOT NULL,
    pid INTEGER NOT NULL,
    until INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE grants (
    id TEXT PRIMARY KEY,
    account_id INTEGER NOT NULL,
    kind TEXT NOT NULL,
    amount INTEGER NOT NULL,
    until INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
  ) STRICT;
  CREATE INDEX grants_account ON grants (account_id);
  ALTER TABLE usage ADD COLUMN settled INTEGER NOT NULL DEFAULT 0;
  INSERT INTO spending
  SELECT account_id, kind, at - at % iif(kind = 0, 3600000, 86400000), sum(input + output),
    sum(input - cache_read + output), round(total(cost_usd) * 1000000000), 0, 0, 0, sum(unpriced)
  FROM (
    SELECT account_id, at, input, cache_read, output, cost_usd, unpriced FROM usage_sums WHERE kind = 1
    UNION ALL
    SELECT account_id, at, input + coalesce(cache_read, 0) + coalesce(cache_write, 0), coalesce(cache_read, 0), output,
      coalesce(cost_usd, 0), cost_usd IS NULL
    FROM usage
    WHERE id > (SELECT id FROM usage_summed) AND input IS NOT NULL AND output IS NOT NULL
  ) AS known, (SELECT 0 AS kind UNION ALL SELECT 1)
  WHERE at >= (SELECT coalesce(max(at), 0) FROM usage) - 62 * 86400000
  GROUP BY 1, 2, 3;
`;

// `brakes`: conversations with a sum or a stop. `spent`: what a conversation cost, once a brake asked for it; `base`: how much of that was
// there when counting began; `allowed`: up to which sum a person let it go on. `run`: the repeated call by which it was stopped, how often it
// had come then, and how much of that a person let go on. `brake_prompts`: requests of each prompt.
export const BRAKES = `
  CREATE TABLE brakes (
    id TEXT PRIMARY KEY,
    account_id INTEGER NOT NULL,
    spent INTEGER,
    base INTEGER NOT NULL,
    allowed INTEGER,
    stopped TEXT,
    stopped_at INTEGER,
    run TEXT,
    run_calls INTEGER,
    run_forgiven INTEGER,
    at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX brakes_stopped ON brakes (stopped_at) WHERE stopped IS NOT NULL;
  CREATE INDEX brakes_account ON brakes (account_id);
  CREATE TABLE brake_prompts (
    conversation TEXT NOT NULL,
    prompt TEXT NOT NULL,
    account_id INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (conversation, prompt)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX brake_prompts_account ON brake_prompts (account_id);
  ALTER TABLE holds ADD COLUMN conversation TEXT;
`;

/** Which window of a limit people were told of. */
export const NOTICES = `
  CREATE TABLE notices (
    account_id INTEGER NOT NULL,
    kind TEXT NOT NULL,
    per TEXT NOT NULL,
    until INTEGER NOT NULL,
    threshold INTEGER NOT NULL,
    PRIMARY KEY (account_id, kind, per)
  ) STRICT, WITHOUT ROWID;
`;

/** What agents say that they did in a conversation, by series of counts. */
export const WORK = `
  CREATE TABLE conversation_work (
    account_id INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    conversation TEXT NOT NULL, series TEXT NOT NULL,
    commits INTEGER NOT NULL, pull_requests INTEGER NOT NULL,
    lines_added INTEGER NOT NULL, lines_removed INTEGER NOT NULL, at INTEGER NOT NULL,
    PRIMARY KEY (account_id, conversation, series)
  ) STRICT, WITHOUT ROWID;
`;

/** Requests that were refused before admission: like ones of a minute share a row, and only the last rows stay. */
export const REFUSALS = `
  CREATE TABLE refusals (
    id INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    request_id TEXT NOT NULL UNIQUE,
    account_id INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    key_id TEXT,
    endpoint TEXT NOT NULL,
    model_asked TEXT,
    conversation TEXT,
    label TEXT,
    client TEXT,
    status INTEGER NOT NULL,
    error TEXT NOT NULL,
    message TEXT NOT NULL,
    times INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX refusals_at ON refusals (at);
  CREATE INDEX refusals_account ON refusals (account_id);
`;
