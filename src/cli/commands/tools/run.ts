// `gateway run TOOL [ARGS…]`: starts a tool that uses the gateway, for that process alone. Nothing of the user's is changed: the tool
// gets variables, arguments and files of a private folder, which is removed when it ends.
import type { Command } from 'commander';
import { HOUR_MS, hourOf } from '../../../clock.ts';
import { labelOf } from '../../../conversations/names.ts';
import type { Config } from '../../../config/config.ts';
import { plural } from '../../../plural.ts';
import type { KeyStore, AdmissionStore } from '../../../store/store.ts';
import type { Environment } from '../../../environment.ts';
import { CliError } from '../../../cli-error.ts';
import { LOCAL_ACCOUNT, ProgramEnd, type Context } from '../../context.ts';
import type { ReachedGateway, ReachedModel } from '../../tools/reach.ts';
import { findProgram } from '../../../tools/programs.ts';
import { relaySignals, runProgram, createPrivateFolder, type SignalRelay } from '../../tools/process.ts';
import { withoutProxy } from '../../../tools/no-proxy.ts';
import { programSetup, type Setup } from '../../../tools/setups.ts';
import { findTool, TOOL_NAMES, TOOLS, type Tool } from '../../../tools/tools.ts';
import { assignTierCommand, say } from '../../ui/lines.ts';
import { clean, formatCount, formatDuration } from '../../ui/style.ts';
import { loadProviders, readConfig } from '../../read-config.ts';
import { openDatabase } from '../../database.ts';
import { limitOf } from '../../../accounts/terms.ts';
import { unknownTool } from '../../ui/sentences.ts';

interface Options {
  model: string;
  label?: string;
}

export function defineRun(run: Command, context: Context): void {
  const width = Math.max(...TOOL_NAMES.map((name) => name.length));
  run
    .usage('[options] TOOL [ARGS…]\n       gateway run [options] -- PROGRAM [ARGS…]')
    .argument('[words...]')
    .option('--model <name>', 'a route or provider/model; the tool uses it for everything', 'auto')
    .option('--label <label>', 'of its requests, for gateway usage --by label (default: none)')
    .helpOption('-h, --help', 'show this help')
    .addHelpText(
      'after',
      `\nTools:\n${TOOLS.map(({ name, title }) => `  ${name.padEnd(width)}  ${title}`).join('\n')}\n` +
        `  ${'--'.padEnd(width)}  any program, with the variables of the official SDKs\n` +
        '\nYour gateway is used if one runs on this database; otherwise one runs as long as the tool does. --model' +
        '\nmay also follow the tool; all other words after it are its own.' +
        '\n\nExamples:\n  gateway run claude\n  gateway run --label pr-123 claude\n  gateway run --model openai/gpt-5.2 claude -p "What does this project do?"' +
        '\n  gateway run codex exec "Add a test"\n  gateway run -- node app.js',
    )
    .action(async (words: string[], options: Options, command: Command) =>
      runCommand(words, options, command, context),
    );
}

/** A program to start. */
interface Choice {
  /** For people: `claude`. */
  name: string;
  file: string;
  args: readonly string[];
  setup: Tool['setup'];
  /** Named after the tool. */
  model?: string | undefined;
}

async function runCommand(
  words: string[],
  options: Options,
  command: Command,
  context: Context,
): Promise<void> {
  const choice = await choose(words.length === 0 ? await asked(options, command, context) : words, context);
  const signals = relaySignals(context);
  const undo: (() => Promise<void> | void)[] = [() => signals.stop()];
  let ended: { code: number; signal: NodeJS.Signals | null };
  try {
    ended = await start(choice, { options, command, context, signals, undo });
  } finally {
    for (const step of undo.reverse()) await step();
  }
  if (ended.signal !== null) context.die(ended.signal);
  throw new ProgramEnd(ended.code);
}

interface Start {
  options: Options;
  command: Command;
  context: Context;
  signals: SignalRelay;
  /** What is to be done at the end, in reverse order. */
  undo: (() => Promise<void> | void)[];
}

async function start(choice: Choice, { options, command, context, signals, undo }: Start) {
  const config = await readConfig(command, context);
  const store = await openDatabase(config);
  undo.push(() => store.close());
  const { leaseKey } = await import('../../tools/keys.ts');
  const { reachGateway } = await import('../../tools/reach.ts');
  const key = await leaseKey(store, context, `run ${choice.name}`, labelOf(options.label));
  undo.push(() => key.end());
  const gateway = await reachGateway({
    config,
    load: () => loadProviders(command, context),
    store,
    key: key.plaintext,
    tool: choice.name,
    context,
  });
  undo.push(() => gateway.stop());
  const model = await gateway.model(choice.model ?? options.model);
  const folder = createPrivateFolder();
  undo.push(() => folder.remove());
  const setup = choice.setup({
    url: gateway.url,
    key: key.plaintext,
    model: model.name,
    window: model.window,
    output: model.output,
    serverTools: model.serverTools,
    fileAt: folder.fileAt,
  });
  folder.write(setup.files ?? {});
  if (signals.early !== undefined) return { code: 1, signal: signals.early };
  say(context.stderr, lineOf(choice, gateway, model));
  const left = await limitLine(store, config, context);
  if (left !== undefined) say(context.stderr, left);
  const args = [...(setup.args ?? []), ...choice.args];
  const env = environment(context.env, setup);
  return runProgram({ file: choice.file, args, env, cwd: context.cwd }, signals);
}

/** The words that a person picks on a terminal; none elsewhere. */
async function asked(options: Options, command: Command, context: Context): Promise<string[]> {
  const { canPick } = await import('../../ui/pick.ts');
  if (!canPick(context)) return [];
  const { askForTool } = await import('../../tools/ask-for-tool.ts');
  const tools = TOOLS.map(({ name, title, program }) => {
    return { name, title, installed: findProgram(program, context) !== undefined };
  });
  const isNamed = command.getOptionValueSource('model') === 'cli';
  const picked = await askForTool('run', tools, isNamed ? options.model : undefined, command, context);
  if (picked === undefined) throw new ProgramEnd(130);
  return [picked.tool, '--model', picked.model];
}

/** Throws CliError if there is no such tool, or it is not installed. */
async function choose([first, ...args]: string[], context: Context): Promise<Choice> {
  if (first === undefined || (first === '--' && args.length === 0)) {
    throw new CliError(`name a tool (${TOOL_NAMES.join(', ')}) or -- PROGRAM; see: gateway run --help`, 2);
  }
  if (first === '--') return chooseProgram(args, context);
  const tool = findTool(first);
  if (tool === undefined) throw await notStarted(first);
  const file = findProgram(tool.program, context);
  if (file === undefined) {
    throw new CliError(
      `${tool.title} is not installed: no ${tool.program} in PATH; install it: ${tool.install}`,
      127,
    );
  }
  return { name: tool.name, file, setup: tool.setup, ...modelFirst(args) };
}

/** There are tools that `gateway connect` alone knows. */
async function notStarted(name: string): Promise<CliError> {
  const { findConnectTool } = await import('../../../tools/connected-tools.ts');
  const other = findConnectTool(name);
  if (other !== undefined) {
    const how = `its settings point it at the gateway: gateway connect ${other.name}`;
    return new CliError(`${other.title} is not started by gateway run; ${how}`, 2);
  }
  return unknownTool(name, TOOL_NAMES, 'for any other program: gateway run -- PROGRAM');
}

/** `gateway run claude --model NAME …`: a tool's own option would name a model that the tool does not know, or not its window. */
function modelFirst(words: readonly string[]): Pick<Choice, 'model' | 'args'> {
  const [first = '', second, ...rest] = words;
  if (first.startsWith('--model=')) return { model: first.slice('--model='.length), args: words.slice(1) };
  return first === '--model' && second !== undefined ? { model: second, args: rest } : { args: words };
}

function chooseProgram([program = '', ...args]: string[], context: Context): Choice {
  const file = findProgram(program, context);
  if (file === undefined) {
    throw new CliError(
      `no program ${JSON.stringify(program)} in PATH; check the name, or write its path`,
      127,
    );
  }
  return { name: program.replace(/^.*\//, ''), file, args, setup: programSetup };
}

function lineOf({ name }: Choice, { url }: ReachedGateway, model: ReachedModel): string {
  const window = model.window === null ? 'window unknown' : `window ${formatCount(model.window)}`;
  const facts = [...(model.target === model.name ? [] : [model.target]), window].join(', ');
  const simulated = model.target.startsWith('sim/') && model.name !== model.target;
  const note = simulated ? '; no provider is configured: a simulated one answers' : '';
  return clean(`gateway run: ${name} → ${url}, model ${model.name} (${facts})${note}`);
}

/** What the account of the tool may still ask for this hour; undefined: there is no limit. */
async function limitLine(
  store: KeyStore & AdmissionStore,
  config: Config,
  { clock }: Context,
): Promise<string | undefined> {
  const account = await store.findAccount(LOCAL_ACCOUNT);
  if (account === undefined) return undefined;
  const limit = limitOf(account.tier, config.tiers);
  if (limit === Infinity) return undefined;
  const hour = hourOf(clock.now());
  const [row] = await store.admissionsByHour(account.id, hour);
  const left = Math.max(0, limit - (row?.requests ?? 0));
  return (
    `gateway run: account ${LOCAL_ACCOUNT} has tier ${clean(account.tier)}: ${formatCount(left)} of ` +
    `${plural(limit, 'request', formatCount(limit))} are left for ${formatDuration(hour + HOUR_MS - clock.now())}; ` +
    `to change it: ${assignTierCommand(LOCAL_ACCOUNT).join(' ')}`
  );
}

/** The user's environment with what points the tool at the gateway. No proxy stands between the tool and this machine. */
function environment(user: Environment, { env }: Setup): Environment {
  const merged = { ...user, ...env, ...withoutProxy(user) };
  return Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== undefined));
}
