// `gateway reload`: the running gateway reads its configuration again; one with workers also replaces them, one after the other.
import type { Command } from 'commander';
import { setTimeout as sleep } from 'node:timers/promises';
import { call, type RunningGateway } from '../../../control/client.ts';
import { isStatus, type GatewayStatus } from '../../../control/calls.ts';
import { plural } from '../../../plural.ts';
import { parseGrace, parsePort } from '../../args/values.ts';
import { CliError } from '../../../cli-error.ts';
import type { Context } from '../../context.ts';
import { say } from '../../ui/lines.ts';
import { clean, formatDuration, printJson } from '../../ui/style.ts';
import { readConfig, sayRead } from '../../read-config.ts';
import { onlyGateway } from '../../running.ts';
import { parsePid } from './stop.ts';

interface Options {
  port?: number;
  timeout?: number;
  json?: boolean;
}

const LOOK_MS = 100;
const TIMEOUT_MS = 60_000;

export function defineReload(reload: Command, context: Context): void {
  reload
    .argument('[pid]', 'which one, if several run', parsePid)
    .option('--port <number>', 'the one that listens on this port (default: the only one)', parsePort)
    .option('--timeout <duration>', 'how long to wait until new workers serve (default: 60s)', parseGrace)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nWithout workers (gateway serve --workers), only the configuration file is read again. With workers, new' +
        '\nones start beside the old ones, which end their requests: none is refused, no stream is cut.' +
        '\n\nExit code: 0 when the configuration is in effect, 1 if it is not valid; then nothing has changed.' +
        '\n\nExamples:\n  gateway reload\n  gateway reload --port 9000',
    )
    .action(async (pid: number | undefined, options: Options, command: Command) =>
      reloadCommand(pid, options, command, context),
    );
}

async function reloadCommand(
  pid: number | undefined,
  options: Options,
  command: Command,
  context: Context,
): Promise<void> {
  const config = await readConfig(command, context);
  await sayRead(context, config, { database: true });
  const gateway = await onlyGateway({ pid, port: options.port, command: 'reload' }, config, context);
  const status = await replaced(gateway, options.timeout ?? TIMEOUT_MS);
  const workers = status.workers ?? [];
  if (options.json) {
    printJson(context, { pid: status.pid, config: status.config, workers });
    return;
  }
  const served = workers.filter(({ state }) => state === 'serving').length;
  const done = [
    ...(status.config === null ? [] : [`read ${clean(status.config)} again`]),
    ...(workers.length === 0 ? [] : [`replaced its workers by ${plural(served, 'new one')}`]),
  ];
  const what = done.length === 0 ? 'no configuration file to read' : done.join(' and ');
  say(context.stdout, `the gateway with pid ${status.pid} has ${what}`);
  const ending = workers.filter(({ state }) => state === 'stopping');
  const open = ending.reduce((sum, worker) => sum + (worker.requests_in_flight ?? 0), 0);
  if (open > 0) {
    say(
      context.stderr,
      `${plural(ending.length, 'old worker')} wait${ending.length === 1 ? 's' : ''} up to ${formatDuration(status.grace_ms)} for ${plural(open, 'open request')}`,
    );
  }
}

/** Resolves to the state when the new workers serve. */
async function replaced(gateway: RunningGateway, timeoutMs: number): Promise<GatewayStatus> {
  const end = performance.now() + timeoutMs;
  let status = await call(gateway, 'POST', '/reload');
  for (;;) {
    if (!isStatus(status)) throw new CliError('the gateway answers with something else than its state');
    if (status.reloading !== true) break;
    if (performance.now() >= end) {
      const { pid } = gateway.status;
      throw new CliError(
        `the gateway with pid ${pid} still replaces its workers after ${formatDuration(timeoutMs)}; see: gateway status`,
      );
    }
    await sleep(LOOK_MS);
    status = await call(gateway, 'GET', '/status');
  }
  if (typeof status.reload_fault === 'string') {
    throw new CliError(`the workers were not all replaced: ${status.reload_fault}; those that serve stay`);
  }
  return status;
}
