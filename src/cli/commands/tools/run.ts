// `gateway run TOOL [ARGS…]`: starts a tool that uses the gateway, for that process alone. Nothing of the user's is changed: the tool
// gets variables, arguments and files of a private folder, which is removed when it ends.
import type { Command } from 'commander';
import { findProgram } from '../../../tools/programs.ts';
import { TOOL_NAMES, TOOLS } from '../../../tools/tools.ts';
import { ProgramEnd, type Context } from '../../context.ts';
import { loadProviders, readConfig } from '../../read-config.ts';
import { choose, launch, type Session } from '../../tools/launch.ts';

interface Options {
  model: string;
  label?: string;
  /** The name of a tape. */
  record?: string;
  /** undefined: where the account has a limit. */
  native?: boolean;
}

export function defineRun(run: Command, context: Context): void {
  const width = Math.max(...TOOL_NAMES.map((name) => name.length));
  run
    .usage('[options] TOOL [ARGS…]\n       gateway run [options] -- PROGRAM [ARGS…]')
    .argument('[words...]')
    .option('--model <name>', 'a route or provider/model; the tool uses it for everything', 'auto')
    .option('--label <label>', 'of its requests, for gateway usage --by label (default: none)')
    .option(
      '--record <tape>',
      'record what it sends and gets as this tape, in the current folder (default: no tape)',
    )
    .option(
      '--native',
      "claude: show the account's limits on its own screen (default: where the account has a limit)",
    )
    .option('--no-native', 'claude: do not, whatever limits the account has')
    .helpOption('-h, --help', 'show this help')
    .addHelpText(
      'after',
      `\nTools:\n${TOOLS.map(({ name, title }) => `  ${name.padEnd(width)}  ${title}`).join('\n')}\n` +
        `  ${'--'.padEnd(width)}  any program, with the variables of the official SDKs\n` +
        '\nYour gateway is used if one runs on this database; otherwise one runs as long as the tool does. --model' +
        '\nand --native may also follow the tool; all other words after it are its own.' +
        '\n\nExamples:\n  gateway run claude\n  gateway run --label pr-123 claude\n  gateway run --model openai/gpt-5.2 claude -p "What does this project do?"' +
        '\n  gateway run codex exec "Add a test"\n  gateway run -- node app.js',
    )
    .action(async (words: string[], options: Options, command: Command) =>
      runCommand(words, options, command, context),
    );
}

async function runCommand(
  words: string[],
  options: Options,
  command: Command,
  context: Context,
): Promise<void> {
  const choice = await choose(words.length === 0 ? await asked(options, command, context) : words, context);
  const { model, label, record } = options;
  const usual: Session = {
    verb: 'run',
    config: await readConfig(command, context),
    load: () => loadProviders(command, context),
    model,
    label,
    native: options.native ?? 'where_limited',
  };
  if (record === undefined) return launch(choice, usual, context);
  const { recordingSession } = await import('../../tools/tapes/recording-session.ts');
  return launch(choice, recordingSession(record, usual, { words, replace: false }, context), context);
}

/** The words that a person picks on a terminal; none elsewhere. */
async function asked(options: Options, command: Command, context: Context): Promise<string[]> {
  const { canPick } = await import('../../ui/pick.ts');
  if (!canPick(context)) return [];
  const { askForTool } = await import('../../tools/ask-for-tool.ts');
  const tools = TOOLS.map(({ name, title, program }) => {
    return { name, title, installed: findProgram(program, context) !== undefined };
  });
  const isNamed = command.getOptionValueSource('model') === 'cli';
  const picked = await askForTool('run', tools, isNamed ? options.model : undefined, command, context);
  if (picked === undefined) throw new ProgramEnd(130);
  return [picked.tool, '--model', picked.model];
}
