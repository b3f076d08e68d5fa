// The list of commands, and how a command line is run. Options and actions are imported when their command is named, so that
// `--help` and `--version` load little.
import { Command, CommanderError, type ErrorOptions, type HelpContext } from 'commander';
import { CliError } from '../cli-error.ts';
import { ProgramEnd, version, type Context, type GlobalOptions } from './context.ts';
import { didYouMean } from '../config/did-you-mean.ts';
import { withoutKeys } from '../ids.ts';
import { isInteractive, shellWord } from './ui/style.ts';

/** Adds options, examples and the action to an empty command. */
type Define = (command: Command, context: Context) => void;

interface CommandRow {
  name: string;
  summary: string;
  load: () => Promise<Define>;
}

const COMMANDS: readonly CommandRow[] = [
  {
    name: 'init',
    summary: 'write a first configuration file, create the first key',
    load: async () => (await import('./commands/init.ts')).defineInit,
  },
  {
    name: 'serve',
    summary: 'start the gateway',
    load: async () => (await import('./commands/running/serve.ts')).defineServe,
  },
  {
    name: 'run',
    summary: 'start an agent or a program that uses the gateway',
    load: async () => (await import('./commands/tools/run.ts')).defineRun,
  },
  {
    name: 'record',
    summary: 'run a program and record what it sends and gets as a tape',
    load: async () => (await import('./commands/tools/tapes/record.ts')).defineRecord,
  },
  {
    name: 'replay',
    summary: 'answer from a tape, without network',
    load: async () => (await import('./commands/tools/tapes/replay.ts')).defineReplay,
  },
  {
    name: 'tape',
    summary: 'look at a tape: what could be a secret in it',
    load: async () => (await import('./commands/tools/tapes/tape.ts')).defineTape,
  },
  {
    name: 'compare',
    summary: 'send the same requests to several targets, and compare the answers',
    load: async () => (await import('./commands/tools/tapes/compare.ts')).defineCompare,
  },
  {
    name: 'connect',
    summary: 'write the settings that point a tool at this gateway, or take them back',
    load: async () => (await import('./commands/tools/connect.ts')).defineConnect,
  },
  {
    name: 'status',
    summary: 'whether a gateway runs, its providers, and this hour',
    load: async () => (await import('./commands/running/status.ts')).defineStatus,
  },
  {
    name: 'stop',
    summary: 'end the running gateway after its requests',
    load: async () => (await import('./commands/running/stop.ts')).defineStop,
  },
  {
    name: 'reload',
    summary: 'let the running gateway read its configuration again, replace its workers',
    load: async () => (await import('./commands/running/reload.ts')).defineReload,
  },
  {
    name: 'service',
    summary: 'a service of the user that starts the gateway at login',
    load: async () => (await import('./commands/running/service.ts')).defineService,
  },
  {
    name: 'dashboard',
    summary: 'a one-time link to the page of the running gateway',
    load: async () => (await import('./commands/running/dashboard.ts')).defineDashboard,
  },
  {
    name: 'admin',
    summary: 'create, list and revoke tokens of the admin API',
    load: async () => (await import('./commands/running/admin.ts')).defineAdmin,
  },
  {
    name: 'keys',
    summary: 'create, list, rotate and revoke keys',
    load: async () => (await import('./commands/keys.ts')).defineKeys,
  },
  {
    name: 'approve',
    summary: 'let an agent in that signs in by a code, or deny it',
    load: async () => (await import('./commands/running/approve.ts')).defineApprove,
  },
  {
    name: 'accounts',
    summary: 'list, rename and remove accounts',
    load: async () => (await import('./commands/accounts.ts')).defineAccounts,
  },
  {
    name: 'tiers',
    summary: 'list tiers, assign accounts to one',
    load: async () => (await import('./commands/tiers.ts')).defineTiers,
  },
  {
    name: 'limits',
    summary: 'every limit with what is spent and left; raise one for a time',
    load: async () => (await import('./commands/data/limits.ts')).defineLimits,
  },
  {
    name: 'usage',
    summary: 'requests against the limit, tokens, errors, by the hour',
    load: async () => (await import('./commands/data/usage.ts')).defineUsage,
  },
  {
    name: 'audit',
    summary: 'who changed what, when, and from where',
    load: async () => (await import('./commands/data/audit.ts')).defineAudit,
  },
  {
    name: 'export',
    summary: 'write accounts, keys and usage to a file',
    load: async () => (await import('./commands/data/transfer.ts')).defineExport,
  },
  {
    name: 'import',
    summary: 'read a file of gateway export into an empty database',
    load: async () => (await import('./commands/data/transfer.ts')).defineImport,
  },
  {
    name: 'backup',
    summary: 'copy the database while it is in use',
    load: async () => (await import('./commands/data/transfer.ts')).defineBackup,
  },
  {
    name: 'requests',
    summary: 'the last requests; one of them with its attempts',
    load: async () => (await import('./commands/running/requests.ts')).defineRequests,
  },
  {
    name: 'conversations',
    summary: 'what each conversation cost; let one go on that a brake stopped',
    load: async () => (await import('./commands/data/conversations.ts')).defineConversations,
  },
  {
    name: 'top',
    summary: 'what a running gateway does now, live',
    load: async () => (await import('./commands/running/top.ts')).defineTop,
  },
  {
    name: 'models',
    summary: 'every name that a client may send, and its targets',
    load: async () => (await import('./commands/models.ts')).defineModels,
  },
  {
    name: 'targets',
    summary: 'ask targets again that are avoided, forget what was learnt of them',
    load: async () => (await import('./commands/running/targets.ts')).defineTargets,
  },
  {
    name: 'check',
    summary: 'test every provider and show what works',
    load: async () => (await import('./commands/check.ts')).defineCheck,
  },
  {
    name: 'explain',
    summary: 'which target would answer a request, and why the others would not',
    load: async () => (await import('./commands/explain.ts')).defineExplain,
  },
  {
    name: 'config',
    summary: 'check the configuration, show what is in effect',
    load: async () => (await import('./commands/config.ts')).defineConfig,
  },
  {
    name: 'uninstall',
    summary: 'what is left to do before the package goes: tools, service, data',
    load: async () => (await import('./commands/uninstall.ts')).defineUninstall,
  },
  {
    name: 'completion',
    summary: 'print a script that completes commands in bash, zsh or fish',
    load: async () => (await import('./commands/completion.ts')).defineCompletion,
  },
];

function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}

/** commander names the choices of a value, but not the nearest one. */
function nearestChoice(reason: string): string {
  const [, value = '', choices] = /'([^']*)' is invalid.*?\. Allowed choices are (.+)\.$/.exec(reason) ?? [];
  const near = choices === undefined ? undefined : didYouMean(value, choices.split(', '));
  return near === undefined ? '' : ` Did you mean ${near}?`;
}

/** A word that no argument takes is often the account: `gateway keys create web`. undefined: the command has no such option. */
function asAccount({ args, options, registeredArguments }: Command): string | undefined {
  const word = args[registeredArguments.length];
  const takesAccount = options.some(({ long }) => long === '--account');
  // A key is never repeated.
  if (word === undefined || !takesAccount || word !== withoutKeys(word)) return undefined;
  return `no argument is expected; did you mean --account ${shellWord(word)}?`;
}

/** Turns wrong usage into a CliError whose line names the help of this command. */
class GatewayCommand extends Command {
  override createCommand(name?: string): GatewayCommand {
    return new GatewayCommand(name).helpCommand(false);
  }

  override error(message: string, { code }: ErrorOptions = {}): never {
    const meant = code === 'commander.excessArguments' ? asAccount(this) : undefined;
    const reason = meant ?? message.replace(/^error: /, '').replace(/\s*\n\s*/g, ' ');
    throw new CliError(`${reason}${nearestChoice(reason)}; see: ${pathOf(this)} --help`, 2);
  }

  /** commander shows the help of a group for `gateway nope --help`, too. */
  override helpInformation(context?: HelpContext): string {
    const [word = '-'] = this.args;
    const isGroup = this.commands.length > 0 && this.registeredArguments.length === 0;
    if (isGroup && !word.startsWith('-')) this.refuseCommand(word);
    return super.helpInformation(context);
  }

  private refuseCommand(word: string): never {
    const near = didYouMean(
      word,
      this.commands.map((command) => command.name()),
    );
    this.error(`error: unknown command '${word}'${near === undefined ? '' : ` (Did you mean ${near}?)`}`);
  }
}

/** The command line without its commands' options: the hook adds those of the named command before commander parses them. The other
 *  commands are missing if `argv` begins with one. */
function createProgram(context: Context, argv: readonly string[] = []): Command {
  const { stdout, stderr, env } = context;
  const program: Command = new GatewayCommand('gateway')
    .description(
      'A local gateway for language models: any client, any provider, with keys, limits and usage.',
    )
    .version(version(), '-v, --version', 'print the version')
    .helpOption('-h, --help', 'show this help')
    // `plainArguments` implements `gateway help`.
    .helpCommand(false)
    .option(
      '--config <file>',
      'configuration file (default: $GATEWAY_CONFIG, ./gateway.yaml, then your configuration folder)',
    )
    .option(
      '--database <url>',
      'database, a file or postgres://… (default: $GATEWAY_DATABASE, the configuration, then your data folder)',
    )
    .option(
      '--utc',
      'times in UTC (default: those of this machine on a terminal; UTC in a pipe, JSON and CSV)',
    )
    .option('--debug', 'show stack traces')
    .exitOverride()
    .configureHelp({
      showGlobalOptions: true,
      minWidthToWrap: 20,
      visibleGlobalOptions: ({ parent }) =>
        parent ? program.options.filter(({ long }) => long !== '--version') : [],
    })
    .configureOutput({
      writeOut: (text) => void stdout.write(text),
      writeErr: (text) => void stderr.write(text),
      getOutHelpWidth: () => (stdout.isTTY === true ? stdout.columns || 80 : 80),
      getErrHelpWidth: () => (stderr.isTTY === true ? stderr.columns || 80 : 80),
      getOutHasColors: () => isInteractive(stdout, env),
      getErrHasColors: () => isInteractive(stderr, env),
    })
    .addHelpText(
      'after',
      '\nExamples:\n  gateway run claude                     start Claude Code with any model\n' +
        '  gateway serve                          start with the providers of the environment\n' +
        '  gateway keys create --account alice    create a key for an account\n' +
        '\nEnvironment: NO_COLOR and CI turn colours off.\n\n`gateway COMMAND --help` shows the options of a command.',
    );
  const named = COMMANDS.filter(({ name }) => name === argv[0]);
  for (const { name, summary } of named.length > 0 ? named : COMMANDS)
    program.command(name).description(summary);
  program.hook('preSubcommand', async (_program, command) => define(command, context));
  program.hook('preAction', () => void (context.utc = program.opts<GlobalOptions>().utc === true));
  return program;
}

/** Adds the options and the action of a command to it. */
async function define(command: Command, context: Context): Promise<void> {
  const row = COMMANDS.find(({ name }) => name === command.name());
  (await row?.load())?.(command, context);
}

/** The whole command line, every command with its options. For documents and tests. */
export async function describeProgram(context: Context): Promise<Command> {
  const program = createProgram(context);
  for (const command of program.commands) await define(command, context);
  return program;
}

/** `gateway help keys create` means `gateway keys create --help`; `-V` means `--version`. */
function plainArguments(argv: readonly string[]): string[] {
  if (argv[0] === '-V') return ['--version'];
  return argv[0] === 'help' ? [...argv.slice(1), '--help'] : [...argv];
}

/** The hidden command that the scripts of `gateway completion` call. The words after it are those of a command line. */
const COMPLETE = '__complete';

/** Runs one command line. Resolves to its exit code; never rejects. */
export async function execute(argv: readonly string[], given: Context): Promise<number> {
  const words = guardToolWords(plainArguments(argv));
  // A copy that still looks up the current folder on demand: the folder may have been deleted.
  const context = Object.defineProperties({}, Object.getOwnPropertyDescriptors(given)) as Context;
  const program = createProgram(context, words);
  if (argv[0] === COMPLETE) {
    const { complete } = await import('./commands/complete.ts');
    const parts = { program, define: (command: Command) => define(command, context), context };
    context.stdout.write(await complete(argv.slice(1), parts));
    return 0;
  }
  try {
    await program.parseAsync(words, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof ProgramEnd) return error.code;
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    const { debug } = program.opts<GlobalOptions>();
    const { errorLines, say } = await import('./ui/lines.ts');
    const { lines, exitCode } = errorLines(error, debug === true);
    for (const line of lines) say(context.stderr, `gateway: ${line}`);
    return exitCode;
  }
}

/** Options of `run` and of the program. */
const WITH_VALUE = new Set(['--config', '--database', '--label', '--model', '--record']);

/** `gateway run [OPTIONS] TOOL [ARGS…]`: the words after the tool are the tool's. A `--` before it keeps commander from reading them. */
export function guardToolWords(argv: readonly string[]): string[] {
  const command = firstWord(argv, 0);
  const tool = firstWord(argv, command + 1);
  if (argv[command] !== 'run' || tool >= argv.length) return [...argv];
  return [...argv.slice(0, tool), '--', ...argv.slice(tool)];
}

/** The index of the first word that is no option and no option's value. */
function firstWord(argv: readonly string[], from: number): number {
  let at = from;
  for (; at < argv.length; at += 1) {
    const word = argv[at] ?? '';
    if (WITH_VALUE.has(word)) at += 1;
    else if (!word.startsWith('-') || word === '--') break;
  }
  return at;
}
