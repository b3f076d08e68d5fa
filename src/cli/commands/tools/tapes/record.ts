// `gateway record NAME -- COMMAND…`: as `gateway run`, and a tape is made of what this one process sends and gets.
import type { Command } from 'commander';
import { CliError } from '../../../../cli-error.ts';
import type { Context } from '../../../context.ts';
import { loadProviders, readConfig } from '../../../read-config.ts';
import { recordingSession } from '../../../tools/tapes/recording-session.ts';
import { chooseCommand, launch } from '../../../tools/launch.ts';

interface Options {
  to?: string;
  replace?: boolean;
  model: string;
  label?: string;
}

export function defineRecord(record: Command, context: Context): void {
  record
    .usage('[options] NAME -- COMMAND…')
    .argument('<tape>', 'name of the tape: a new folder')
    .argument('[words...]', 'a tool of gateway run, or any program that uses an official SDK')
    .option('--to <folder>', 'folder in which the tape is made (default: the current one)')
    .option('--replace', 'replace a tape of this name (default: it is refused)')
    .option('--model <name>', 'a route or provider/model; the tool uses it for everything', 'auto')
    .option('--label <label>', 'of its requests, for gateway usage --by label (default: none)')
    .addHelpText(
      'after',
      '\nA tape holds both sides of each request: what the program and what the provider sent and got. Secrets are taken out' +
        '\nbefore anything is written. Requests of other programs are never recorded.' +
        '\n\nExamples:\n  gateway record login-bug -- claude -p "Fix the login"\n  gateway record --to tapes nightly -- node agent.js',
    )
    .action(async (name: string, words: string[], options: Options, command: Command) => {
      if (words.length === 0) throw new CliError('name what to run: gateway record NAME -- COMMAND…', 2);
      const choice = await chooseCommand(words, context);
      const { to, replace = false, model, label } = options;
      const usual = {
        verb: 'record',
        config: await readConfig(command, context),
        load: () => loadProviders(command, context),
        model,
        label,
      };
      await launch(choice, recordingSession(name, usual, { words, to, replace }, context), context);
    });
}
