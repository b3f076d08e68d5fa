// The schema of a configuration file. Unknown keys are faults. The schema checks each value by itself; providers.ts and
// load-file.ts check what depends on several values (a route's targets, a provider's URL).
import * as z from 'zod/mini';
import { PROTOCOL_NAMES } from '../../canonical/request.ts';
import type { Traits } from '../../canonical/traits.ts';
import type { Tier } from '../../tier.ts';
import { STRATEGIES, type ConfigFault } from '../config.ts';
import { readFlag } from './flags.ts';
import { suggest } from '../did-you-mean.ts';
import type { Rule } from './scalars.ts';
import { COST, readTier } from './tier.ts';
import {
  ACCOUNT,
  API_KEY,
  AUTO_OR_TRUTH,
  choice,
  COLLECTOR,
  DATABASE,
  FILE,
  FOLDER,
  duration,
  HEADER_VALUE,
  headerNameFault,
  HOST,
  HOST_NAME,
  KEEP,
  MODEL_NAME,
  MODEL_NAME_PATTERN,
  ORIGIN,
  PRICE,
  PROXY,
  PUBLIC_URL,
  RECEIVER,
  REGION,
  SECRET,
  SIZE,
  TARGET,
  TIER,
  TRUTH,
  UNLIMITED,
  UPSTREAM,
  URL_TEXT,
  whole,
} from './scalars.ts';

// A file is read once: code that zod would generate for each mapping would run once.
z.config({ jitless: true });

const NOT_A_MAPPING = 'is not a mapping; write its keys below it, indented';

/** Reports what is wrong with a value, or with one of its members. */
type Report = (message: string, path?: (string | number)[]) => never;

/** A schema of one function, because commands wait until all schemas are made. */
function reads<T, Given = unknown>(read: (value: Given, report: Report) => T) {
  return z.transform((value: Given, { issues }): T =>
    read(value, (message, path) => {
      issues.push({ code: 'custom', message, path, input: value });
      return z.NEVER;
    }),
  );
}

function must<T>({ wrong, right, read }: Rule<T>) {
  return reads((value, report): T => {
    const isMissing = value === undefined || value === null;
    return read(value) ?? report(`${isMissing ? 'is missing' : wrong}; ${right}`);
  });
}

/** A value that may be absent or empty. */
function may<T>({ wrong, right, read }: Rule<T>) {
  return reads((value, report): T | undefined =>
    value === undefined || value === null ? undefined : (read(value) ?? report(`${wrong}; ${right}`)),
  );
}

function maybe<T extends z.ZodMiniType>(schema: T) {
  return z.pipe(
    z.nullish(schema),
    z.transform((value) => value ?? undefined),
  );
}

/** Another way to write what `schema` reads. */
function short<T extends z.ZodMiniType>(long: (value: unknown) => unknown, schema: T) {
  return z.pipe(z.transform(long), schema);
}

/** A mapping with these keys only. The message of an unknown key lists the known keys; `faultsOf` reads them from it. */
function mapping<Shape extends z.core.$ZodShape>(shape: Shape, otherwise = NOT_A_MAPPING) {
  return z.strictObject(shape, {
    error: (issue) => (issue.code === 'unrecognized_keys' ? Object.keys(shape).join(' ') : otherwise),
  });
}

function listOf<T extends z.ZodMiniType>(item: T, right: string, empty = right) {
  return z
    .array(item, {
      error: ({ input }) =>
        `${input === undefined || input === null ? 'is missing' : 'is not a list'}; ${right}`,
    })
    .check(z.minLength(1, { error: () => `is an empty list; ${empty}` }));
}

/** A mapping whose keys are names that the user chooses. Names and values are checked together, so that all faults are
 *  reported at once. */
function named<T extends z.ZodMiniType>(value: T, nameFault: (name: string) => string | undefined) {
  const name = z.string().check(({ value: key, issues }) => {
    const fault = nameFault(key);
    if (fault !== undefined) issues.push({ code: 'custom', message: fault, input: key });
  });
  return z.record(name, value, {
    error: (issue) => (issue.code === 'invalid_key' ? issue.issues?.[0]?.message : NOT_A_MAPPING),
  });
}

const model = short(
  (value) => (typeof value === 'string' ? { id: value } : value),
  mapping(
    {
      id: must(MODEL_NAME),
      upstream: may(UPSTREAM),
      vision: may(TRUTH),
      documents: may(TRUTH),
      audio: may(TRUTH),
      tools: may(TRUTH),
      thinking: may(TRUTH),
      structured_output: may(TRUTH),
      embeddings: may(TRUTH),
      context_window: may(whole('a number of tokens', 1)),
      max_output: may(whole('a number of tokens', 1)),
      price: maybe(
        mapping({ input: may(PRICE), output: may(PRICE), cache_read: may(PRICE), cache_write: may(PRICE) }),
      ),
    },
    'is not a model; write its name (in quotes if it looks like a number), or a mapping with id',
  ),
);

const headers = z.pipe(
  named(must(HEADER_VALUE), (name) => headerNameFault(name.toLowerCase())),
  reads((given: Record<string, string>, report) => {
    const result = new Map<string, string>();
    for (const [name, value] of Object.entries(given)) {
      if (result.has(name.toLowerCase())) report('occurs twice; keep one', [name]);
      result.set(name.toLowerCase(), value);
    }
    return Object.fromEntries(result);
  }),
);

const flags = z.pipe(
  z.record(z.string(), z.unknown(), { error: () => NOT_A_MAPPING }),
  reads((given: Record<string, unknown>, report) => {
    let traits: Partial<Traits> = {};
    for (const [name, value] of Object.entries(given)) {
      const flag = readFlag(name, value);
      if ('fault' in flag) report(flag.fault, [name]);
      else traits = { ...traits, ...flag.traits };
    }
    return traits;
  }),
);

const PROTOCOLS = choice(...PROTOCOL_NAMES);
const PROTOCOL_RULE = 'write chat, messages, responses or a list of them';

const MOST_KEYS = 20;
const KEYS_RULE = `write one key, or [A, B] of ${MOST_KEYS} at most`;

/** One key, or a list of them. */
const apiKeys = reads((value, report): string[] | undefined => {
  if (value === undefined || value === null) return undefined;
  const { wrong, right, read } = API_KEY;
  if (!Array.isArray(value)) return [read(value) ?? report(`${wrong}; ${right}`)];
  if (value.length === 0) report(`is an empty list; ${KEYS_RULE}`);
  if (value.length > MOST_KEYS) report(`has too many keys; ${KEYS_RULE}`);
  return value.map((each: unknown, at) => read(each) ?? report(`${wrong}; ${right}`, [at]));
});

const provider = mapping({
  protocol: maybe(
    short(
      (value) => (typeof value === 'string' ? [value] : value),
      listOf(must({ ...PROTOCOLS, right: PROTOCOL_RULE }), PROTOCOL_RULE),
    ),
  ),
  base_url: may(URL_TEXT),
  // Without it the provider would be one of another kind, and what is said of that would mislead.
  tape: reads((value, report): string | undefined =>
    value === undefined ? undefined : (FOLDER.read(value) ?? report(`names no folder; ${FOLDER.right}`)),
  ),
  region: may(REGION),
  api_key: apiKeys,
  headers: maybe(headers),
  proxy: may(PROXY),
  ca: may(FILE),
  shared_ids: may(TRUTH),
  prompt_cache: may(choice('auto', 'off')),
  relay: may(choice('auto', 'exact')),
  repair_tools: may(AUTO_OR_TRUTH),
  flags: maybe(flags),
  max_concurrent: may(whole('a number of requests', 1)),
  queue: maybe(mapping({ size: may(whole('a number of requests', 0, 100_000)), wait: may(duration(1)) })),
  timeout: maybe(
    mapping({
      connect: may(duration(1)),
      first_byte: may(duration(1)),
      idle: may(duration(1)),
      whole: may(duration(1)),
    }),
  ),
  models: maybe(listOf(model, 'write [name, …]', 'write its models, or leave it out to take any name')),
});

const TARGETS = 'write [provider/model, …]';
const kinds = named(
  short((value) => (typeof value === 'string' ? [value] : value), listOf(must(TARGET), TARGETS)),
  (name) => (/^[\w.:/@+-]{1,64}$/.test(name) ? undefined : 'is not a name that a client sends'),
);

/** `weight`: its share of the requests of a balanced route. */
const routeTarget = short(
  (value) => (typeof value === 'object' ? value : { target: value }),
  mapping(
    { target: must(TARGET), weight: may(whole('a share of the requests', 1, 1000)) },
    'is not a target; write provider/model, or a mapping with target and weight',
  ),
);

const route = short(
  (value) => (Array.isArray(value) ? { targets: value } : value),
  mapping(
    {
      strategy: may(choice(...STRATEGIES)),
      targets: listOf(routeTarget, TARGETS),
      classes: maybe(kinds),
      agents: maybe(kinds),
    },
    'is not a route; write its targets as [provider/model, …]',
  ),
);

const SIMPLE_RULE = 'begin with a letter; then letters, digits, dots, hyphens and underscores (64 at most)';
const simpleName = (what: string) => (name: string) =>
  /^[A-Za-z][A-Za-z0-9._-]{0,63}$/.test(name) ? undefined : `is not a name of a ${what}; ${SIMPLE_RULE}`;
const tierName = (name: string) =>
  name === UNLIMITED ? 'is the tier without a limit; choose another name' : simpleName('tier')(name);
const routeName = (name: string) =>
  MODEL_NAME_PATTERN.test(name)
    ? undefined
    : 'is not a name of a route; write visible ASCII without spaces or commas';

/** `true` has the same effect as an empty mapping. */
const metrics = short(
  (value) => {
    const on = TRUTH.read(value);
    return on === undefined ? value : on ? {} : null;
  },
  z.nullable(
    mapping(
      { accounts: may(TRUTH) },
      'is neither true nor false; write true, or { accounts: true } for metrics with account names',
    ),
  ),
);

/** `on` has the same effect as an empty mapping. */
const signIn = short(
  (value) =>
    value === 'on' || TRUTH.read(value) === true
      ? {}
      : value === 'off' || TRUTH.read(value) === false
        ? null
        : value,
  z.nullable(
    mapping(
      { url: may(PUBLIC_URL), auto_approve: may(choice('local')) },
      'is neither on nor off; write on, or { url: https://gateway.example.com } behind a proxy with TLS',
    ),
  ),
);

const tier = z.transform((value: unknown, { issues }): Tier => {
  const read = readTier(value);
  if (!('faults' in read)) return read;
  for (const { path, message } of read.faults) issues.push({ code: 'custom', message, path, input: value });
  return z.NEVER;
});

const file = mapping({
  listen: maybe(
    mapping({
      hosts: maybe(listOf(must(HOST), 'write [127.0.0.1, "::1"]')),
      port: may(whole('a port', 0, 65535)),
      origins: maybe(
        z.array(must(ORIGIN), { error: () => 'is not a list; write [https://app.example.com]' }),
      ),
      names: maybe(z.array(must(HOST_NAME), { error: () => 'is not a list; write [gateway.example.com]' })),
    }),
  ),
  database: may(DATABASE),
  providers: maybe(
    named(
      z.pipe(
        z.nullable(provider),
        z.transform((value): Partial<z.output<typeof provider>> => value ?? {}),
      ),
      simpleName('provider'),
    ),
  ),
  routes: maybe(named(route, routeName)),
  tiers: maybe(named(tier, tierName)),
  default_tier: may(TIER),
  unknown_price: may(choice('allow', 'refuse')),
  brakes: maybe(
    mapping(
      {
        conversation: may(COST),
        repeated_call: may(whole('a number of calls', 2)),
        requests_a_prompt: may(whole('a number of requests', 1)),
      },
      'is not a mapping; write { conversation: 3.00, repeated_call: 5, requests_a_prompt: 200 }, or some of them',
    ),
  ),
  alerts: maybe(
    mapping({ url: must(RECEIVER), secret: may(SECRET) }, 'is not a mapping; write { url: https://… }'),
  ),
  strict: may(TRUTH),
  explain_misses: may(choice('on', 'off')),
  usage: maybe(mapping({ keep: may(KEEP) })),
  responses: maybe(mapping({ store: may(choice('on', 'off')), keep: may(duration(1)) })),
  limits: maybe(
    mapping({
      max_body: may(SIZE),
      max_reply: may(SIZE),
      max_values: may(whole('a number of JSON values', 1)),
      max_concurrent: may(whole('a number of requests', 1)),
      header_timeout: may(duration(1)),
      request_timeout: may(duration(1)),
      write_timeout: may(duration(1)),
      keep_alive: may(duration(1)),
      shutdown_grace: may(duration(0)),
    }),
  ),
  maintenance: may(TRUTH),
  admin: may(TRUTH),
  sign_in: maybe(signIn),
  claude: maybe(mapping({ settings: may(FILE), telemetry: may(choice('on', 'off')) })),
  ollama: maybe(mapping({ account: must(ACCOUNT) }, 'is not a mapping; write { account: NAME }')),
  metrics: maybe(metrics),
  otlp: may(COLLECTOR),
});

export type FileConfig = z.output<typeof file>;
export type FileProvider = Partial<z.output<typeof provider>>;
export type FileModel = z.output<typeof model>;

/** The parsed file as typed values, or its faults. */
export function readSchema(value: unknown): { file: FileConfig } | { faults: ConfigFault[] } {
  const result = file.safeParse(value);
  return result.success ? { file: result.data } : { faults: result.error.issues.flatMap(faultsOf) };
}

function faultsOf(issue: z.core.$ZodIssue): ConfigFault[] {
  const path = issue.path.map((segment) => (typeof segment === 'symbol' ? String(segment) : segment));
  if (issue.code !== 'unrecognized_keys') return [{ path, message: issue.message }];
  const known = issue.message.split(' ');
  return issue.keys.map((key) => ({
    path: [...path, key],
    message: `is not a known key; ${suggest(key, known)}`,
  }));
}
