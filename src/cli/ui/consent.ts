// Before a command uses a gateway.yaml of the current folder: its owner's consent, asked for on a terminal, and a line that says which
// file is in use. The reader of the file checks the content again (config/trust/consent.ts), so that what counts is what was shown.
import { readFileSync } from 'node:fs';
import type { Config } from '../../config/config.ts';
import type { FileReach } from '../../config/trust/reach.ts';
import { CliError } from '../../cli-error.ts';
import type { Context, Terminal } from '../context.ts';
import { say } from './lines.ts';
import { clean, printLines, shortened, widthOf } from './style.ts';
import { wrapText } from './table.ts';

export const usedFile = (file: string): string => `uses the configuration of this folder: ${file}`;

/** Outputs that have the line. A command may read its configuration several times. */
const said = new WeakSet<Terminal>();

export function sayUsed({ file, consent }: Config, { stderr }: Context): void {
  if (file === null || consent === undefined || said.has(stderr)) return;
  said.add(stderr);
  say(stderr, shortened(usedFile(clean(file))));
}

/** `file` needs consent. Does nothing if it has it; without a terminal to ask on, the reader of the file refuses it. Throws ConfigError
 *  if its content is not that of a configuration, CliError if the owner does not agree. */
export async function askConsent(file: string, context: Context): Promise<void> {
  const { env, cwd } = context;
  if (context.ask === undefined) return;
  const { checkConsent, ConsentError, writeConsent } = await import('../../config/trust/consent.ts');
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(file);
    checkConsent({ file, bytes }, env);
    return;
  } catch (error) {
    // Whatever else keeps the file from being read is reported by its reader.
    if (!(error instanceof ConsentError)) return;
    bytes = error.bytes;
    say(context.stderr, shortened(clean(error.why)));
  }
  const { parseSource } = await import('../../config/load-source.ts');
  const { reachOf } = await import('../../config/trust/reach.ts');
  const reach = reachOf(parseSource({ file, bytes }, cwd).value);
  printLines(context.stderr, reachLines(reach, context.stderr));
  if (!(await agrees(context)))
    throw new CliError(
      shortened(
        `${clean(file)} is not used without consent; gateway config trust gives it, --config names another file`,
      ),
    );
  writeConsent({ file, bytes }, env);
}

/** Whatever is not a clear yes is a no. */
async function agrees({ ask, stderr }: Context): Promise<boolean> {
  say(stderr, 'Use it, with this content? (y: yes; Enter: no)');
  const answer = await ask?.('> ');
  if (answer === undefined) stderr.write('\n');
  return /^y(es)?$/i.test(answer?.trim() ?? '');
}

const LABEL_WIDTH = 19;

export function reachLines(
  { hosts, variables, files, database, keyless, listens }: FileReach,
  terminal: Terminal,
): string[] {
  const width = widthOf(terminal);
  const row = (label: string, values: readonly string[]): string[] =>
    wrapText(values.map(clean).join(', '), width && Math.max(20, width - LABEL_WIDTH)).map(
      (line, at) => `  ${(at === 0 ? label : '').padEnd(LABEL_WIDTH - 2)}${line}`,
    );
  return [
    ...row('requests go to', hosts.length > 0 ? hosts : ['no host']),
    ...row('variables read', variables.length > 0 ? variables : ['none']),
    ...(files.length === 0 ? [] : row('files read', files)),
    ...(database === null ? [] : row('database', [database])),
    ...(keyless === null ? [] : row('without a key', [`Ollama's API, as account ${keyless}`])),
    ...(listens.length === 0 ? [] : row('others reach it', listens)),
  ];
}
