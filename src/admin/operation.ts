// An operation of the admin API as data: its path, who may call it, what it takes and gives. The server and the OpenAPI document read
// the same row.
import { z } from 'zod';
import type { Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import type { EffectiveValue } from '../config/effective.ts';
import type { Ids } from '../ids.ts';
import type { HeaderList, SiteExchange } from '../gateway/exchange.ts';
import type { Logger } from '../log.ts';
import type { Routing } from '../routing/routing.ts';
import type { ResetReply } from '../routing/state/reset.ts';
import type { AdminScope, AdminStore } from '../store/admin/admin-records.ts';
import type { DatabaseHealth } from '../gateway/database-health.ts';
import type { BrakeStore } from '../store/holds/brakes.ts';
import type { GrantStore, HoldStore } from '../store/holds/holds.ts';
import type { WorkStore } from '../store/holds/work.ts';
import type { KeyStore, AdmissionStore, UsageStore, RefusalStore, HealthStore } from '../store/store.ts';
import type { SignIn } from '../sign-in/sign-in.ts';
import type { Throttle } from '../accounts/throttle.ts';
import type { Audience, Authenticator, Caller } from './authenticate.ts';
import type { Events, LiveFeed } from './operations/events.ts';
import type { AskAsKey } from './operations/as-key/key-exchange.ts';
import { Problem, type TagOf } from './reply.ts';
import type { Reports } from './reports.ts';
import type { Connect } from './schemas.ts';
import type { Sessions } from './sessions.ts';

/** What a tool's settings name: the URL and the model. */
interface ConnectTarget {
  /** Without a version. */
  url: string;
  model: string;
  /** Tokens that the first target takes and writes at most; null: unknown. */
  window: number | null;
  output: number | null;
  /** Protocols of clients that may offer it tools of the provider's own. */
  serverTools: readonly string[];
}

/** The settings and steps of one tool. */
type ConnectFacts = z.output<typeof Connect>['tools'][number];

/** What operations read and change. */
export interface AdminParts {
  current: { readonly config: Config };
  /** Every value of the configuration and what sets it, without secrets. Rejects if the file is not valid now. */
  effective: () => Promise<{ file: string | null; values: readonly EffectiveValue[] }>;
  /** The settings of each tool for this gateway. */
  connect: (to: ConnectTarget) => Promise<readonly ConnectFacts[]>;
  store: KeyStore &
    AdmissionStore &
    UsageStore &
    RefusalStore &
    HoldStore &
    GrantStore &
    BrakeStore &
    WorkStore &
    HealthStore &
    AdminStore;
  database: Pick<DatabaseHealth, 'check'>;
  /** Codes of clients that ask to sign in, and who sent wrong ones. */
  signIns: { signIn: SignIn; throttle: Throttle };
  routing: Routing;
  /** Resolves when the search for local servers is over. */
  discovered: Promise<void>;
  clock: Clock;
  log: Logger;
  ids: Ids;
  sessions: Sessions;
  authenticator: Authenticator;
  events: Events;
  live: Pick<LiveFeed, 'moment' | 'find'>;
  reports: Reports;
  tagOf: TagOf;
  askAsKey: AskAsKey;
  /** In all processes of this gateway; undefined: all targets. */
  resetTargets: (target: string | undefined) => Promise<ResetReply>;
}

/** The request itself, for operations that need more than its values. */
export interface Call {
  exchange: SiteExchange;
  /** undefined: the operation is public. */
  caller: Caller | undefined;
  /** Further headers of the answer. */
  headers: HeaderList;
  /** Evaluates the conditions of a `conditional` write. `item`: what is there now, as its GET answers. Throws Problem 412. */
  check: (item: unknown) => void;
  /** What the row of the audit says beside parameters and body, once the change is made. */
  noted: Record<string, unknown>;
}

/** The result of an operation that has written its answer itself. */
export const ANSWERED: unique symbol = Symbol('answered');

export interface Operation {
  id: string;
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below `/admin/api/v1`, or a whole path; a member in braces is one segment. */
  path: string;
  summary: string;
  tag: string;
  scope: AdminScope;
  params: z.ZodObject;
  query: z.ZodObject;
  /** undefined: it takes no body. */
  body: z.ZodObject | undefined;
  reply: z.ZodType;
  status: number;
  /** Statuses of its own problems, without those of every operation. */
  problems: readonly number[];
  /** Whether it changes one item that has a GET, so that `If-Match` can name its tag. */
  conditional: boolean;
  /** Whether it needs neither token nor session. */
  public: boolean;
  audience: Audience;
  /** Members of the body that no row of the audit holds. */
  unrecorded: readonly string[];
  /** Bytes of the body. */
  largest: number;
  /** The content type of an answer that is not JSON. */
  replyType: string | undefined;
  run(input: Input, parts: AdminParts, call: Call): Promise<unknown>;
}

export interface Input {
  params: Record<string, unknown>;
  query: Record<string, unknown>;
  body: Record<string, unknown>;
}

/** Bytes of a body. */
const MAX_BODY = 64 * 1024;

const NOTHING = z.strictObject({});
type Nothing = typeof NOTHING;

interface Spec<
  P extends z.ZodObject,
  Q extends z.ZodObject,
  B extends z.ZodObject,
  R extends z.ZodType,
> extends Pick<Operation, 'id' | 'method' | 'path' | 'summary' | 'tag'> {
  params?: P;
  query?: Q;
  body?: B;
  reply: R;
  status?: number;
  problems?: readonly number[];
  conditional?: boolean;
  public?: boolean;
  /** The owner's without it. */
  audience?: Audience;
  unrecorded?: readonly string[];
  /** Bytes of a body that is larger than most. */
  largest?: number;
  replyType?: string;
  run: (
    input: { params: z.output<P>; query: z.output<Q>; body: z.output<B> },
    parts: AdminParts,
    call: Call,
  ) => Promise<z.input<R> | typeof ANSWERED>;
}

/** Whatever is not a GET is a write. */
export function operation<
  R extends z.ZodType,
  P extends z.ZodObject = Nothing,
  Q extends z.ZodObject = Nothing,
  B extends z.ZodObject = Nothing,
>(spec: Spec<P, Q, B, R>): Operation {
  const { params = NOTHING, query = NOTHING, body, status = 200, problems = [], run, ...rest } = spec;
  return {
    ...rest,
    conditional: spec.conditional ?? false,
    public: spec.public ?? false,
    audience: spec.audience ?? 'owner',
    unrecorded: spec.unrecorded ?? [],
    largest: spec.largest ?? MAX_BODY,
    replyType: spec.replyType,
    scope: spec.method === 'GET' ? 'read' : 'write',
    params,
    query,
    body,
    status,
    problems,
    // `readInput` has checked it by these schemas.
    run: (input, parts, call) => run(input as Parameters<typeof run>[0], parts, call),
  };
}

/** Throws Problem 400 with every fault. */
export function readInput(
  operation: Operation,
  given: { params: object; query: object; body: unknown },
): Input {
  return {
    params: read(operation.params, given.params, 'the path'),
    query: read(operation.query, given.query, 'the query'),
    body: operation.body === undefined ? {} : read(operation.body, given.body, 'the body'),
  };
}

const MOST_FAULTS = 20;
const MOST_SHOWN = 300;

function read(schema: z.ZodObject, value: unknown, what: string): Record<string, unknown> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const faults = result.error.issues.slice(0, MOST_FAULTS).map(({ path, message }) => ({
    path: path.map(String).join('.').slice(0, MOST_SHOWN),
    message: message.slice(0, MOST_SHOWN),
  }));
  const [first] = faults;
  const place = first === undefined || first.path === '' ? what : `${what}: ${first.path}`;
  throw new Problem(400, 'invalid_request', `${place}: ${first?.message ?? 'is not valid'}`, { faults });
}

/** The query's parameters, each once. Throws Problem 400. */
export function readQuery(query: string): Record<string, string> {
  const given = new URLSearchParams(query);
  const values: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const [name, value] of given) {
    if (name in values) throw new Problem(400, 'invalid_request', 'a parameter of the query occurs twice');
    values[name] = value;
  }
  return { ...values };
}
