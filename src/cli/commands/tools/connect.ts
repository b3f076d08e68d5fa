// `gateway connect [TOOL]`: shows, writes or takes back the settings of a tool that point it at this gateway.
import { homedir } from 'node:os';
import path from 'node:path';
import { Option, type Command } from 'commander';
import type { Connection, Connections } from '../../../tools/connections.ts';
import type { PlannedFile } from '../../../tools/engine.ts';
import type { GatewayFacts } from '../../tools/gateway-facts.ts';
import type { ToolKey } from '../../tools/keys.ts';
import type { Places, Target } from '../../../tools/settings.ts';
import {
  CONNECT_NAMES,
  CONNECT_TOOLS,
  findConnectTool,
  isInstalled,
  type ConnectTool,
} from '../../../tools/connected-tools.ts';
import type { AdminStore } from '../../../store/admin/admin-records.ts';
import type { KeyStore } from '../../../store/store.ts';
import { CliError } from '../../../cli-error.ts';
import { ProgramEnd, type Context } from '../../context.ts';
import { say } from '../../ui/lines.ts';
import { clean, printJson } from '../../ui/style.ts';
import { withDatabase } from '../../database.ts';
import { revokeAuditedKey } from '../../audited.ts';
import { findTool } from '../../../tools/tools.ts';
import { unknownTool } from '../../ui/sentences.ts';
import { withoutProxy } from '../../../tools/no-proxy.ts';
import { environmentFor, exportLines, SHELLS, shellOf, type Shell } from '../../../tools/shell-exports.ts';
import { isValid } from '../../../accounts/terms.ts';

interface Options {
  model: string;
  write?: boolean;
  undo?: boolean;
  env?: boolean;
  shell?: Shell;
  keyStdin?: boolean;
  signIn?: boolean;
  native?: boolean;
  json?: boolean;
}

export function defineConnect(connect: Command, context: Context): void {
  const width = Math.max(...CONNECT_NAMES.map((name) => name.length));
  const kind = ({ settings, env }: ConnectTool): string => {
    if (settings !== undefined) return '';
    return env === undefined ? ' (steps for a person)' : ' (variables)';
  };
  connect
    .argument('[tool]')
    .option('--model <name>', 'a route or provider/model; the tool uses it for everything', 'auto')
    .option('--write', 'write the settings, with a key of their own')
    .option('--undo', 'take them back, and revoke that key; without a tool: of all tools')
    .option('--env', 'print variables for a shell, for the SDKs or for the tool')
    .addOption(new Option('--shell <shell>', 'the shell of --env (default: that of $SHELL)').choices(SHELLS))
    .option('--sign-in', 'claude: it signs in by a code that you approve, without a key (default: no)')
    .option('--native', "claude: show the account's limits on its own screen (default: no)")
    .option('--key-stdin', 'read the key from standard input (default: $GATEWAY_KEY, else a new one)')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `\nTools:\n${CONNECT_TOOLS.map((tool) => `  ${tool.name.padEnd(width)}  ${tool.title}${kind(tool)}`).join('\n')}\n` +
        '\nWithout --write, nothing is changed. No file of a project is ever changed.' +
        '\n\nExamples:\n  gateway connect                     which tools are here, which are connected' +
        '\n  gateway connect claude              what would change\n  gateway connect claude --write' +
        '\n  gateway connect claude --undo\n  gateway connect --undo              take back all\n  eval "$(gateway connect --env)"',
    )
    .action(async (name: string | undefined, options: Options, command: Command) =>
      runConnect(name, options, command, context),
    );
}

/** What all parts of the command need. */
export interface Run {
  options: Options;
  command: Command;
  context: Context;
  places: Places;
  connections: Connections;
}

async function runConnect(
  name: string | undefined,
  options: Options,
  command: Command,
  context: Context,
): Promise<void> {
  const chosen = (['write', 'undo', 'env'] as const).filter((option) => options[option] === true);
  if (chosen.length > 1) command.error(`error: --${chosen.join(' and --')} exclude each other`);
  const { openConnections } = await import('../../../tools/connections.ts');
  const { defaultPaths } = await import('../../../config/load.ts');
  const connections = openConnections(path.join(path.dirname(defaultPaths(context.env).database), 'connect'));
  const home = context.env['HOME'] ?? homedir();
  const places: Places = { env: context.env, platform: process.platform, home };
  const picked =
    name === undefined && options.undo !== true
      ? await pickTool(options, command, { context, places })
      : undefined;
  const known = name ?? picked?.tool;
  const tool = known === undefined ? undefined : await mustFind(known);
  const run: Run = {
    options: { ...options, model: picked?.model ?? options.model },
    command,
    context,
    places,
    connections,
  };
  if (options.signIn === true && (options.env === true || options.keyStdin === true))
    command.error('error: --sign-in needs no key: neither --env nor --key-stdin goes with it');
  if (options.native === true && tool !== undefined && findTool(tool.name)?.native !== true)
    throw new CliError(`${tool.title} shows no limits of a gateway: --native is for claude`, 2);
  if (options.env === true) await printEnvironment(tool, run);
  else if (tool !== undefined && options.signIn === true && options.undo !== true)
    await (await import('./connect-sign-in.ts')).connectSignIn(tool, run);
  else if (tool !== undefined) await (options.undo === true ? undoTool(tool, run) : connectTool(tool, run));
  else if (options.undo === true) await undoAll(run);
  else if (chosen.length > 0) command.error(`error: name a tool (${CONNECT_NAMES.join(', ')})`);
  else await listTools(run);
}

/** On a terminal, a person picks; undefined elsewhere, and where the options need no tool. */
async function pickTool(
  options: Options,
  command: Command,
  { context, places }: Pick<Run, 'context' | 'places'>,
): Promise<{ tool: string; model: string } | undefined> {
  const { canPick } = await import('../../ui/pick.ts');
  if (options.json === true || options.env === true || !canPick(context)) return undefined;
  const { askForTool } = await import('../../tools/ask-for-tool.ts');
  const tools = CONNECT_TOOLS.map((tool) => {
    return { name: tool.name, title: tool.title, installed: isInstalled(tool, context, places) };
  });
  const isNamed = command.getOptionValueSource('model') === 'cli';
  const picked = await askForTool('connect', tools, isNamed ? options.model : undefined, command, context);
  if (picked === undefined) throw new ProgramEnd(130);
  return picked;
}

async function mustFind(name: string): Promise<ConnectTool> {
  const tool = findConnectTool(name);
  if (tool !== undefined) return tool;
  throw await unknownTool(name, CONNECT_NAMES, 'for other programs: gateway connect --env');
}

async function listTools({ options, context, places, connections }: Run): Promise<void> {
  const { stateOf } = await import('../../../tools/engine.ts');
  const { printTools } = await import('../../tools/connect-view.ts');
  const rows = [];
  for (const tool of CONNECT_TOOLS) {
    const connection = connections.read(tool.name);
    const state = connection === undefined ? 'none' : await stateOf(connection);
    rows.push({ tool, installed: isInstalled(tool, context, places), connection, state } as const);
  }
  if (!options.json) {
    await printTools(rows, context);
    return;
  }
  const described = rows.map(({ tool, installed, connection, state }) => ({
    tool: tool.name,
    title: tool.title,
    installed: installed ?? null,
    connected: state === 'connected' || state === 'changed',
    state,
    url: connection?.url ?? null,
    model: connection?.model ?? null,
    at: connection?.at ?? null,
    files: connection?.files.map((file) => file.path) ?? [],
  }));
  printJson(context, described);
}

async function connectTool(tool: ConnectTool, run: Run): Promise<void> {
  const { options, command, context, connections } = run;
  const { gatewayFacts } = await import('../../tools/gateway-facts.ts');
  const { NO_KEY } = await import('../../tools/keys.ts');
  if (options.write === true && tool.settings === undefined) {
    const how = tool.env === undefined ? '' : ` --env`;
    throw new CliError(
      `${tool.title} has no file that could be written; see: gateway connect ${tool.name}${how}`,
    );
  }
  const facts = await gatewayFacts(command, context, options.model);
  if (isInstalled(tool, context, run.places) === false)
    say(context.stderr, `${tool.title} was not found on this machine`);
  const view = await import('../../tools/connect-view.ts');
  const steps = tool.steps(targetOf(facts, NO_KEY, options));
  const planOf = async () => {
    const connection = connections.read(tool.name);
    return { connection, planned: await planFor(tool, targetOf(facts, NO_KEY, options), connection, run) };
  };
  // A fault in a file is reported before anything is written.
  const { connection, planned } = await planOf();
  for (const { state } of planned.filter(({ ignored }) => ignored === true)) {
    say(
      context.stderr,
      `warning: ${tool.title} ignores ${clean(state.path)}: it reads no comments and no comma after a last item; take them out`,
    );
  }
  if (options.write !== true) {
    await view.printPlan(
      { tool, facts, planned, steps, connected: connection !== undefined, json: options.json === true },
      context,
    );
    return;
  }
  const done = await withDatabase(facts.config, (store) =>
    connections.alone(async () => write({ tool, facts, ...(await planOf()) }, store, run)),
  );
  await view.printWritten({ tool, facts, steps, ...done, json: options.json === true }, context);
}

const targetOf = (
  { url, model, helpers }: GatewayFacts,
  key: string,
  { native = false }: Options,
): Target => ({
  url,
  key,
  model: model.name,
  window: model.window,
  output: model.output,
  serverTools: model.serverTools,
  ...helpers,
  native,
});

async function planFor(
  tool: ConnectTool,
  to: Target,
  connection: Connection | undefined,
  { places, connections }: Run,
): Promise<PlannedFile[]> {
  const { plan } = await import('../../../tools/engine.ts');
  return tool.settings === undefined ? [] : plan(tool.settings(to, places), connection, connections);
}

interface Planned {
  tool: ConnectTool;
  facts: GatewayFacts;
  planned: readonly PlannedFile[];
  connection: Connection | undefined;
}

export interface Written {
  connection: Connection;
  /** undefined: all was as it should be, and nothing was written. */
  key: ToolKey | undefined;
}

const KEY_TEXT = /sk-gw-(?:[0-9A-Za-z]{40,128}|…)/g;

async function write(
  { tool, facts, planned, connection }: Planned,
  store: KeyStore & AdminStore,
  run: Run,
): Promise<Written> {
  const { context, connections, options } = run;
  const { apply, isInEffect } = await import('../../../tools/engine.ts');
  const { newKey } = await import('../../tools/keys.ts');
  const given = await keyGiven(store, run);
  const same = (one: string, other: string): boolean =>
    one.replace(KEY_TEXT, '') === other.replace(KEY_TEXT, '');
  if (
    connection !== undefined &&
    given === undefined &&
    isInEffect(planned, same) &&
    (await works(connection, store, context))
  ) {
    return { connection, key: undefined };
  }
  const key = given ?? (await newKey(store, context, tool.name));
  try {
    const final = await planFor(tool, targetOf(facts, key.plaintext, options), connection, run);
    const at = new Date(context.clock.now()).toISOString();
    const { url, model } = facts;
    const made = key.id === null ? null : { id: key.id, made: key.made };
    const result = apply(final, { tool: tool.name, at, url, model: model.name, key: made }, connections);
    if (connection?.key?.made === true) await revokeAuditedKey(store, context, connection.key.id);
    return { connection: result, key };
  } catch (error) {
    if (key.made && key.id !== null) await revokeAuditedKey(store, context, key.id);
    throw error;
  }
}

async function keyGiven(
  store: KeyStore & AdminStore,
  { options, context }: Run,
): Promise<ToolKey | undefined> {
  const { givenKey } = await import('../../tools/keys.ts');
  const { KEY_VARIABLE } = await import('../../../tools/setups.ts');
  const text = options.keyStdin === true ? await context.readInput?.() : context.env[KEY_VARIABLE];
  if (options.keyStdin === true && (text ?? '').trim() === '')
    throw new CliError('standard input holds no key');
  return text === undefined || text.trim() === '' ? undefined : givenKey(text.trim(), store, context);
}

/** Whether the key of a connection, which --write made, is still accepted. */
async function works({ key }: Connection, store: KeyStore, { clock }: Context): Promise<boolean> {
  if (key === null || !key.made) return false;
  const known = (await store.listKeys()).find(({ id }) => id === key.id);
  return known !== undefined && isValid(known, clock.now());
}

async function undoTool({ name, title }: ConnectTool, run: Run): Promise<void> {
  const { takeBack } = await import('../../tools/take-back.ts');
  const { describeUndone, printUndone } = await import('../../tools/connect-view.ts');
  const undone = await takeBack(name, run);
  if (undone === undefined)
    throw new CliError(`${title} is not connected: there is nothing to take back; see: gateway connect`);
  if (run.options.json === true) printJson(run.context, describeUndone(undone));
  else await printUndone(undone, run.context);
}

async function undoAll(run: Run): Promise<void> {
  const { takeBackAll } = await import('../../tools/take-back.ts');
  const { describeUndone, printUndone } = await import('../../tools/connect-view.ts');
  const { context, options } = run;
  const { undone, faults } = await takeBackAll(run);
  if (options.json === true) printJson(context, undone.map(describeUndone));
  else if (undone.length + faults.length === 0) say(context.stdout, 'No tool is connected.');
  else for (const tool of undone) await printUndone(tool, context);
  if (faults.length > 0) throw new CliError(faults.join('; '));
}

async function printEnvironment(tool: ConnectTool | undefined, run: Run): Promise<void> {
  const { command, context, options } = run;
  const { gatewayFacts } = await import('../../tools/gateway-facts.ts');
  const { newKey } = await import('../../tools/keys.ts');
  const setup = environmentFor(tool);
  const facts = await gatewayFacts(command, context, options.model, { forNow: true });
  const key = await withDatabase(
    facts.config,
    async (store) => (await keyGiven(store, run)) ?? newKey(store, context, tool?.name ?? 'env'),
  );
  const target = targetOf(facts, key.plaintext, options);
  const variables = { ...setup(target, context.env), ...withoutProxy(context.env) };
  if (options.json === true) printJson(context, { url: facts.url, variables, key: key.id });
  else context.stdout.write(exportLines(variables, options.shell ?? shellOf(context.env)));
  const view = await import('../../tools/connect-view.ts');
  if (key.made)
    say(
      context.stderr,
      `${view.keyLine(key)}; to reuse it, set GATEWAY_KEY before the next gateway connect --env`,
    );
  view.warnIfStopped(facts, context);
}
