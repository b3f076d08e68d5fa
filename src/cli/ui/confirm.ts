// The question before something is deleted. Without a terminal nobody can answer: `--yes` is required then.
import { CliError, type Context } from '../context.ts';
import { say } from './lines.ts';

/** `what`: a sentence about what is deleted. Returns if the user agrees; otherwise throws CliError. */
export async function confirm(
  what: string,
  { yes, context }: { yes: boolean | undefined; context: Context },
): Promise<void> {
  if (yes === true) return;
  if (context.ask === undefined)
    throw new CliError(`${what}; nothing was changed: without a terminal, confirm it with --yes`, 2);
  say(context.stderr, `${what}.`);
  const answer = (await context.ask('Continue? [y/N] ')) ?? '';
  if (!/^(y|yes)$/i.test(answer.trim())) throw new CliError('nothing was changed');
}
