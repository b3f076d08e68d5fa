// `gateway connect claude --sign-in`: settings with which the tool signs in by itself, by a code that the owner approves. They hold no key.
import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import type { GatewayFacts } from '../../tools/gateway-facts.ts';
import type { ConnectTool } from '../../../tools/connected-tools.ts';
import type { PlannedFile } from '../../../tools/engine.ts';
import type { Connection, Connections } from '../../../tools/connections.ts';
import type { Places } from '../../../tools/settings.ts';
import { CliError } from '../../../cli-error.ts';
import { revokeAuditedKey } from '../../audited.ts';
import { withDatabase } from '../../database.ts';
import { say } from '../../ui/lines.ts';
import { clean, printJson, printLines } from '../../ui/style.ts';

interface Run {
  options: { model: string; write?: boolean; json?: boolean };
  command: Command;
  context: Context;
  places: Places;
  connections: Connections;
}

export async function connectSignIn(tool: ConnectTool, run: Run): Promise<void> {
  const { options, command, context, connections, places } = run;
  const { signIn: settings } = tool;
  if (settings === undefined)
    throw new CliError(`${tool.title} signs in at no gateway: --sign-in is for claude`, 2);
  const { gatewayFacts } = await import('../../tools/gateway-facts.ts');
  const { plan } = await import('../../../tools/engine.ts');
  const view = await import('../../tools/connect-view.ts');
  const found = await gatewayFacts(command, context, options.model);
  const facts: GatewayFacts = { ...found, url: found.config.signIn?.url ?? found.url };
  if (facts.config.signIn === null)
    say(context.stderr, 'sign_in is off in the configuration: write sign_in: on, or no gateway is offered');
  const planNow = async () => {
    const connection = connections.read(tool.name);
    return { connection, planned: await plan(settings(facts.url, places), connection, connections) };
  };
  const { connection, planned } = await planNow();
  if (options.write !== true) {
    const steps = stepsOf(tool);
    const connected = connection !== undefined;
    const flags = ['--sign-in'];
    await view.printPlan(
      { tool, facts, planned, steps, connected, flags, json: options.json === true },
      context,
    );
    return;
  }
  const isWritten = await connections.alone(async () => write({ tool, facts, ...(await planNow()) }, run));
  printWritten({ tool, facts, isWritten }, run);
  view.warnIfStopped(facts, context);
}

interface Planned {
  tool: ConnectTool;
  facts: GatewayFacts;
  planned: readonly PlannedFile[];
  connection: Connection | undefined;
}

/** Resolves to whether anything was changed. A key that an earlier connection made is needed no more. */
async function write({ tool, facts, planned, connection }: Planned, run: Run): Promise<boolean> {
  const { context, connections } = run;
  const { apply, isInEffect } = await import('../../../tools/engine.ts');
  if (connection?.key === null && isInEffect(planned, (one, other) => one === other)) return false;
  const at = new Date(context.clock.now()).toISOString();
  const record = { tool: tool.name, at, url: facts.url, model: facts.model.name, key: null };
  apply([...planned], record, connections);
  const made = connection?.key;
  if (made?.made === true)
    await withDatabase(facts.config, (store) => revokeAuditedKey(store, context, made.id));
  return true;
}

const stepsOf = ({ name }: ConnectTool): string[] => [
  `Start it: ${name}. Then: /login, and Enter at "Cloud gateway".`,
  'It shows a code. Approve it: gateway approve CODE --account NAME.',
];

function printWritten(
  { tool, facts, isWritten }: { tool: ConnectTool; facts: GatewayFacts; isWritten: boolean },
  { options, context, connections }: Run,
): void {
  const paths = (connections.read(tool.name)?.files ?? []).map(({ path }) => path);
  const steps = stepsOf(tool);
  if (options.json === true) {
    const { url, state } = facts;
    const files = paths.map((path) => ({ path }));
    const about = { tool: tool.name, title: tool.title, url, running: state === 'running' };
    printJson(context, { ...about, files, steps, connected: true, written: isWritten, key: null });
    return;
  }
  printLines(context.stdout, [
    `${tool.title} → ${facts.url}, by a sign-in`,
    ...(isWritten
      ? [
          ...paths.map((path) => `wrote ${clean(path)}`),
          '',
          ...steps.map((step, at) => `${at + 1}. ${step}`),
          '',
        ]
      : ['All is written already; nothing was changed.']),
    `To take it back: gateway connect ${tool.name} --undo`,
  ]);
}
