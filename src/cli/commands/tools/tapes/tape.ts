// `gateway tape check NAME`: what could still be a secret on a tape, before it is given away.
import path from 'node:path';
import type { Command } from 'commander';
import { plural } from '../../../../plural.ts';
import type { Suspicion } from '../../../../tapes/redact/suspicious.ts';
import { ProgramEnd, type Context } from '../../../context.ts';
import { say } from '../../../ui/lines.ts';
import { clean, printJson, printLines } from '../../../ui/style.ts';

interface Finding extends Suspicion {
  file: string;
}

/** Lines for people; `--json` has all. */
const MOST_SHOWN = 100;

export function defineTape(tape: Command, context: Context): void {
  tape.addHelpText('after', '\nExample:\n  gateway tape check login-bug');
  tape
    .command('check')
    .description('say what on a tape could be a secret, or a person’s')
    .argument('<tape>', 'folder of the tape')
    .option('--json', 'print JSON (default: lines for people)')
    .addHelpText(
      'after',
      '\nKnown secrets were taken out when the tape was made. This looks for what is left: exit 1 if there is something to look at.' +
        '\n\nExample:\n  gateway tape check login-bug',
    )
    .action(async (name: string, { json }: { json?: boolean }) => {
      const { filesOfTape } = await import('../../../../tapes/files.ts');
      const { suspicionsIn } = await import('../../../../tapes/redact/suspicious.ts');
      const found: Finding[] = [];
      for (const { name: file, text } of filesOfTape(path.resolve(context.cwd, name))) {
        found.push(...suspicionsIn(text).map((suspicion) => ({ file, ...suspicion })));
      }
      if (json === true) printJson(context, found);
      else show(name, found, context);
      if (found.length > 0) throw new ProgramEnd(1);
    });
}

function show(name: string, found: readonly Finding[], { stdout, stderr }: Context): void {
  const lines = found
    .slice(0, MOST_SHOWN)
    .map(({ file, line, kind, sample }) => clean(`${file}:${line}: ${kind}: ${sample}`));
  printLines(stdout, lines);
  const hidden = found.length - lines.length;
  if (hidden > 0) say(stderr, `and ${hidden} more; --json shows all`);
  const what = found.length === 0 ? 'nothing looks like a secret' : plural(found.length, 'place');
  say(stderr, clean(`gateway tape check: ${what} ${found.length === 0 ? 'on' : 'to look at on'} ${name}`));
}
