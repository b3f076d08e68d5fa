// `gateway service`: a service of the user that starts the gateway at login. It is shown first and written only if the user asks;
// the commands that turn it on are the user's own.
import { randomBytes, createHash } from 'node:crypto';
import { lstatSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { makeFolder } from '../../../folders.ts';
import type { Command } from 'commander';
import type { Config } from '../../../config/config.ts';
import type { Environment } from '../../../environment.ts';
import { CliError } from '../../../cli-error.ts';
import type { Context, GlobalOptions } from '../../context.ts';
import { parseWorkers, plainPath } from '../../args/values.ts';
import { findRunning } from '../../running.ts';
import { say } from '../../ui/lines.ts';
import { clean, printJson, printLines, shellWord } from '../../ui/style.ts';
import { readConfig } from '../../read-config.ts';
import { logFilePath } from './serving/log-file.ts';

interface Options {
  json?: boolean;
  write?: boolean;
  yes?: boolean;
  workers?: number;
}

/** After the grace, the gateway still cuts streams and writes what it has to the database. */
const AFTER_GRACE_MS = 15_000;

export function defineService(service: Command, context: Context): void {
  service.addHelpText(
    'after',
    '\nA systemd unit of the user on Linux, a launchd agent on macOS. On Windows, use the Task Scheduler.' +
      '\n\nExamples:\n  gateway service install\n  gateway service install --config gateway.yaml --write',
  );
  service
    .command('install')
    .description('show the file of the service and the commands that turn it on')
    .option('--write', 'write the file')
    .option('--yes', 'replace a file that somebody changed')
    .option(
      '--workers <number>',
      'processes that share the port; auto: one for each core (default: 1)',
      parseWorkers,
    )
    .addHelpText(
      'after',
      '\nExamples:\n  gateway service install\n  gateway service install --workers 2 --write',
    )
    .action(async (options: Options, command: Command) => install(options, command, context));
  service
    .command('uninstall')
    .description('remove the file of the service')
    .option('--yes', 'remove it although somebody changed it, or it is turned on')
    .addHelpText('after', '\nExample:\n  gateway service uninstall')
    .action(async (options: Options, command: Command) => uninstall(options, command, context));
  service
    .command('status')
    .description('whether the service is installed, and a gateway runs')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExit code: 0 if it is installed, 1 if not.\n\nExample:\n  gateway service status',
    )
    .action(async (options: Options, command: Command) => showStatus(options, command, context));
}

async function install(options: Options, command: Command, context: Context): Promise<void> {
  const config = await readConfig(command, context);
  const { environmentFile, ...service } = await serviceOf(config, command, context);
  const { file, text } = service;
  if (options.write !== true) {
    printLines(context.stdout, [`# ${file}`, '', ...text.trimEnd().split('\n'), '']);
    printLines(context.stdout, ['To write this file:', '', '  gateway service install --write', '']);
  } else {
    const present = readFile(file);
    if (present !== undefined && !isUnchanged(present) && options.yes !== true) {
      throw new CliError(`${file} exists and is not as gateway wrote it; replace it with --yes`);
    }
    writeWhole(file, text);
    say(context.stderr, `written to ${clean(file)}`);
  }
  printLines(context.stdout, ['To start the gateway now and at each login:', '']);
  printLines(
    context.stdout,
    service.start.map((line) => `  ${line}`),
  );
  printLines(context.stdout, ['', ...keyLines(environmentFile, config), '', `Its log: ${service.logs}`]);
  if (config.consent === undefined) return;
  say(
    context.stderr,
    'the service uses the configuration of this folder as it is now; after each change of it: gateway config trust',
  );
}

/** A service does not have the variables of a shell. */
function keyLines(environmentFile: string, { file, providers }: Config): string[] {
  const names = [...new Set(providers.flatMap(({ keyFrom }) => keyFrom ?? []))].filter((name) =>
    /^[A-Z_][A-Z0-9_]*$/.test(name),
  );
  const word = shellWord(environmentFile);
  return [
    `The service does not see the variables of your shell. Write the keys of providers${
      names.length > 0 ? ` (${names.join(', ')})` : ''
    }, one NAME=value a line, into a file that`,
    'only you can read; no key belongs in the service itself:',
    '',
    `  mkdir -p ${shellWord(path.dirname(environmentFile))} && touch ${word} && chmod 600 ${word}`,
    ...(file === null
      ? [
          '',
          'No configuration file is in use: the service takes the providers of that file and of this machine.',
        ]
      : []),
  ];
}

async function uninstall(options: Options, command: Command, context: Context): Promise<void> {
  const service = await serviceOf(await readConfig(command, context), command, context);
  const { file, enabledLink, end } = service;
  const present = readFile(file);
  if (present === undefined) throw new CliError(`the service is not installed: there is no ${file}`);
  if (options.yes !== true) {
    if (!isUnchanged(present)) {
      throw new CliError(`${file} is not as gateway wrote it, so it is not removed; remove it with --yes`);
    }
    if (enabledLink !== undefined && exists(enabledLink)) {
      throw new CliError(`the service is turned on; run first: ${end.join(' && ')}`);
    }
  }
  rmSync(file);
  say(context.stdout, `removed ${clean(file)}`);
  if (enabledLink === undefined) say(context.stdout, `To end it now: ${end.join(' && ')}`);
}

async function showStatus(options: Options, command: Command, context: Context): Promise<void> {
  const config = await readConfig(command, context);
  const { file, enabledLink, start } = await serviceOf(config, command, context);
  const present = readFile(file);
  const state = {
    file,
    installed: present !== undefined,
    changed: present !== undefined && !isUnchanged(present),
    enabled: enabledLink === undefined ? null : exists(enabledLink),
    running: (await findRunning(config, context)).own.map(({ status: { pid } }) => pid),
  };
  if (options.json) printJson(context, state);
  else {
    const { installed, changed, enabled, running } = state;
    const kind = changed ? 'installed, and changed since' : 'installed';
    printLines(context.stdout, [
      `file      ${clean(file)}: ${installed ? kind : 'not installed'}`,
      ...(installed && enabled !== null
        ? [`at login  ${enabled ? 'starts' : `does not start; ${start.join(' && ')}`}`]
        : []),
      `gateway   ${running.length > 0 ? `runs, pid ${running.join(', ')}` : 'does not run'}`,
    ]);
  }
  if (!state.installed) throw new CliError('the service is not installed; see: gateway service install');
}

type Installable = Service & { environmentFile: string };

async function serviceOf(config: Config, command: Command, context: Context): Promise<Installable> {
  const { env } = context;
  const { defaultPaths } = await import('../../../config/load.ts');
  const environmentFile = path.join(path.dirname(defaultPaths(env).config), 'environment');
  const script = process.argv[1] ?? '';
  const service = serviceFor(process.platform, {
    node: plainPath(process.execPath),
    script: plainPath(script),
    words: optionsOf(config, command, env).map(plainPath),
    environmentFile: plainPath(environmentFile),
    logFile: plainPath(await logFilePath(config, env)),
    home: plainPath(env['HOME'] ?? homedir()),
    env,
    stopMs: config.limits.shutdownGrace + AFTER_GRACE_MS,
  });
  if (service === undefined) throw unsupported(script, config);
  if (script.includes('/_npx/')) {
    say(context.stderr, 'warning: npx removes its packages; install first: npm install -g local-llm-gateway');
  }
  return { ...service, environmentFile };
}

/** The options that give the service the configuration, database and workers of this command. */
function optionsOf({ file, consent, database }: Config, command: Command, env: Context['env']): string[] {
  const options = command.optsWithGlobals<GlobalOptions & Options>();
  const named = options.database ?? env['GATEWAY_DATABASE'];
  if (named !== undefined && /:\/\/[^/]*@/.test(database)) {
    throw new CliError(
      'a password does not belong in the service; set database in the configuration, or GATEWAY_DATABASE in its file of variables',
    );
  }
  return [
    ...(file === null ? [] : ['--config', file]),
    // The file of a folder stays one: what it becomes later needs consent, too.
    ...(consent === undefined ? [] : ['--as-trusted']),
    ...(named === undefined || named === '' ? [] : ['--database', database]),
    ...(options.workers === undefined ? [] : ['--workers', String(options.workers)]),
  ];
}

function unsupported(script: string, { file }: Config): CliError {
  const program = `node ${script} serve --background${file === null ? '' : ` --config ${file}`}`;
  return new CliError(
    process.platform === 'win32'
      ? `Windows has no service of a user; let the Task Scheduler start it: schtasks /create /sc onlogon /tn gateway /tr "${program}"`
      : `no service is known for ${process.platform}; let your system start at login: ${program}`,
  );
}

function readFile(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new CliError(`${file} cannot be read: ${(error as Error).message}`, 1, error);
  }
}

/** A reader sees the old file or the new one. */
function writeWhole(file: string, text: string): void {
  makeFolder(path.dirname(file), 0o755);
  const next = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    writeFileSync(next, text, { mode: 0o644, flag: 'wx' });
    renameSync(next, file);
  } catch (error) {
    rmSync(next, { force: true });
    throw error;
  }
}

function exists(link: string): boolean {
  return lstatSync(link, { throwIfNoEntry: false }) !== undefined;
}

export interface Service {
  /** Where the file belongs. */
  file: string;
  text: string;
  /** Commands for the user: after the file is written, and before it is removed. */
  start: string[];
  end: string[];
  logs: string;
  /** A link that exists while the service is enabled; undefined: it cannot be seen. */
  enabledLink: string | undefined;
}

export interface ServiceParts {
  node: string;
  script: string;
  /** Options of `serve`. */
  words: string[];
  /** A file of lines NAME=value with the keys of providers. */
  environmentFile: string;
  logFile: string;
  home: string;
  env: Environment;
  /** Milliseconds that `serve` has to end. */
  stopMs: number;
}

/** undefined: this platform has no services of this kind. */
export function serviceFor(platform: NodeJS.Platform, parts: ServiceParts): Service | undefined {
  if (platform === 'linux') return systemdService(parts);
  return platform === 'darwin' ? launchdService(parts) : undefined;
}

const MARK = /gateway service install, sha256 ([0-9a-f]{64})/;
const UNSIGNED = '0'.repeat(64);

/** Whether the text is as `gateway service install` wrote it. */
export function isUnchanged(text: string): boolean {
  const hash = MARK.exec(text)?.[1];
  return hash !== undefined && text === signed(text.replace(hash, UNSIGNED));
}

function signed(text: string): string {
  return text.replace(UNSIGNED, createHash('sha256').update(text).digest('hex'));
}

const NAME = 'gateway';

// https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html. A user's own manager cannot make a file system
// read-only on every machine, and V8 needs memory that is both written and executed.
function systemdService(parts: ServiceParts): Service {
  const { node, script, words, environmentFile, home, env, stopMs } = parts;
  const base = env['XDG_CONFIG_HOME'] ?? '';
  const folder = path.join(path.isAbsolute(base) ? base : path.join(home, '.config'), 'systemd', 'user');
  const command = [node, script, 'serve', ...words, '--in-background'].map(systemdWord).join(' ');
  const text = signed(`# Written by gateway service install, sha256 ${UNSIGNED}
[Unit]
Description=local-llm-gateway

[Service]
ExecStart=${command}
# Keys of providers, one NAME=value a line. The file is yours: mode 0600.
EnvironmentFile=-${systemdPath(environmentFile)}
Restart=on-failure
RestartSec=2
TimeoutStopSec=${Math.ceil(stopMs / 1000)}
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
UMask=0077

[Install]
WantedBy=default.target
`);
  return {
    file: path.join(folder, `${NAME}.service`),
    text,
    start: ['systemctl --user daemon-reload', `systemctl --user enable --now ${NAME}`],
    end: [`systemctl --user disable --now ${NAME}`],
    logs: `journalctl --user --unit ${NAME}`,
    enabledLink: path.join(folder, 'default.target.wants', `${NAME}.service`),
  };
}

/** https://www.freedesktop.org/software/systemd/man/latest/systemd.syntax.html#Quoting; `%` and `$` begin a variable. */
function systemdWord(word: string): string {
  const text = word.replace(/[\\"]/g, '\\$&').replaceAll('%', '%%').replaceAll('$', '$$$$');
  return /^[\w@+=:,./-]+$/.test(text) ? text : `"${text}"`;
}

const systemdPath = (file: string): string => file.replaceAll('\\', '\\\\').replaceAll('%', '%%');

const LABEL = 'local-llm-gateway';

/** launchd has no file of variables, so that a shell reads them. The gateway bounds its log file itself. */
function launchdService(parts: ServiceParts): Service {
  const { node, script, words, environmentFile, logFile, home, stopMs } = parts;
  const command = [node, script, 'serve', ...words, `--in-background=${logFile}`].map(shellWord).join(' ');
  const variables = shellWord(environmentFile);
  const shell = `if [ -f ${variables} ]; then set -a; . ${variables}; fi; exec ${command}`;
  const file = path.join(home, 'Library', 'LaunchAgents', `${LABEL}.plist`);
  const text = signed(`<?xml version="1.0" encoding="UTF-8"?>
<!-- Written by gateway service install, sha256 ${UNSIGNED} -->
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key><string>${LABEL}</string>
  <key>ProgramArguments</key>
  <array>
    <string>/bin/sh</string>
    <string>-c</string>
    <string>${xml(shell)}</string>
  </array>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
  <key>ExitTimeOut</key><integer>${Math.ceil(stopMs / 1000)}</integer>
  <key>Umask</key><integer>63</integer>
</dict>
</plist>
`);
  return {
    file,
    text,
    start: [`launchctl bootstrap gui/$(id -u) ${shellWord(file)}`],
    end: [`launchctl bootout gui/$(id -u)/${LABEL}`],
    logs: `tail -f ${shellWord(logFile)}`,
    enabledLink: undefined,
  };
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

const xml = (text: string): string => text.replace(/[&<>]/g, (char) => ENTITIES[char] ?? char);
