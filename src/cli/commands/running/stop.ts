// `gateway stop`: asks the running gateway to end after its requests, and waits until its process is gone.
import { InvalidArgumentError, type Command } from 'commander';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunningGateway } from '../../../control/client.ts';
import { isoTime } from '../../../clock.ts';
import { plural } from '../../../plural.ts';
import { parseGrace, parsePort } from '../../args/values.ts';
import { CliError } from '../../../cli-error.ts';
import type { Context } from '../../context.ts';
import { onlyGateway } from '../../running.ts';
import { say } from '../../ui/lines.ts';
import { formatDuration, printJson } from '../../ui/style.ts';
import { readValidConfig, sayRead } from '../../read-config.ts';
import { processAt } from '../../../processes.ts';

interface Options {
  port?: number;
  timeout?: number;
  json?: boolean;
}

/** After the grace, the server still cuts streams and writes what it has to the database. */
export const AFTER_GRACE_MS = 10_000;
const LOOK_MS = 50;

export function defineStop(stop: Command, context: Context): void {
  stop
    .argument('[pid]', 'which one, if several run', parsePid)
    .option('--port <number>', 'the one that listens on this port (default: the only one)', parsePort)
    .option('--timeout <duration>', 'how long to wait; default: limits.shutdown_grace and 10s', parseGrace)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExit code: 0 when it is gone, 1 if none runs or it is still there after the time.' +
        '\n\nExamples:\n  gateway stop\n  gateway stop --timeout 5s\n  gateway stop --port 9000',
    )
    .action(async (pid: number | undefined, options: Options, command: Command) =>
      stopCommand(pid, options, command, context),
    );
}

export function parsePid(text: string): number {
  if (!/^[1-9]\d{0,9}$/.test(text)) throw new InvalidArgumentError('A pid is a whole number.');
  return Number(text);
}

async function stopCommand(
  pid: number | undefined,
  options: Options,
  command: Command,
  context: Context,
): Promise<void> {
  const config = await readValidConfig(command, context);
  await sayRead(context, config, { database: true });
  const gateway = await onlyGateway({ pid, port: options.port, command: 'stop' }, config, context);
  const { call } = await import('../../../control/client.ts');
  await call(gateway, 'POST', '/stop');
  const { pid: ended, requests_in_flight: requests, grace_ms: grace } = gateway.status;
  if (requests > 0) {
    say(
      context.stderr,
      `waiting up to ${formatDuration(grace)} for ${plural(requests, 'open request')}; at once: kill ${ended}`,
    );
  }
  const timeout = options.timeout ?? grace + AFTER_GRACE_MS;
  if (!(await isGoneWithin(gateway, timeout))) throw await stillThere(gateway, timeout);
  if (options.json) printJson(context, { pid: ended, stopped_at: isoTime(context.clock.now()) });
  else say(context.stdout, `the gateway with pid ${ended} has stopped`);
}

export async function isGoneWithin(gateway: RunningGateway, ms: number): Promise<boolean> {
  const { answers } = await import('../../../control/client.ts');
  const end = performance.now() + ms;
  // The pid may be that of a process in another container; here it may be another user's.
  const isGone = async (): Promise<boolean> =>
    !(await answers(gateway)) && processAt(gateway.status.pid) !== 'own';
  while (!(await isGone())) {
    if (performance.now() >= end) return false;
    await sleep(LOOK_MS);
  }
  return true;
}

async function stillThere(gateway: RunningGateway, waited: number): Promise<CliError> {
  const { call } = await import('../../../control/client.ts');
  const { isStatus } = await import('../../../control/calls.ts');
  const { pid } = gateway.status;
  const status = await call(gateway, 'GET', '/status').catch(() => undefined);
  const open = isStatus(status) ? ` for ${plural(status.requests_in_flight, 'open request')}` : '';
  return new CliError(
    `the gateway with pid ${pid} still waits${open} after ${formatDuration(waited)}; end it at once: kill ${pid}`,
  );
}
