// `gateway requests ID --repro`: a folder to attach to an issue.
import path from 'node:path';
import { isoTime } from '../../../clock.ts';
import type { OnTape } from '../../../tapes/look/find.ts';
import { writeRepro } from '../../../tapes/repro/folder.ts';
import { version, type Context } from '../../context.ts';
import { say } from '../../ui/lines.ts';
import { clean, printJson, printLines, shellWord } from '../../ui/style.ts';

/** Enough to know the request by. */
const SHORT_ID = 10;

export function writeReproduction(
  { tape, exchange }: OnTape,
  { to, json }: { to?: string; json?: boolean },
  context: Context,
): void {
  const { request } = exchange.head;
  const name =
    to ??
    `repro-${request
      .replace(/^req_/, '')
      .replace(/[^\w-]/g, '_')
      .slice(0, SHORT_ID)}`;
  const folder = path.resolve(context.cwd, name);
  const made = { gateway: version(), made: isoTime(context.clock.now()), id: request };
  const files = writeRepro(folder, exchange, tape.head, made);
  const found = { tape: path.relative(context.cwd, tape.folder) || '.', number: exchange.number };
  if (json === true) printJson(context, { request, ...found, folder, files });
  else
    printLines(
      context.stdout,
      files.map((file) => clean(path.join(name, file))),
    );
  say(
    context.stderr,
    clean(
      `gateway requests: request ${found.number} of the tape ${found.tape} as its shape, without its texts: ${name}; ` +
        `names of tools are kept: read it before you attach it. To try it: gateway replay ${shellWord(name)}`,
    ),
  );
}
