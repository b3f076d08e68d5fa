// `gateway compare TAPE|REQUEST.json --with A,B`: the same requests to several targets, and what each makes of them.
import type { Command } from 'commander';
import { ProgramEnd, type Context } from '../../../context.ts';
import { loadProviders, readConfig } from '../../../read-config.ts';
import { parseModels } from '../../../args/values.ts';

interface Options {
  with: string[];
  only?: string;
  label: string;
  yes?: boolean;
  json?: boolean;
}

export function defineCompare(compare: Command, context: Context): void {
  compare
    .argument('<source>', 'folder of a tape, or the file of a request’s body')
    .requiredOption(
      '--with <models>',
      'routes or provider/model, separated by commas; the first is the measure, and `recorded` is what the tape holds (required)',
      parseModels,
    )
    .option('--only <request>', 'one request of the tape: 0003 (default: all)')
    .option('--label <label>', 'of its requests, for gateway usage --by label', 'compare')
    .option('--yes', 'do not ask, whatever it may cost')
    .option('--json', 'print JSON (default: tables)')
    .addHelpText(
      'after',
      '\nThe requests go through your gateway with a key of their own, and are counted and priced as all others. Each is sent as it was' +
        '\nrecorded, with the recorded results of tools. What it costs at most is said first; above a dollar it asks. Ctrl-C ends it and' +
        '\nshows what is there.' +
        '\n\nExamples:\n  gateway compare login-bug --with anthropic/claude-sonnet-4-5,openai/gpt-5.2\n  gateway compare login-bug --with recorded,ollama/qwen3\n  gateway compare request.json --with auto,cheap --json',
    )
    .action(async (source: string, options: Options, command: Command) => {
      const { runComparison } = await import('../../../tools/compare/session.ts');
      const config = await readConfig(command, context);
      const load = () => loadProviders(command, context);
      const { with: names, only, label, yes = false, json = false } = options;
      const code = await runComparison({ source, names, only, label, yes, json, config, load }, context);
      if (code !== 0) throw new ProgramEnd(code);
    });
}
