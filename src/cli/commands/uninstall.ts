// `gateway uninstall`: what is left to do before the package goes. Else agents stay pointed at a gateway that no longer exists, and a
// service starts a program that is gone.
import { existsSync, lstatSync, readFileSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import type { Command } from 'commander';
import type { Config } from '../../config/config.ts';
import type { RunningGateway } from '../../control/client.ts';
import { CliError } from '../../cli-error.ts';
import type { Context } from '../context.ts';
import { openConnections, type Connections } from '../../tools/connections.ts';
import { findRunning } from '../running.ts';
import { say } from '../ui/lines.ts';
import { clean, printJson, printLines, shellWord } from '../ui/style.ts';
import { readValidConfig } from '../read-config.ts';
import { shownDatabase } from '../ui/sentences.ts';

interface Options {
  write?: boolean;
  data?: boolean;
  json?: boolean;
}

/** What a gateway has left on this machine. */
interface Left {
  connections: Connections;
  tools: string[];
  service: { file: string; end: string[]; on: boolean; ours: boolean } | undefined;
  gateways: RunningGateway[];
  /** Processes that still use the data: this command does not end those of `gateway run` and those that do not answer. */
  users: number[];
  /** Folders of this user's gateway alone, and a database elsewhere. */
  folders: string[];
  elsewhere: string | undefined;
}

const PACKAGE = 'npm rm -g local-llm-gateway';

export function defineUninstall(command: Command, context: Context): void {
  command
    .option('--write', 'do it; the data is kept')
    .option('--data', 'with --write: also delete configuration, database and log')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExamples:\n  gateway uninstall\n  gateway uninstall --write')
    .action(async (options: Options, self: Command) => uninstall(options, self, context));
}

async function uninstall(options: Options, command: Command, context: Context): Promise<void> {
  if (options.data === true && options.write !== true)
    command.error('error: --data deletes only together with --write');
  const left = await look(await readValidConfig(command, context), context);
  const done = options.write === true ? await doAll(left, options, command, context) : [];
  if (options.json === true) {
    const { tools, service, gateways, folders, elsewhere } = left;
    printJson(context, {
      tools,
      service: service === undefined ? null : { file: service.file, on: service.on, changed: !service.ours },
      gateways: gateways.map(({ status }) => status.pid),
      data: elsewhere === undefined ? folders : [...folders, elsewhere],
      done,
    });
  } else if (options.write === true) printDone(done, left, options, context);
  else printLeft(left, context);
}

async function look(config: Config, context: Context): Promise<Left> {
  const { defaultPaths } = await import('../../config/load.ts');
  const paths = defaultPaths(context.env);
  const folders = [path.dirname(paths.config), path.dirname(paths.database), paths.log];
  const connections = openConnections(path.join(path.dirname(paths.database), 'connect'));
  const { all, own, silent } = await findRunning(config, context);
  const inside = folders.some((folder) => config.database.startsWith(folder + path.sep));
  return {
    connections,
    tools: connections.tools(),
    service: await serviceLeft(context),
    gateways: own,
    users: [
      ...silent,
      ...all.filter(({ status }) => status.tool !== undefined).map(({ status }) => status.pid),
    ],
    folders: [...new Set(folders)].filter((folder) => existsSync(folder)),
    elsewhere: inside ? undefined : shownDatabase(config.database),
  };
}

async function serviceLeft({ env }: Context): Promise<Left['service']> {
  const { isUnchanged, serviceFor } = await import('./running/service.ts');
  const nothing = { node: '', script: '', words: [], environmentFile: '', logFile: '', stopMs: 0 };
  const service = serviceFor(process.platform, { ...nothing, home: env['HOME'] ?? homedir(), env });
  if (service === undefined || !existsSync(service.file)) return undefined;
  const { file, end, enabledLink } = service;
  const on = enabledLink === undefined || lstatSync(enabledLink, { throwIfNoEntry: false }) !== undefined;
  return { file, end, on, ours: isUnchanged(readFileSync(file, 'utf8')) };
}

/** Settings of tools first: whatever fails later, no agent is pointed at a dead gateway. The data goes last. */
async function doAll(left: Left, { data }: Options, command: Command, context: Context): Promise<string[]> {
  const [user] = data === true ? left.users : [];
  if (user !== undefined) throw new CliError(`process ${user} still uses the data; end it, then try again`);
  const { takeBackAll } = await import('../tools/take-back.ts');
  const { undone, faults } = await takeBackAll({ command, context, connections: left.connections });
  const done = undone.map(({ tool }) => `${tool} is as before`);
  if (faults.length > 0) throw new CliError(faults.join('; '));
  if (left.service !== undefined) done.push(endService(left.service, context));
  for (const gateway of left.gateways) done.push(await endGateway(gateway));
  if (data !== true) return done;
  for (const folder of left.folders) rmSync(folder, { recursive: true, force: true });
  return [...done, ...left.folders.map((folder) => `deleted ${folder}`)];
}

function endService({ file, end, on, ours }: NonNullable<Left['service']>, { env }: Context): string {
  if (!ours)
    throw new CliError(`${file} is not as gateway wrote it; remove it: gateway service uninstall --yes`);
  const { spawnSync } = process.getBuiltinModule('node:child_process');
  for (const line of on ? end : []) {
    const { status, stderr } = spawnSync('/bin/sh', ['-c', line], { env, encoding: 'utf8' });
    if (status !== 0)
      throw new CliError(`the service could not be ended: ${line}: ${stderr.trim()}; run it yourself`);
  }
  rmSync(file);
  return `removed ${file}`;
}

async function endGateway(gateway: RunningGateway): Promise<string> {
  const { call } = await import('../../control/client.ts');
  const { AFTER_GRACE_MS, isGoneWithin } = await import('./running/stop.ts');
  const { pid, grace_ms: grace } = gateway.status;
  // A service may have ended it just now.
  await call(gateway, 'POST', '/stop').catch(() => undefined);
  if (!(await isGoneWithin(gateway, grace + AFTER_GRACE_MS)))
    throw new CliError(`the gateway with pid ${pid} has not ended; end it at once: kill ${pid}`);
  return `the gateway with pid ${pid} has stopped`;
}

function printLeft({ tools, service, gateways, folders, elsewhere }: Left, context: Context): void {
  const pids = gateways.map(({ status }) => status.pid).join(', ');
  const row = (name: string, facts: string, remedy: string): string =>
    `${name.padEnd(9)}${clean(facts)}: ${remedy}`;
  const rows = [
    ...(tools.length > 0
      ? [row('tools', `connected are ${tools.join(', ')}`, 'gateway connect --undo')]
      : []),
    ...(service === undefined
      ? []
      : [
          row(
            'service',
            service.file,
            [...(service.on ? service.end : []), 'gateway service uninstall'].join(' && '),
          ),
        ]),
    ...(gateways.length > 0 ? [row('gateway', `runs, pid ${pids}`, 'gateway stop')] : []),
  ];
  const { stdout } = context;
  printLines(stdout, rows.length > 0 ? ['Before the package goes:', '', ...rows, ''] : []);
  if (rows.length > 0) say(stdout, 'To do all of this: gateway uninstall --write');
  else say(stdout, 'Nothing is left to do: no tool is connected, no service is installed, no gateway runs.');
  printData(folders, elsewhere, context);
  say(stdout, `Then: ${PACKAGE}`);
}

function printData(folders: readonly string[], elsewhere: string | undefined, { stdout }: Context): void {
  if (folders.length > 0) {
    const words = folders.map(shellWord).map(clean).join(' ');
    say(stdout, `The data stays in ${words}. To delete it, too: gateway uninstall --write --data`);
  }
  if (elsewhere !== undefined)
    say(stdout, `The database ${clean(elsewhere)} lies elsewhere and stays in any case.`);
}

function printDone(done: readonly string[], left: Left, { data }: Options, context: Context): void {
  printLines(context.stdout, done.map(clean));
  printData(data === true ? [] : left.folders, left.elsewhere, context);
  say(context.stdout, `Now remove the package: ${PACKAGE}`);
}
