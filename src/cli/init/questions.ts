// The questions of `gateway init`. Nothing is written before the last answer; the end of the input ends the command.
import { InvalidArgumentError } from 'commander';
import { parsePort } from '../args/values.ts';
import { CliError } from '../../cli-error.ts';
import type { Context } from '../context.ts';
import { say } from '../ui/lines.ts';
import { clean } from '../ui/style.ts';
import { unknown } from '../ui/sentences.ts';
import { candidate, KNOWN_NAMES, type Candidate } from './surroundings.ts';

export type Ask = NonNullable<Context['ask']>;

const NOTHING = 'nothing was written';

/** Candidates of these names, in their order. Throws CliError at an unknown name. */
export async function chooseProviders(
  names: readonly string[],
  found: readonly Candidate[],
): Promise<Candidate[]> {
  const chosen: Candidate[] = [];
  for (const name of new Set(names)) {
    if (!KNOWN_NAMES.includes(name))
      throw await unknown('provider', name, KNOWN_NAMES, `known providers: ${KNOWN_NAMES.join(', ')}`);
    chosen.push(found.find((provider) => provider.name === name) ?? candidate(name));
  }
  return chosen;
}

export async function askProviders(
  ask: Ask,
  found: readonly Candidate[],
  context: Context,
): Promise<Candidate[]> {
  const names = found.map(({ name }) => name);
  const question =
    names.length === 0
      ? 'Providers that you have a key for (such as anthropic, openai; Enter: none yet)'
      : `Providers, the preferred one first (Enter: ${names.join(', ')})`;
  return repeat(ask, question, context, async (answer) =>
    chooseProviders(answer === '' ? names : answer.split(/[\s,]+/).filter((word) => word !== ''), found),
  );
}

export async function askPort(ask: Ask, standard: number, context: Context): Promise<number> {
  return repeat(ask, `Port (Enter: ${standard})`, context, (answer) =>
    Promise.resolve(answer === '' ? standard : parsePort(answer)),
  );
}

export async function confirmFile(ask: Ask, file: string, context: Context): Promise<void> {
  const agreed = await repeat(ask, `Write ${clean(file)}? (Enter: yes; n: no)`, context, (answer) => {
    if (!/^(y|yes|n|no)?$/i.test(answer)) throw new InvalidArgumentError('Answer y or n.');
    return Promise.resolve(!/^n/i.test(answer));
  });
  if (!agreed) throw new CliError(NOTHING);
}

/** Asks until `read` accepts the answer. */
async function repeat<Result>(
  ask: Ask,
  question: string,
  { stderr }: Context,
  read: (answer: string) => Promise<Result>,
): Promise<Result> {
  for (;;) {
    say(stderr, question);
    const answer = await ask('> ');
    if (answer === undefined) {
      stderr.write('\n');
      throw new CliError(`the input ended; ${NOTHING}`);
    }
    try {
      return await read(answer.trim());
    } catch (error) {
      if (!(error instanceof CliError || error instanceof InvalidArgumentError)) throw error;
      say(stderr, `  ${clean(error.message)}`);
    }
  }
}
