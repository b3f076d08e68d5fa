// The answer to a shell that completes a command line: commands, options, and names of models, accounts, tiers and keys. Nothing
// is asked of a provider or server, and whatever cannot be read has no names.
import type { Argument, Command, Option } from 'commander';
import { ENDPOINT_NAMES, PERMISSIONS } from '../../canonical/request.ts';
import { errorWords, RECORDED_ERRORS } from '../../error-words.ts';
import type { Config } from '../../config/config.ts';
import type { StoreReader } from '../../store/reader.ts';
import type { Key } from '../../store/store.ts';
import type { Context, GlobalOptions } from '../context.ts';
import { isValid } from '../../accounts/terms.ts';
import { countedText } from '../../tier.ts';

/** A word, and for some shells what it is. */
interface Candidate {
  word: string;
  note?: string;
}

/** The answer if the shell is to offer its own files. */
const FILES = ':files';

interface Sources {
  config: () => Promise<Config>;
  read: <Result>(use: (store: StoreReader) => Promise<Result>) => Promise<Result>;
  now: number;
}

type List = (sources: Sources) => Promise<Candidate[]>;

const accounts: List = ({ read }) =>
  read(async (store) =>
    (await store.listAccounts()).map(({ name, tier }) => ({ word: name, note: `tier ${tier}` })),
  );
const tiers: List = async ({ config }) =>
  [...(await config()).tiers.keys()].map((word) => ({ word, note: 'tier' }));
const keys: List = ({ read, now }) =>
  read(async (store) => {
    const named = (key: Key): string =>
      `${key.account}${key.label === null ? '' : ` ${key.label}`}, ${key.prefix}…`;
    return (await store.listKeys())
      .filter((key) => isValid(key, now))
      .map((key) => ({ word: key.id, note: named(key) }));
  });
const grants: List = ({ read, now }) =>
  read(async (store) => {
    const names = new Map((await store.listAccounts()).map(({ id, name }) => [id, name]));
    return (await store.listGrants(undefined, now)).map(({ id, accountId, kind, amount }) => ({
      word: id,
      note: `${names.get(accountId) ?? ''}, ${countedText(kind, amount)}`,
    }));
  });
const models: List = async ({ config }) => {
  const { routes, providers } = await config();
  const listed = providers.flatMap(({ name, models: given }) =>
    (given ?? []).flatMap(({ id }) => [{ word: id }, { word: `${name}/${id}`, note: name }]),
  );
  const names = ['auto', ...routes.keys()].map((word) => ({ word, note: 'route' }));
  return [...new Map([...listed, ...names].map((candidate) => [candidate.word, candidate])).values()];
};

const targets: List = async (sources) =>
  (await models(sources)).filter(({ note }) => note !== undefined && note !== 'route');

const tools: List = async () => {
  const { TOOLS } = await import('../../tools/tools.ts');
  return TOOLS.map(({ name, title }) => ({ word: name, note: title }));
};
const providers: List = async ({ config }) =>
  (await config()).providers.map(({ name }) => ({ word: name, note: 'provider' }));
const presets: List = async () => {
  const { PRESETS } = await import('../../config/presets/presets.ts');
  return [...PRESETS.map(({ name, title }) => ({ word: name, note: title })), { word: 'sim' }];
};
const permissions: List = () => Promise.resolve(PERMISSIONS.map((word) => ({ word })));
const endpoints: List = () => Promise.resolve(ENDPOINT_NAMES.map((word) => ({ word })));
const errorKinds: List = () =>
  Promise.resolve(RECORDED_ERRORS.map((word) => ({ word, note: errorWords(word) })));
const accountsAndTiers: List = async (sources) => [...(await tiers(sources)), ...(await accounts(sources))];
const connectTools: List = async () => {
  const { CONNECT_TOOLS } = await import('../../tools/connected-tools.ts');
  return CONNECT_TOOLS.map(({ name, title }) => ({ word: name, note: title }));
};

const workers: List = () => Promise.resolve([{ word: 'auto', note: 'one for each core' }]);

const kindsOfWork: List = () =>
  Promise.resolve(['main', 'subagent', 'compaction', 'auxiliary'].map((word) => ({ word })));

interface Values {
  list: List;
  /** The words are separated by commas. */
  separated?: true;
  /** Of an argument that may be repeated: only the first word. */
  first?: true;
}

/** Values that are the user's own words and numbers. */
const FREE = 'free';

/**
 * What the values of options and arguments are, by the name that their command gives them: `account` is the value of `--account`
 * and of an argument `<account>`. A name that means something else in one command, or in the commands of one group, follows its
 * name: `keys id`. Choices of the command itself come first.
 */
const VALUES: Readonly<Record<string, Values | typeof FILES | typeof FREE>> = {
  account: { list: accounts },
  tier: { list: tiers },
  model: { list: models },
  models: { list: models, separated: true },
  permissions: { list: permissions, separated: true },
  provider: { list: providers },
  target: { list: targets },
  tool: { list: tools },
  'init provider': { list: presets },
  'keys id': { list: keys },
  key: { list: keys },
  endpoint: { list: endpoints },
  error: { list: errorKinds },
  status: FREE,
  'limits id': { list: grants },
  'connect tool': { list: connectTools },
  'approve code': FREE,
  'approve deny': FREE,
  'tokens id': FREE,
  'requests id': FREE,
  'conversations id': FREE,
  conversation: FREE,
  class: { list: kindsOfWork },
  agent: FREE,
  actor: FREE,
  operation: FREE,
  label: FREE,
  'run words': { list: tools, first: true },
  'tiers names': { list: accountsAndTiers },
  config: FILES,
  database: FILES,
  file: FILES,
  ...{ requests: FREE, tokens: FREE, cost: FREE, for: FREE },
  expires: FREE,
  grace: FREE,
  host: FREE,
  limit: FREE,
  name: FREE,
  pid: FREE,
  port: FREE,
  workers: { list: workers },
  since: FREE,
  timeout: FREE,
  tape: FILES,
  source: FILES,
  with: { list: models, separated: true },
  only: FREE,
  'record tape': FREE,
  record: FREE,
  to: FILES,
  'record words': { list: tools, first: true },
  'replay words': { list: tools, first: true },
};

/** undefined: the table lacks the name. */
export function valuesOf(command: Command, value: Option | Argument): (typeof VALUES)[string] | undefined {
  if (value.argChoices !== undefined)
    return { list: () => Promise.resolve((value.argChoices ?? []).map((word) => ({ word }))) };
  const name = 'attributeName' in value ? value.attributeName() : value.name();
  return (
    VALUES[`${command.name()} ${name}`] ?? VALUES[`${command.parent?.name() ?? ''} ${name}`] ?? VALUES[name]
  );
}

interface Place {
  command: Command;
  /** The option whose value is completed. */
  option: Option | undefined;
  /** The arguments before the word. */
  args: readonly string[];
  /** Options that are given before the word. */
  given: ReadonlySet<string>;
  globals: GlobalOptions;
}

/** `define`: adds the options of a command before they are read. */
export async function complete(
  words: readonly string[],
  {
    program,
    define,
    context,
  }: { program: Command; define: (command: Command) => Promise<void>; context: Context },
): Promise<string> {
  const word = words.at(-1) ?? '';
  const place = await locate(words.slice(0, -1), program, define);
  const found = await candidates(word, place, context).catch(() => []);
  if (found === FILES) return `${FILES}\n`;
  return found
    .filter(
      ({ word: text, note }) => text.startsWith(word) && !/[\p{Cc}\u2028\u2029]/u.test(text + (note ?? '')),
    )
    .map(({ word: text, note }) => `${text}${note === undefined ? '' : `\t${note}`}\n`)
    .join('');
}

/** Walks over the words before the one that is completed. */
async function locate(
  words: readonly string[],
  program: Command,
  define: (command: Command) => Promise<void>,
): Promise<Place> {
  let command = program;
  let option: Option | undefined;
  let depth = 0;
  const args: string[] = [];
  const given = new Set<string>();
  const globals: Record<string, string> = {};
  for (const word of words) {
    if (option !== undefined) {
      if (option.long === '--config' || option.long === '--database') globals[option.long.slice(2)] = word;
      option = undefined;
      continue;
    }
    if (word.startsWith('-')) {
      const [flag = '', value] = word.split(/=(.*)/s);
      const known = optionsOf(command, program).find(({ long, short }) => long === flag || short === flag);
      given.add(known?.long ?? flag);
      if (known?.required && value === undefined) option = known;
      continue;
    }
    const next = command.commands.find((child) => child.name() === word || child.aliases().includes(word));
    if (next === undefined) args.push(word);
    else {
      command = next;
      depth += 1;
      if (depth === 1) await define(command);
    }
  }
  return { command, option, args, given, globals };
}

async function candidates(word: string, place: Place, context: Context): Promise<Candidate[] | typeof FILES> {
  const { command, option, args, given } = place;
  const sources = sourcesOf(place.globals, context);
  if (option !== undefined) return wordsOf(valuesOf(command, option), word, sources);
  const [flag = '', typed] = word.startsWith('--') ? word.split(/=(.*)/s) : [];
  const root = rootOf(command);
  if (typed !== undefined) {
    const known = optionsOf(command, root).find(({ long }) => long === flag);
    const values = known === undefined ? [] : await wordsOf(valuesOf(command, known), typed, sources);
    return values === FILES ? FILES : values.map((value) => ({ ...value, word: `${flag}=${value.word}` }));
  }
  if (word.startsWith('-')) return optionWords(optionsOf(command, root), given);
  // Some commands have an argument beside their subcommands.
  const children =
    args.length === 0
      ? command.commands.map((child) => ({ word: child.name(), note: child.description() }))
      : [];
  const argument = argumentAt(command, args.length);
  if (argument === undefined) return children;
  const values = valuesOf(command, argument);
  if (typeof values === 'object' && values.first && args.length > 0) return [];
  const words = await wordsOf(values, word, sources).catch(() => []);
  if (words === FILES) return FILES;
  return [...children, ...words.filter((candidate) => !args.includes(candidate.word))];
}

/** The last argument may be one that is repeated. */
function argumentAt({ registeredArguments }: Command, index: number): Argument | undefined {
  const last = registeredArguments.at(-1);
  return registeredArguments[index] ?? (last?.variadic ? last : undefined);
}

const rootOf = (command: Command): Command => (command.parent === null ? command : rootOf(command.parent));

function optionsOf(command: Command, program: Command): Option[] {
  const own = command === program ? [] : command.options;
  return [...own, ...program.options.filter(({ long }) => command === program || long !== '--version')];
}

function optionWords(options: readonly Option[], given: ReadonlySet<string>): Candidate[] {
  const help = { word: '--help', note: 'show this help' };
  const known = options.flatMap(({ long, description, hidden }) =>
    long === null || long === undefined || hidden || given.has(long)
      ? []
      : [{ word: long, note: description }],
  );
  return [...known, help];
}

async function wordsOf(
  values: (typeof VALUES)[string] | undefined,
  word: string,
  sources: Sources,
): Promise<Candidate[] | typeof FILES> {
  if (values === FILES) return FILES;
  if (values === undefined || values === FREE) return [];
  const found = await values.list(sources);
  if (!values.separated) return found;
  const before = word.slice(0, word.lastIndexOf(',') + 1);
  const taken = before.split(',');
  return found
    .filter((candidate) => !taken.includes(candidate.word))
    .map((candidate) => ({ ...candidate, word: before + candidate.word }));
}

function sourcesOf({ config: file, database }: GlobalOptions, { env, cwd, clock }: Context): Sources {
  const config = async (): Promise<Config> => {
    const { load } = await import('../read-config.ts');
    return load({ flags: { config: file, database }, env, cwd, mayLackProviders: true });
  };
  return {
    config,
    async read(use) {
      const { databaseExists, openStore } = await import('../../store/open.ts');
      const { database: location } = await config();
      const { NO_STORE } = await import('../../store/reader.ts');
      if (!databaseExists(location)) return use(NO_STORE);
      const store = await openStore(location);
      try {
        return await use(store);
      } finally {
        await store.close();
      }
    },
    now: clock.now(),
  };
}
