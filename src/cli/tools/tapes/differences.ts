// `gateway requests ID --diff`: what the client sent and what each provider got, side by side, and what the gateway says of it.
import path from 'node:path';
import type { RequestJson } from '../../../accounts/request-json.ts';
import { PROTOCOL_NAMES } from '../../../canonical/request.ts';
import { displayWidth, truncate } from '../../../display-width.ts';
import { plural } from '../../../plural.ts';
import { differenceOf, type Difference, type DifferenceRow } from '../../../tapes/look/difference.ts';
import type { OnTape } from '../../../tapes/look/find.ts';
import type { TapedAttempt } from '../../../tapes/read.ts';
import type { Context } from '../../context.ts';
import { clean, createStyle, printJson, printLines, widthOf, type Style } from '../../ui/style.ts';
import { labelledBy, wrapText } from '../../ui/table.ts';

interface Compared {
  attempt: TapedAttempt;
  difference: Difference;
}

/** `record`: of the database; undefined: it has none. */
export async function showDifferences(
  { tape, exchange }: OnTape,
  record: RequestJson | undefined,
  json: boolean,
  context: Context,
): Promise<void> {
  const { head, attempts, number } = exchange;
  const protocol = PROTOCOL_NAMES.find((name) => name === head.protocol);
  const client = { protocol, body: exchange.request() ?? '' };
  const compared = attempts.flatMap((attempt): Compared[] => {
    const body = attempt.request();
    if (body === undefined) return [];
    return [{ attempt, difference: differenceOf(client, { protocol: attempt.head.protocol, body }) }];
  });
  const { lost = [], repaired = [] } = record?.detail ?? {};
  const notes = { dropped: head.dropped, changed: head.changed, lost, repaired };
  const place = { request: head.request, tape: path.relative(context.cwd, tape.folder) || '.', number };
  if (json) {
    const list = compared.map(({ attempt: { head: own }, difference: { equal, rows } }) => ({
      target: `${own.provider}/${own.model}`,
      protocol: own.protocol,
      status: own.status,
      failure: own.failure?.message ?? null,
      equal,
      differences: rows,
    }));
    printJson(context, { ...place, protocol: head.protocol, attempts: list, ...notes });
    return;
  }
  const width = widthOf(context.stdout);
  const style = await createStyle(context.stdout, context.env);
  const labelled = labelledBy({ width, style });
  printLines(context.stdout, [
    style.bold(clean(`${place.request}, request ${number} of the tape ${place.tape}`)),
    ...compared.flatMap((each) => ['', ...attemptLines(each, head.protocol, { width, style })]),
    ...(compared.length === 0
      ? [`no provider was asked${head.error === null ? '' : `: ${clean(head.error.message)}`}`]
      : []),
    '',
    ...Object.entries(LABELS).flatMap(([name, label]) => {
      const list = notes[name as keyof typeof LABELS];
      return labelled(label, list.map(clean));
    }),
    ...(record === undefined
      ? [style.dim('the database has no record of it: what was lost and repaired is unknown')]
      : []),
  ]);
}

const LABELS = { dropped: 'left out', changed: 'changed', lost: 'lost', repaired: 'repaired' } as const;

interface Canvas {
  width: number | undefined;
  style: Style;
}

function attemptLines(
  { attempt: { head }, difference }: Compared,
  protocol: string,
  canvas: Canvas,
): string[] {
  const { style } = canvas;
  const end = head.failure === null ? `status ${head.status ?? 'none'}` : head.failure.message;
  const title = `${protocol} → ${head.provider}/${head.model} (${head.protocol}): ${end}`;
  const isOne = protocol === head.protocol;
  const same = `the same on both sides: ${plural(difference.equal, isOne ? 'value' : 'thing')}`;
  const rows = difference.rows.length === 0 ? [] : sideBySide(difference.rows, canvas);
  return [...wrapText(style.bold(clean(title)), canvas.width), ...rows, style.dim(same)];
}

/** Columns without a terminal. */
const WIDE = 160;
/** Below it, the two texts stand one below the other. */
const NARROW = 72;
const GAP = '  ';
const WIDEST_NAME = 28;

function sideBySide(rows: readonly DifferenceRow[], { width = WIDE, style }: Canvas): string[] {
  const shown = rows.map((row) => ({ at: clean(row.at), texts: excerpts(row) }));
  if (width < NARROW) {
    return shown.flatMap(({ at, texts: [sent, got] }) => [
      at,
      ...wrapText(`- ${sent}`, width, GAP).map((line) => style.red(line)),
      ...wrapText(`+ ${got}`, width, GAP).map((line) => style.green(line)),
    ]);
  }
  const name = Math.min(WIDEST_NAME, Math.max(2, ...shown.map(({ at }) => displayWidth(at))));
  const half = Math.floor((width - name - 2 * GAP.length) / 2);
  const line = (
    cells: readonly [string, string, string],
    paints: readonly ((text: string) => string)[],
  ): string =>
    cells
      .map((cell, at) =>
        (paints[at] ?? style.dim)(
          at === 2 ? cell : cell + ' '.repeat(Math.max(0, (at === 0 ? name : half) - displayWidth(cell))),
        ),
      )
      .join(GAP)
      .trimEnd();
  const body = shown.flatMap(({ at, texts }) => {
    const [left = [], right = []] = texts.map((text) => cut(text, half));
    return Array.from({ length: Math.max(left.length, right.length) }, (_, index) =>
      line(
        [index === 0 ? truncate(at, name) : '', left[index] ?? '', right[index] ?? ''],
        [style.bold, style.red, style.green],
      ),
    );
  });
  return [line(['AT', 'CLIENT SENT', 'PROVIDER GOT'], [style.dim, style.dim, style.dim]), ...body];
}

/** A word may be longer than its column. */
function cut(text: string, width: number): string[] {
  return wrapText(text, width).flatMap((line) => {
    const lines: string[] = [];
    let left = line;
    while (displayWidth(left) > width) {
      const head = truncate(left, width).replace(/…$/, '');
      if (head === '') break;
      lines.push(head);
      left = left.slice(head.length);
    }
    return [...lines, left];
  });
}

const SHOWN = 240;
const BEFORE = 30;

/** Of two long texts the place where they begin to differ. */
function excerpts({ client, provider }: DifferenceRow): [string, string] {
  let at = 0;
  if (client !== null && provider !== null)
    while (at < client.length && at < provider.length && client[at] === provider[at]) at++;
  const from = Math.max(0, at - BEFORE);
  const part = (text: string | null): string => {
    if (text === null) return '(not there)';
    const shown = clean(text.slice(from, from + SHOWN).replace(/\s+/g, ' '));
    return `${from > 0 ? '…' : ''}${shown}${text.length > from + SHOWN ? `… ${plural(text.length - from - SHOWN, 'more character')}` : ''}`;
  };
  return [part(client), part(provider)];
}
