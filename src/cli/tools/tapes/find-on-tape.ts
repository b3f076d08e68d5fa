// The tape that holds a request of `gateway requests ID`.
import path from 'node:path';
import { CliError } from '../../../cli-error.ts';
import { messageOf } from '../../../errors.ts';
import { plural } from '../../../plural.ts';
import { findOnTapes, tapesNear, type OnTape } from '../../../tapes/look/find.ts';
import type { Context } from '../../context.ts';
import { say } from '../../ui/lines.ts';
import { clean } from '../../ui/style.ts';

const MOST_NAMED = 3;

/** `prefix`: the beginning of an id. Throws CliError that says where was looked, if no tape holds one request of this id. */
export function findOnTape(prefix: string, named: string | undefined, { cwd, stderr }: Context): OnTape {
  const tapes = named === undefined ? tapesNear(cwd) : [path.resolve(cwd, named)];
  const { found, unread } = findOnTapes(prefix, tapes);
  const [only, another] = found;
  if (named !== undefined && unread[0] !== undefined) throw unread[0].why;
  for (const { why } of unread) say(stderr, clean(`left out: ${messageOf(why)}`));
  if (only === undefined) throw notOnTape(prefix, named, tapes, cwd);
  if (another === undefined) return only;
  const places = found
    .slice(0, MOST_NAMED)
    .map(({ tape, exchange }) => `${exchange.head.request} on ${path.relative(cwd, tape.folder) || '.'}`);
  throw new CliError(
    `several requests on tapes begin so: ${places.join(', ')}; give more of the id, or --tape NAME`,
  );
}

function notOnTape(
  prefix: string,
  named: string | undefined,
  tapes: readonly string[],
  cwd: string,
): CliError {
  const names = tapes.slice(0, MOST_NAMED).map((tape) => path.relative(cwd, tape) || '.');
  const more = tapes.length > names.length ? ` and ${tapes.length - names.length} more` : '';
  const looked =
    named === undefined
      ? `looked at ${plural(tapes.length, 'tape')} in ${cwd} and its folder tapes${names.length === 0 ? '' : ` (${names.join(', ')}${more})`}; --tape names another`
      : `looked at ${named}`;
  return new CliError(
    `no tape holds the request ${prefix}: ${looked}. What requests say is kept on tapes alone: run the program again with gateway record NAME -- COMMAND`,
  );
}
