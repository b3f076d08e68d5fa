// `gateway targets reset`: running gateways ask targets again that they avoid, and forget what refusals taught of them.
import type { Command } from 'commander';
import { CliError } from '../../../cli-error.ts';
import type { RunningGateway } from '../../../control/client.ts';
import type { ResetReply } from '../../../routing/state/reset.ts';
import { plural } from '../../../plural.ts';
import { auditedChange } from '../../audited.ts';
import type { Context } from '../../context.ts';
import { withStore } from '../../database.ts';
import { findRunning, noneToChange } from '../../running.ts';
import { say } from '../../ui/lines.ts';
import { clean, printJson, printLines } from '../../ui/style.ts';

interface Options {
  json?: boolean;
}

export function defineTargets(targets: Command, context: Context): void {
  targets.addHelpText('after', '\nExample:\n  gateway targets reset openai/gpt-5.2');
  targets
    .command('reset')
    .description('end cool-downs of targets, and forget what refusals taught of them')
    .argument('[target]', 'provider/model; without it, all')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nFor a provider that was mended: the next request asks it at once. All gateways on the database that this user' +
        '\nruns on this machine do so.' +
        '\n\nExamples:\n  gateway targets reset\n  gateway targets reset openai/gpt-5.2',
    )
    .action(async (target: string | undefined, options: Options, command: Command) =>
      resetTargets(target, options, command, context),
    );
}

async function resetTargets(
  target: string | undefined,
  options: Options,
  command: Command,
  context: Context,
): Promise<void> {
  const { mergeResets } = await import('../../../routing/state/reset.ts');
  await withStore(command, context, async (store, config) => {
    const { all, silent } = await findRunning(config, context);
    if (all.length === 0) throw noneToChange(config, { all, silent });
    for (const pid of silent)
      say(context.stderr, `the gateway with pid ${pid} does not answer: it is as it was`);
    const { targets, unknown } = await auditedChange(store, context, {
      action: 'resetTargets',
      detail: target === undefined ? {} : { target },
      change: async () => mergeResets(await Promise.all(all.map((gateway) => ask(gateway, target)))),
      statusOf: (reply) => (reply.unknown === undefined ? 200 : 404),
    });
    if (unknown !== undefined) throw new CliError(clean(unknown));
    if (options.json) printJson(context, targets);
    else printLines(context.stdout, linesOf(targets, target));
  });
}

async function ask(gateway: RunningGateway, target: string | undefined): Promise<ResetReply> {
  const { call } = await import('../../../control/client.ts');
  return (await call(gateway, 'POST', '/targets/reset', { target })) as ResetReply;
}

function linesOf(targets: ResetReply['targets'], target: string | undefined): string[] {
  if (targets.length === 0) {
    return [
      target === undefined
        ? 'no target is avoided, and nothing was learnt of any'
        : `${clean(target)} is not avoided, and nothing was learnt of it`,
    ];
  }
  return targets.map(({ target: key, state, learnt }) => {
    const done = [
      ...(state === null ? [] : [`is asked again (it was ${state})`]),
      ...(learnt > 0 ? [`${plural(learnt, 'lesson')} forgotten`] : []),
    ];
    return `${clean(key)}: ${done.join('; ')}`;
  });
}
