// Starts a program that uses a gateway, for that process alone: `gateway run`, `record` and `replay`. Nothing of the user's is changed: the
// program gets variables, arguments and files of a private folder, which is removed when it ends.
import type { Config } from '../../config/config.ts';
import { HOUR_MS, hourOf } from '../../clock.ts';
import { limitOf, tierNamed } from '../../accounts/terms.ts';
import { labelOf } from '../../conversations/names.ts';
import { plural } from '../../plural.ts';
import type { AdmissionStore, KeyStore } from '../../store/store.ts';
import type { Environment } from '../../environment.ts';
import { CliError } from '../../cli-error.ts';
import type { GatewayRecorder } from '../../app/parts.ts';
import { withoutProxy } from '../../tools/no-proxy.ts';
import { findProgram } from '../../tools/programs.ts';
import { programSetup, variablesFor, type Setup } from '../../tools/setups.ts';
import { findTool, TOOL_NAMES, type Tool } from '../../tools/tools.ts';
import { LOCAL_ACCOUNT, ProgramEnd, type Context } from '../context.ts';
import { openDatabase } from '../database.ts';
import { assignTierCommand, say } from '../ui/lines.ts';
import { unknownTool } from '../ui/sentences.ts';
import { clean, formatCount, formatDuration } from '../ui/style.ts';
import { createPrivateFolder, relaySignals, runProgram, type Ended, type SignalRelay } from './process.ts';
import type { ReachedGateway, ReachedModel } from './reach.ts';

/** A program to start. */
export interface Choice {
  /** For people: `claude`. */
  name: string;
  file: string;
  args: readonly string[];
  setup: Tool['setup'];
  /** It can show limits. */
  canShow: boolean;
  /** Named after the tool. */
  model?: string | undefined;
  native?: boolean | undefined;
}

/** The gateway of the program. */
export interface Session {
  /** For people: `run`. */
  verb: string;
  config: Config;
  /** Reads the configuration again, of a gateway that this process starts. */
  load: () => Promise<Config>;
  /** The model of the program, unless its words name one. */
  model: string;
  label?: string | undefined;
  /** The program is to show limits of its account, or does where there are some. */
  native?: boolean | 'where_limited';
  /** This process starts the gateway, whatever runs. */
  isOwn?: boolean;
  /** Of an own gateway, with the key of the program. */
  recorder?: (key: string) => Promise<GatewayRecorder>;
  /** Called when program and gateway have ended, with the program's exit code; 1 if it did not start. May throw ProgramEnd. */
  ended?: (code: number) => void;
}

/** Ends as the program does. Rejects with CliError if it can't be started. */
export async function launch(choice: Choice, session: Session, context: Context): Promise<never> {
  const signals = relaySignals(context);
  const undo: (() => Promise<void> | void)[] = [() => signals.stop()];
  let ended: Ended = { code: 1, signal: null };
  try {
    ended = await start(choice, { session, context, signals, undo });
  } finally {
    for (const step of undo.reverse()) await step();
    session.ended?.(ended.code);
  }
  if (ended.signal !== null) context.die(ended.signal);
  throw new ProgramEnd(ended.code);
}

interface Start {
  session: Session;
  context: Context;
  signals: SignalRelay;
  /** What is to be done at the end, in reverse order. */
  undo: (() => Promise<void> | void)[];
}

async function start(choice: Choice, { session, context, signals, undo }: Start): Promise<Ended> {
  const { config, verb } = session;
  const store = await openDatabase(config);
  undo.push(() => store.close());
  const { leaseKey } = await import('./keys.ts');
  const { reachGateway } = await import('./reach.ts');
  const native = await showsLimits(choice, session, store, context);
  const usageLabel = labelOf(session.label);
  const key = await leaseKey(store, context, `${verb} ${choice.name}`, { usageLabel, native });
  undo.push(() => key.end());
  const recorder = await session.recorder?.(key.plaintext);
  const gateway = await reachGateway({
    config,
    load: session.load,
    store,
    key: key.plaintext,
    tool: choice.name,
    context,
    isOwn: session.isOwn === true || recorder !== undefined,
    recorder,
  });
  undo.push(() => gateway.stop());
  const model = await gateway.model(choice.model ?? session.model);
  const folder = createPrivateFolder();
  undo.push(() => folder.remove());
  const setup = choice.setup({
    url: gateway.url,
    key: key.plaintext,
    model: model.name,
    window: model.window,
    output: model.output,
    serverTools: model.serverTools,
    native,
    fileAt: folder.fileAt,
  });
  folder.write(setup.files ?? {});
  if (signals.early !== undefined) return { code: 1, signal: signals.early };
  say(context.stderr, lineOf(choice, verb, gateway, model));
  const left = await limitLine(store, config, context);
  if (left !== undefined) say(context.stderr, left);
  const args = [...(setup.args ?? []), ...choice.args];
  const env = environment(context.env, setup);
  return runProgram({ file: choice.file, args, env, cwd: context.cwd }, signals);
}

/** Throws CliError if there is no such tool, or it is not installed. */
export async function choose([first, ...args]: string[], context: Context): Promise<Choice> {
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
  const canShow = tool.native === true;
  return { name: tool.name, file, setup: tool.setup, canShow, ...optionsFirst(args, canShow) };
}

/** There are tools that `gateway connect` alone knows. */
async function notStarted(name: string): Promise<CliError> {
  const { findConnectTool } = await import('../../tools/connected-tools.ts');
  const other = findConnectTool(name);
  if (other !== undefined) {
    const how = `its settings point it at the gateway: gateway connect ${other.name}`;
    return new CliError(`${other.title} is not started by gateway run; ${how}`, 2);
  }
  return unknownTool(name, TOOL_NAMES, 'for any other program: gateway run -- PROGRAM');
}

/** Whether the tool is to show limits: as told, else where its account has one, since it costs something (docs/tools.md). Throws CliError
 *  for a tool that can't. */
async function showsLimits(
  { name, canShow, native: named }: Choice,
  { config, native: told = false }: Session,
  store: KeyStore,
  { stderr }: Context,
): Promise<boolean> {
  const native = named ?? told;
  if (native === true && !canShow)
    throw new CliError(`${name} shows no limits of a gateway: --native is for claude`, 2);
  if (!canShow || native !== 'where_limited') return native === true;
  const account = await store.findAccount(LOCAL_ACCOUNT);
  if (account === undefined || tierNamed(account.tier, config.tiers).limits.length === 0) return false;
  say(stderr, `gateway run: ${name} shows the limits of account ${LOCAL_ACCOUNT} (--no-native: it does not)`);
  return true;
}

/** `gateway run claude --model NAME --native …`: a tool's own option would name a model that the tool does not know, or not its window. */
function optionsFirst(words: readonly string[], canShow: boolean): Pick<Choice, 'model' | 'native' | 'args'> {
  let model: string | undefined;
  let native: boolean | undefined;
  let args = words;
  for (;;) {
    const [first = '', second] = args;
    if (first.startsWith('--model=')) model = first.slice('--model='.length);
    else if (first === '--model' && second !== undefined) model = second;
    else if (canShow && /^--(?:no-)?native$/.test(first)) native = first === '--native';
    else return { model, native, args };
    args = args.slice(first === '--model' ? 2 : 1);
  }
}

function chooseProgram([program = '', ...args]: string[], context: Context): Choice {
  const file = findProgram(program, context);
  if (file === undefined) {
    throw new CliError(
      `no program ${JSON.stringify(program)} in PATH; check the name, or write its path`,
      127,
    );
  }
  return { name: program.replace(/^.*\//, ''), file, args, setup: programSetup, canShow: false };
}

/** The words behind `--` of `record` and `replay`: a tool by its name, or any program. */
export async function chooseCommand(words: readonly string[], context: Context): Promise<Choice> {
  const [first = ''] = words;
  return choose(findTool(first) === undefined ? ['--', ...words] : [...words], context);
}

function lineOf({ name }: Choice, verb: string, { url }: ReachedGateway, model: ReachedModel): string {
  const window = model.window === null ? 'window unknown' : `window ${formatCount(model.window)}`;
  const facts = [...(model.target === model.name ? [] : [model.target]), window].join(', ');
  const simulated = model.target.startsWith('sim/') && model.name !== model.target;
  const note = simulated ? '; no provider is configured: a simulated one answers' : '';
  return clean(`gateway ${verb}: ${name} → ${url}, model ${model.name} (${facts})${note}`);
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
function environment(user: Environment, setup: Setup): Environment {
  const merged = { ...user, ...variablesFor(setup, user), ...withoutProxy(user) };
  return Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== undefined));
}
