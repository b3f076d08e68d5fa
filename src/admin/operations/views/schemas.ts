// The JSON shapes of limits, of conversations, and of what happens now. Members may be added, never renamed.
import { z } from 'zod';
import { BRAKES } from '../../../store/holds/brakes.ts';
import { LIMIT_KINDS } from '../../../tier.ts';
import { count, LeftOut, limitRow, number, Request, target, text, time, tokens } from '../../schemas.ts';

const Grant = z.object({
  id: z.string(),
  kind: z.enum(LIMIT_KINDS),
  amount: z.number().meta({ description: 'Of cost in USD' }),
  until: time,
});
export const AccountLimits = z.object({
  account: z.string(),
  tier: z.string(),
  share: z.number().nullable().meta({
    description: 'What is used of the fullest limit; 1: it is used up; null: the tier has no limit',
  }),
  limits: z
    .array(
      z.object({
        ...limitRow,
        spent: z.number(),
        estimated: z.number().meta({ description: 'The part of `spent` that no provider counted' }),
        held: z.number().meta({ description: 'By requests under way' }),
        left: z.number(),
        granted: z.number().meta({ description: 'What grants add to the limit' }),
        unpriced: count.meta({ description: 'Answers of an unknown price, counted as 0' }),
        resets_at: time,
      }),
    )
    .meta({ description: 'In the order of the tier; cost in USD' }),
  grants: z.array(Grant).meta({ description: 'Those that have not ended' }),
});
const MOST_AMOUNT = 1_000_000_000_000;
export const NewGrant = z
  .strictObject({
    requests: z.int().min(1).max(MOST_AMOUNT).optional(),
    tokens: z.int().min(1).max(MOST_AMOUNT).optional(),
    cost: z.number().min(0.000_001).max(1_000_000).optional().meta({ description: 'USD' }),
    until: z.iso.datetime({ offset: true }).meta({ description: 'Its end, in at most a year' }),
  })
  .refine(({ requests, tokens, cost }) => (requests ?? tokens ?? cost) !== undefined, {
    error: 'give how much: requests, tokens or cost',
  });
export const NewGrants = z.object({ data: z.array(Grant) });
export const RevokedGrant = z.object({ id: z.string(), revoked_at: time.nullable() });

const conversationSums = {
  requests: count,
  input_tokens: count,
  cache_read_tokens: count,
  cache_write_tokens: count,
  output_tokens: count,
  cost_usd: number.meta({ description: 'null: no price is known' }),
};
const part = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.array(z.object({ ...shape, ...conversationSums }));
export const Conversation = z.object({
  id: z.string(),
  account: text,
  client: text.meta({ description: 'The program' }),
  label: text,
  started_at: time,
  last_at: time,
  ...conversationSums,
  subagents: count,
  misses: count.meta({ description: 'Answers whose prompt cache was missed' }),
  misses_cost_usd: number,
  stopped: z.enum(BRAKES).nullable().meta({ description: 'The brake that stopped it' }),
});
export const OneConversation = z.object({
  ...Conversation.shape,
  agents: part({ id: text, parent: text, type: text }),
  classes: part({ class: text }),
  models: part({ provider: text, model: text }),
  prompts: part({ prompt: text, started_at: time }).meta({ description: 'The tasks of a person' }),
  turns: z.array(z.object({ provider: text, model: text, requests: count })),
  compactions: z.array(time),
  commits: count,
  pull_requests: count,
  lines_added: count,
  lines_removed: count,
  cache_misses: z.array(
    z.object({ request: text, at: time, cause: z.string(), detail: text, tokens, cost_usd: number }),
  ),
  tools: z.array(z.object({ name: z.string(), calls: count, ms: z.number(), slowest_ms: z.number() })),
});
export const Continuation = z.strictObject({
  cost_usd: z
    .number()
    .min(0.000_001)
    .max(1_000_000)
    .optional()
    .meta({ description: 'What it may cost from now on; default: the amount of brakes.conversation' }),
});
export const Continued = z.object({ id: z.string(), stopped: z.null() });

export const Sample = z.object({
  at: time,
  in_flight: count,
  tokens_per_second: number.meta({ description: 'Of streams, estimated; null: unknown' }),
});
export const Attention = z.object({
  database: z.enum(['ok', 'slow', 'away']),
  targets: z
    .array(z.object({ ...target, state: z.enum(['cooling', 'failing']), until: time }))
    .meta({ description: 'Those that requests avoid; `until`: when they are asked again at the latest' }),
  left_out: z.array(LeftOut).meta({ description: 'Providers that are not used' }),
  warnings: z.array(z.string()).meta({ description: 'Of the configuration' }),
});

/** Before the end of a request. */
export const RequestUnderWay = Request.omit({
  ...{ at: true, refused: true, status: true, error: true, duration_ms: true, cost_usd: true, cache: true },
}).extend({
  state: z
    .enum(['waiting', 'answering'])
    .meta({ description: 'It is under way; `waiting`: nothing of the answer was sent to the client' }),
  started_at: time,
  age_ms: z.number(),
  output_tokens: tokens.meta({ description: 'An estimate; null: unknown' }),
  tokens_per_second: number,
});
