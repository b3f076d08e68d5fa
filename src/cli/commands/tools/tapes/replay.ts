// `gateway replay NAME [-- COMMAND…]`: a gateway whose provider is a tape. A command is run with it; without one it serves until a signal.
import path from 'node:path';
import { InvalidArgumentError, type Command } from 'commander';
import type { Context } from '../../../context.ts';
import { loadProviders, readConfig } from '../../../read-config.ts';
import { replaySession } from '../../../tools/tapes/replay-session.ts';
import { serveTape } from '../../../tools/tapes/serve-tape.ts';
import { chooseCommand, launch } from '../../../tools/launch.ts';

interface Options {
  fast?: boolean;
  recordMissing?: boolean;
  model?: string;
  port: number;
  json?: boolean;
}

export function defineReplay(replay: Command, context: Context): void {
  replay
    .usage('[options] NAME [-- COMMAND…]')
    .argument('<tape>', 'folder of the tape')
    .argument('[words...]', 'a tool of gateway run, or any program that uses an official SDK')
    .option('--fast', 'answer at once (default: at the recorded pace)')
    .option(
      '--record-missing',
      'ask the real provider for what the tape lacks, and add it (default: an error)',
    )
    .option('--model <name>', 'the model of the tool (default: the one that was recorded)')
    .option('--port <port>', 'port without a command (default: a free one)', portOf, 0)
    .option('--json', 'without a command: print URL and key as JSON (default: lines for people)')
    .addHelpText(
      'after',
      '\nA request is found by its conversation and its meaning, not by its bytes; `ignore` in tape.json says what may differ.' +
        '\nWhatever protocol a client speaks, it is answered in it. Without --record-missing nothing leaves this machine.' +
        '\n\nExamples:\n  gateway replay login-bug -- claude -p "Fix the login"\n  gateway replay --fast tapes/nightly -- node agent.js\n  gateway replay login-bug',
    )
    .action(async (name: string, words: string[], options: Options, command: Command) => {
      const choice = words.length === 0 ? undefined : await chooseCommand(words, context);
      const folder = path.resolve(context.cwd, name);
      const { fast = false, model, port, json = false } = options;
      const how = { fast, model };
      let session;
      if (options.recordMissing === true) {
        const { fillingSession } = await import('../../../tools/tapes/filling-session.ts');
        const config = await readConfig(command, context);
        session = await fillingSession(
          folder,
          { config, load: () => loadProviders(command, context) },
          how,
          context,
        );
      } else session = await replaySession(folder, how, context);
      if (choice === undefined) await serveTape(session, { port, json }, context);
      else await launch(choice, session, context);
    });
}

function portOf(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError('It is not a port: write a number from 0 to 65535.');
}
