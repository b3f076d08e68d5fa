// `gateway dashboard`: a one-time link to the page of the running gateway, or of one that it starts. Whoever can open the control
// socket is the owner, and needs no password.
import type { Command } from 'commander';
import type { Config } from '../../../config/config.ts';
import type { RunningGateway } from '../../../control/client.ts';
import type { Context } from '../../context.ts';
import { findRunning, newestGateway } from '../../running.ts';
import { say } from '../../ui/lines.ts';
import { printJson, printLines } from '../../ui/style.ts';
import { readConfig, sayRead } from '../../read-config.ts';

interface Options {
  open?: boolean;
  json?: boolean;
}

interface Link {
  url: string;
  /** For the browser, which goes on from there to another link. */
  open_url: string;
  expires_in_seconds: number;
}

export function defineDashboard(dashboard: Command, context: Context): void {
  dashboard
    .option('--open', 'open the link in the browser')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nThe link works once, for 60 seconds. It turns the page and the admin API on until the gateway ends; `admin: true` in the' +
        '\nconfiguration does so from the start. If no gateway runs, one is started in the background.' +
        '\n\nExamples:\n  gateway dashboard\n  gateway dashboard --open',
    )
    .action(async (options: Options, command: Command) => dashboardCommand(options, command, context));
}

async function dashboardCommand(options: Options, command: Command, context: Context): Promise<void> {
  const config = await readConfig(command, context);
  await sayRead(context, config, { database: true });
  const gateway = await findOrStart(config, command, context);
  const { call } = await import('../../../control/client.ts');
  const { open_url: address, ...link } = (await call(gateway, 'POST', '/admin/link')) as Link;
  if (options.json) printJson(context, link);
  else {
    printLines(context.stdout, [link.url]);
    say(context.stderr, `the link works once, for ${link.expires_in_seconds} seconds`);
  }
  if (options.open && !(await opened(address, context.env)))
    say(context.stderr, 'no browser could be opened; open the link yourself');
}

async function findOrStart(config: Config, command: Command, context: Context): Promise<RunningGateway> {
  const { own, silent } = await findRunning(config, context);
  if (own.length === 0 && silent.length === 0) {
    const { serveInBackground } = await import('./serving/background.ts');
    // The link alone is the result: `$(gateway dashboard)` is a URL, whether a gateway ran before or not.
    await serveInBackground(config, command, { ...context, stdout: context.stderr });
  }
  return newestGateway(config, context);
}

const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** An opener that fails does so at once. */
const FAILURE_MS = 5000;

/** false: there is no such program, or it fails, as where no browser is installed. Every user of the machine may read the address among
 *  the arguments of the program: it works once, and for the own user alone. A file, which nobody else could read, is hidden from
 *  browsers in a sandbox, as those of snap. */
async function opened(url: string, env: Context['env']): Promise<boolean> {
  const { spawn } = await import('node:child_process');
  const [program, ...words] = OPENERS[process.platform] ?? ['xdg-open'];
  return new Promise((resolve) => {
    const child = spawn(program, [...words, url], { env, stdio: 'ignore', detached: true });
    child.on('error', () => resolve(false));
    child.on('exit', (code) => resolve(code === 0));
    child.on('spawn', () => {
      child.unref();
      setTimeout(() => resolve(true), FAILURE_MS);
    });
  });
}
