// The JSON shapes of the admin API. Those of accounts, keys, usage and models are the shapes of the CLI's `--json`. Members may be
// added, never renamed.
import { z } from 'zod';
import { PERIODS } from '../calendar.ts';
import { STRATEGIES } from '../config/config.ts';
import { LIMIT_KINDS } from '../tier.ts';
import { accountNameFault, nameFault } from '../accounts/json.ts';
import { PERMISSIONS } from '../canonical/request.ts';
import { GROUPINGS } from '../store/store.ts';
import { SHOWN_COLUMNS, type ShownColumns, type UsageKind } from '../store/usage-columns.ts';

export const time = z.iso.datetime().meta({ description: 'ISO 8601, UTC' });
export const count = z.int().min(0);
export const tokens = count.nullable().meta({ description: 'null: unknown' });

const named = (fault: (text: string) => string | undefined) =>
  z
    .string()
    .max(512)
    .superRefine((text, ctx) => {
      const message = fault(text);
      if (message !== undefined) ctx.addIssue({ code: 'custom', message });
    });
const VISIBLE = '1 to 128 visible characters, no space at either end';
const name = named(nameFault).meta({ description: VISIBLE });
export const accountName = named(accountNameFault).meta({ description: `${VISIBLE}; neither . nor ..` });

/** A parameter of the query arrives as text. */
const limit = z
  .string()
  .regex(/^\d{1,4}$/, 'is not a whole number')
  .transform(Number)
  .pipe(z.int().min(1).max(1000))
  .default(100)
  .meta({ description: 'Items of a page, 1 to 1000 (default: 100)' });
const cursor = z.string().max(1024).optional().meta({ description: '`next` of the page before' });
export const PAGE = { limit, cursor };

/** Text as the user gave it, for look-ups: an unknown one is a 404. */
export const anyName = z.string().min(1).max(512);

export function page<Item extends z.ZodType>(item: Item) {
  return z.object({
    data: z.array(item),
    next: z.string().nullable().meta({ description: 'The cursor of the next page; null: this is the last' }),
  });
}

export const Account = z.object({ account: z.string(), tier: z.string(), keys: count, created_at: time });
export const AccountChange = z
  .strictObject({ account: accountName.optional(), tier: z.string().min(1).max(64).optional() })
  .refine((change) => Object.keys(change).length > 0, { error: 'names nothing to change: account or tier' });
export const RemovedAccount = z.object({ account: z.string(), keys: count, requests: count });
export const limitRow = {
  kind: z.enum(LIMIT_KINDS),
  per: z.enum(PERIODS),
  limit: z.number(),
  count: z.literal('fresh').optional().meta({ description: 'Tokens read from a cache do not count' }),
};
export const Tier = z.object({
  tier: z.string(),
  requests_per_hour: z.int().nullable().meta({ description: 'null: no limit' }),
  limits: z
    .array(z.object(limitRow))
    .meta({ description: 'Windows of the calendar in UTC; `limit` of cost in USD' }),
});

const permissions = z.array(z.enum(PERMISSIONS));
const key = {
  id: z.string(),
  account: z.string(),
  tier: z.string(),
  name: z.string().nullable(),
  permissions,
  models: z.array(z.string()).nullable().meta({ description: 'null: every model' }),
  created_at: time,
  expires_at: time.nullable(),
};
export const Key = z.object({
  ...key,
  prefix: z.string(),
  last_used_at: time.nullable(),
  origin: z.string().nullable().meta({ description: 'Of a sign-in: its client, and from where' }),
  revoked_at: time.nullable(),
});
export const WaitingSignIn = z.object({
  code: z.string().meta({ description: 'ABCD-EFGH, as the client shows it' }),
  user_agent: z.string(),
  address: z.string(),
  created_at: time,
  expires_at: time,
});
export const NewKey = z.strictObject({
  account: accountName.meta({ description: 'Created if it is new' }),
  tier: z.string().min(1).max(64).optional().meta({ description: 'Of a new account' }),
  name: name.optional().meta({ description: 'A label by which a person recognises the key' }),
  permissions: permissions.min(1).optional().meta({ description: 'Default: all' }),
  models: z
    .array(
      z
        .string()
        .min(1)
        .max(256)
        .regex(/^\P{Cc}*$/u, 'has control characters'),
    )
    .min(1)
    .max(1000)
    .nullish()
    .meta({ description: 'Exact names; default: every model' }),
  expires_at: z.iso.datetime({ offset: true }).nullish().meta({ description: 'Default: never' }),
});
const warnings = z.array(z.string()).meta({ description: 'Names of models that no model has now' });
export const CreatedKey = z.object({
  ...key,
  key: z.string().meta({ description: 'The plaintext, which is shown here alone' }),
  warnings,
});
export const Rotation = z.strictObject({
  grace_seconds: z
    .int()
    .min(0)
    .max(365 * 86_400)
    .default(86_400)
    .meta({ description: 'How long both keys work; 0: the old one ends at once' }),
});
export const RotatedKey = z.object({
  ...key,
  key: CreatedKey.shape.key,
  warnings,
  replaces: z.object({ id: z.string(), expires_at: time.nullable() }),
});
export const RevokedKey = z.object({ id: z.string(), revoked_at: time.nullable() });

const totals = z.object({
  requests: count,
  errors: count,
  unknown: count,
  unpriced: count,
  input_tokens: count,
  cache_read_tokens: count,
  cache_write_tokens: count,
  output_tokens: count,
  cost_usd: z.number().nullable(),
  cache_misses: count,
  cache_miss_tokens: count,
  cache_miss_cost_usd: z.number(),
  first_byte_ms: z
    .object({ p50: z.number(), p95: z.number() })
    .nullable()
    .meta({ description: 'estimated; null: no request had a first byte' }),
});
export const Usage = z.object({
  account: z.string(),
  tier: z.string(),
  limit: count.nullable().meta({ description: 'null: no limit' }),
  used: count,
  remaining: count.nullable(),
  resets_at: time,
  totals,
  hours: z
    .array(z.object({ hour: time, requests: count }))
    .meta({ description: 'Each of the window; of those before its last 31 days, from the first request on' }),
  by: z
    .array(z.looseObject({ totals }))
    .optional()
    .meta({ description: 'With `by`: the group (account, key, model and provider, hour, …) and its totals' }),
});

export const UsageSummary = z.object({
  by: z.enum(GROUPINGS),
  since: time.meta({
    description:
      'The beginning of the first hour; of more than 31 days by hour or day, of the first with a request',
  }),
  until: time,
  totals,
  before: totals.meta({ description: 'Of the time before, as long as the window' }),
  groups: z.array(
    z.object({
      group: z.record(z.string(), z.string().nullable()).meta({
        description:
          'account, key (with its name and account), label, model and provider, provider, hour, or day',
      }),
      totals,
    }),
  ),
});

export const target = { provider: z.string(), model: z.string() };
export const TargetRef = z.object(target);
export const Model = z.object({
  name: z.string(),
  targets: z.array(
    z.object({ ...target, state: z.string().optional().meta({ description: 'failing or cooling' }) }),
  ),
  vision: z.boolean(),
  tools: z.boolean(),
  thinking: z.boolean(),
  context_window: tokens,
  max_output: tokens,
});
export const Target = z.object({
  ...target,
  protocols: z.array(z.string()),
  upstream: z.string().meta({ description: "The provider's name for the model" }),
  state: z.enum(['healthy', 'cooling', 'failing']),
  until: time.nullable().meta({ description: 'When it is asked again, if it is not healthy' }),
  failures: count.meta({ description: 'In a row' }),
  in_flight: count,
  first_byte_ms: z.number().nullable().meta({ description: 'Recent; null: not measured lately' }),
  learnt: z
    .array(
      z.object({
        protocol: z.string(),
        changes: z.array(z.string()).meta({ description: 'What requests to it are changed in' }),
        words: z.string().meta({ description: "The provider's, which taught it" }),
        learnt_at: time,
      }),
    )
    .meta({ description: 'What refusals taught, for a day' }),
  vision: z.boolean().nullable().meta({ description: 'null: unknown, taken as possible' }),
  documents: z.boolean().nullable(),
  audio: z.boolean().nullable(),
  tools: z.boolean().nullable(),
  thinking: z.boolean().nullable(),
  structured_output: z.boolean().nullable(),
  context_window: tokens,
  max_output: tokens,
  price: z
    .object({
      input: z.number().nullable(),
      output: z.number().nullable(),
      cache_read: z.number().nullable(),
      cache_write: z.number().nullable(),
    })
    .nullable()
    .meta({ description: 'USD a million tokens, of short requests; null: unknown' }),
});
export const Route = z.object({
  name: z.string(),
  strategy: z.enum(STRATEGIES),
  targets: z.array(TargetRef.extend({ weight: z.number().optional() })),
  rules: z
    .array(z.object({ by: z.enum(['agent', 'class']), name: z.string(), targets: z.array(TargetRef) }))
    .meta({ description: 'Targets of a kind of work or of agent, before those of the route' }),
});
export const LeftOut = z.object({ provider: z.string(), why: z.string() });
export const Configuration = z.object({
  file: z.string().nullable().meta({ description: 'null: zero configuration' }),
  values: z.array(
    z.object({
      key: z.string(),
      value: z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]).nullable(),
      source: z.enum(['flag', 'environment', 'file', 'preset', 'default']),
      where: z.string().nullable(),
    }),
  ),
  left_out: z.array(LeftOut).meta({ description: 'Providers that are not used' }),
  warnings: z.array(z.string()),
});

export const text = z.string().nullable();
export const number = z.number().nullable();

/** Of the columns that a request shows. */
const OF_KIND: Readonly<Record<UsageKind, z.ZodType>> = {
  ...{ time, account: count.nullable(), key: text, endpoint: text, model: text, name: text },
  ...{ status: z.int().nullable(), flag: z.boolean().nullable(), count: tokens, number },
  ...{ milliseconds: number, request: text, json: text },
};

const columns: Record<string, z.ZodType> = Object.fromEntries(
  SHOWN_COLUMNS.map(({ shown, kind }) => [shown, OF_KIND[kind]]),
);

export const SearchResults = z.object({
  data: z.array(
    z.object({
      kind: z.enum(['request', 'conversation', 'account', 'model']),
      name: z.string().meta({ description: 'An ID, or a name' }),
      account: z.string().nullable().meta({ description: 'Of a request or a conversation' }),
      times: z.int().optional().meta({ description: 'The ID may be of one of so many like refusals' }),
    }),
  ),
});
export const Request = z.object({
  ...(columns as { [Name in keyof ShownColumns]: z.ZodType<ShownColumns[Name], ShownColumns[Name]> }),
  at: time.meta({ description: 'When it ended' }),
  refused: z.boolean().meta({ description: 'Before admission: not counted in usage nor against a limit' }),
  account: z.string().nullable(),
  endpoint: z.string().meta({ description: 'Of a refused request of which no protocol is known: the path' }),
  status: z.int(),
  stream: z.boolean(),
  error: z.string().nullable().meta({ description: 'null: fully answered' }),
  attempts: z.int().nullable().meta({ description: 'Targets that were contacted' }),
  cache: z.object({
    share: number.meta({ description: "Of all input, the part that was read from the provider's cache" }),
    miss: z
      .object({ cause: z.string(), detail: text, tokens, cost_usd: number })
      .nullable()
      .meta({ description: 'Input that the cache had and that was read anew' }),
  }),
  detail: z.object({
    attempts: z
      .array(
        z.object({
          target: z.string(),
          protocol: z.string(),
          provider_key: z
            .int()
            .optional()
            .meta({ description: "The number of the provider's key, if it has several" }),
          status: z.int().optional(),
          error: z.string().optional(),
          message: z.string().optional(),
          ms: z.number(),
        }),
      )
      .optional(),
    rule: z.string().optional(),
    passed_over: z.array(z.object({ target: z.string(), why: z.string() })).optional(),
    dropped: z.array(z.string()).optional(),
    changed: z.array(z.string()).optional(),
    lost: z.array(z.string()).optional(),
    repaired: z.array(z.string()).optional(),
    learnt: z.array(z.string()).optional().meta({ description: 'Flags that a refusal of its form taught' }),
    waited_ms: z.number().optional().meta({ description: 'Before the only attempt' }),
    tools: z.array(z.object({ name: z.string(), ms: z.number() })).optional(),
    estimated_input: z.number().optional(),
    message: z.string().optional(),
    times: z
      .int()
      .optional()
      .meta({ description: 'Requests that were refused like it in the same minute, with it' }),
  }),
});

export const Connect = z.object({
  url: z.string().meta({ description: 'This gateway, without a version' }),
  model: z.string().nullable().meta({ description: 'null: no model is served' }),
  tools: z.array(
    z.object({
      name: z.string(),
      title: z.string(),
      run: z
        .string()
        .nullable()
        .meta({ description: 'The command that starts the tool once; null: the tool has no such command' }),
      connect: z
        .string()
        .nullable()
        .meta({ description: 'The command that writes settings; null: the tool has no such command' }),
      variables: z.string().nullable().meta({ description: 'Lines for a shell' }),
      files: z.array(z.object({ path: z.string(), text: z.string() })).meta({ description: 'Settings' }),
      steps: z.array(z.string()).meta({ description: 'What a person does' }),
    }),
  ),
});

export const AuditRow = z.object({
  id: z.int(),
  at: time,
  actor: z.string().meta({
    description:
      'The ID of a token or of a browser session; `owner`: by the control socket; `cli NAME`: a user of this machine; `configuration`: the file',
  }),
  address: z.string().meta({ description: '`local`: not by HTTP' }),
  operation: z.string(),
  detail: z.record(z.string(), z.unknown()).meta({ description: 'Parameters and body' }),
  names: z
    .record(z.string(), z.string())
    .meta({ description: 'By ID, of keys and tokens in it that are there still' }),
  status: z
    .int()
    .nullable()
    .meta({ description: 'null: the operation did not end, or its end could not be written' }),
});

export const SessionRequest = z.strictObject({ link: z.string().min(1).max(200) });
export const Session = z.object({
  id: z.string(),
  scope: z.enum(['read', 'write', 'own']).meta({ description: '`own`: of a member' }),
  account: z.string().nullable().meta({ description: "A member's, whose data alone it reads; null: all" }),
  csrf: z.string().meta({ description: 'The value of the header x-gateway-csrf on writes' }),
  expires_at: time.meta({ description: 'Unless it is used until then' }),
});
export const ClosedSession = z.object({ closed: z.literal(true) });

export const Problem = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  code: z.string(),
  request_id: z.string(),
  errors: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
});
