// `gateway dashboard`: a one-time link to the page of the running gateway, or of one that it starts. Whoever can open the control
// socket is the owner, and needs no password.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
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
  const link = (await call(gateway, 'POST', '/admin/link')) as Link;
  if (options.json) printJson(context, link);
  else {
    printLines(context.stdout, [link.url]);
    say(context.stderr, `the link works once, for ${link.expires_in_seconds} seconds`);
  }
  if (options.open) await openInBrowser(link.url, context);
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

/** A browser that runs already has read the file by then. */
const READ_MS = 5000;

/** The link is in a file that only this user can read: every user of the machine can read the arguments of a program. */
async function openInBrowser(url: string, { stderr, env }: Context): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-'));
  try {
    chmodSync(folder, 0o700);
    const file = join(folder, 'dashboard.html');
    const page = `<!doctype html><meta charset="utf-8"><title>Gateway</title><meta http-equiv="refresh" content="0; url=${url}">`;
    writeFileSync(file, page, { mode: 0o600 });
    if (!(await opened(pathToFileURL(file).href, env)))
      say(stderr, 'no browser could be opened; open the link yourself');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** false: there is no such program, or it fails, as where no browser is installed. Waits until the browser has read the file. */
async function opened(url: string, env: Context['env']): Promise<boolean> {
  const { spawn } = await import('node:child_process');
  const [program, ...words] = OPENERS[process.platform] ?? ['xdg-open'];
  return new Promise((resolve) => {
    const child = spawn(program, [...words, url], { env, stdio: 'ignore', detached: true });
    child.on('error', () => resolve(false));
    child.on('exit', (code) => {
      if (code !== 0) resolve(false);
    });
    child.on('spawn', () => {
      child.unref();
      setTimeout(() => resolve(true), READ_MS);
    });
  });
}
