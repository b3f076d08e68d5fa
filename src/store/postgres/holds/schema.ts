// The tables of brakes, of notices, of work, and of refusals. Steps of ../migrations.ts: one that was released never changes.

/** Stopped conversations and requests of prompts, as in SQLite. */
export const BRAKES = `
  CREATE TABLE brakes (
    id text COLLATE "C" PRIMARY KEY,
    account_id bigint NOT NULL,
    spent bigint,
    base bigint NOT NULL,
    allowed bigint,
    stopped text,
    stopped_at bigint,
    run text,
    run_calls bigint,
    run_forgiven bigint,
    at bigint NOT NULL
  ) WITH (fillfactor = 50);
  CREATE INDEX brakes_stopped ON brakes (stopped_at) WHERE stopped IS NOT NULL;
  CREATE INDEX brakes_account ON brakes (account_id);
  CREATE TABLE brake_prompts (
    conversation text COLLATE "C" NOT NULL,
    prompt text COLLATE "C" NOT NULL,
    account_id bigint NOT NULL,
    requests bigint NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (conversation, prompt)
  ) WITH (fillfactor = 50);
  CREATE INDEX brake_prompts_account ON brake_prompts (account_id);
  ALTER TABLE holds ADD COLUMN conversation text;
`;

/** Which window of a limit people were told of. */
export const NOTICES = `
  CREATE TABLE notices (
    account_id bigint NOT NULL,
    kind text NOT NULL,
    per text NOT NULL,
    until bigint NOT NULL,
    threshold integer NOT NULL,
    PRIMARY KEY (account_id, kind, per)
  );
`;

/** What agents say that they did in a conversation, by series of counts. */
export const WORK = `
  CREATE TABLE conversation_work (
    account_id bigint NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    conversation text COLLATE "C" NOT NULL,
    series text COLLATE "C" NOT NULL,
    commits bigint NOT NULL,
    pull_requests bigint NOT NULL,
    lines_added bigint NOT NULL,
    lines_removed bigint NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (account_id, conversation, series)
  ) WITH (fillfactor = 50);
`;

/** Requests that were refused before admission, as in SQLite. */
export const REFUSALS = `
  CREATE TABLE refusals (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at bigint NOT NULL,
    request_id text COLLATE "C" NOT NULL UNIQUE,
    account_id bigint NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    key_id text COLLATE "C",
    endpoint text COLLATE "C" NOT NULL,
    model_asked text COLLATE "C",
    conversation text COLLATE "C",
    label text,
    client text,
    status integer NOT NULL,
    error text COLLATE "C" NOT NULL,
    message text NOT NULL,
    times bigint NOT NULL
  );
  CREATE INDEX refusals_at ON refusals (at);
  CREATE INDEX refusals_account ON refusals (account_id);
`;
