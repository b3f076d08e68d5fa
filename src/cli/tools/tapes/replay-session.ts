// A session whose provider is a tape. Without the real providers it has a configuration and a database of its own, which end with it:
// nothing is sent, spent or counted.
import path from 'node:path';
import type { GatewayRecorder } from '../../../app/parts.ts';
import type { Cancellation } from '../../../cancellation.ts';
import { CliError } from '../../../cli-error.ts';
import type { Config, RouteConfig } from '../../../config/config.ts';
import { tapeProvider, type TapedTarget } from '../../../config/provider/tape.ts';
import { SIM } from '../../../config/providers.ts';
import { FailureError } from '../../../errors.ts';
import { plural } from '../../../plural.ts';
import type { Tape } from '../../../tapes/read.ts';
import { LOCAL_ACCOUNT, ProgramEnd, type Context } from '../../context.ts';
import { createPrivateFolder } from '../process.ts';
import type { Session } from '../launch.ts';
import { say } from '../../ui/lines.ts';
import { clean } from '../../ui/style.ts';

interface How {
  fast: boolean;
  model?: string | undefined;
}

/** Throws CliError if the folder is no tape with answers. */
export async function replaySession(
  folder: string,
  { fast, model }: How,
  context: Context,
): Promise<Session> {
  const { readTape } = await import('../../../tapes/read.ts');
  const { createShelf } = await import('../../../tapes/match/shelf.ts');
  const tape = readTape(folder);
  // Its rules and its files are read now, so that a fault is told before the program starts.
  createShelf(tape);
  const { withoutFile } = await import('../../../config/load.ts');
  // No key of the environment counts.
  const base = withoutFile({ flags: {}, env: {}, cwd: context.cwd });
  const files = createPrivateFolder();
  const config = {
    ...configOf(tape, base, !fast),
    ollama: tape.exchanges.some(({ head }) => head.protocol === 'ollama') ? { account: LOCAL_ACCOUNT } : null,
    database: files.fileAt('gateway.db'),
    databaseFrom: undefined,
  };
  const misses = createMisses(folder, context);
  return {
    verb: 'replay',
    config,
    load: () => Promise.resolve(config),
    model: model ?? tape.head.asked[0]?.model ?? 'auto',
    isOwn: true,
    recorder: () => Promise.resolve(misses.recorder),
    ended(code) {
      files.remove();
      return misses.tell(code);
    },
  };
}

function configOf({ head, folder }: Tape, base: Config, pace: boolean): Config {
  const [first] = head.targets;
  if (first === undefined) throw new CliError(`${folder} holds no answer of a provider; record it again`);
  const named = new Map<string, [TapedTarget, ...TapedTarget[]]>();
  for (const target of head.targets) {
    const name = nameOf(target.provider);
    const others = named.get(name);
    if (others === undefined) named.set(name, [target]);
    else others.push(target);
  }
  const providers = [...named].map(([name, targets]) => tapeProvider(name, folder, targets, pace));
  const routes = new Map<string, RouteConfig>();
  const route = (name: string, { provider, model }: { provider: string; model: string }): void => {
    if (!providers.some((each) => `${each.name}/` === name.slice(0, each.name.length + 1)))
      routes.set(name, { strategy: 'priority', targets: [{ provider: nameOf(provider), model }] });
  };
  route('auto', first);
  for (const { model, target } of head.asked) {
    const at = target.indexOf('/');
    route(model, { provider: target.slice(0, at), model: target.slice(at + 1) });
  }
  return {
    ...base,
    file: path.join(folder, 'tape.json'),
    consent: undefined,
    providers,
    routes,
    leftOut: [],
    warnings: [],
  };
}

/** The built-in provider keeps its name. */
const nameOf = (provider: string): string => (provider === SIM ? `${SIM}-tape` : provider);

/** The requests that the tape lacked: programs often hide why a request failed. */
function createMisses(folder: string, context: Context) {
  let count = 0;
  let first = '';
  const recorder: GatewayRecorder = {
    observer: { finished: () => undefined },
    watch: (_arrival, exchange, answer) => answer(exchange),
    wrap: (client) => ({
      closeIdle: () => client.closeIdle(),
      close: () => client.close(),
      open: (call, cancellation: Cancellation) =>
        client.open(call, cancellation).catch((error: unknown) => {
          const isMiss =
            call.method === 'POST' && error instanceof FailureError && error.failure.kind === 'off_tape';
          if (isMiss) {
            count += 1;
            first ||= error.message;
          }
          throw error;
        }),
    }),
  };
  return {
    recorder,
    /** A program that ends well although the tape lacked requests did not do what was recorded. */
    tell(code: number): void {
      if (count === 0) return;
      const missing = `${plural(count, 'request')} ${count === 1 ? 'is' : 'are'} not on the tape ${path.basename(folder)}`;
      say(context.stderr, clean(`gateway replay: ${missing}. The first: ${first}`));
      if (code === 0) throw new ProgramEnd(1);
    },
  };
}
