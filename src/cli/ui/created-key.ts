// A new key for people: the key, which is shown only once, what it may use, and how a client uses it.
import { PROTOCOL_NAMES } from '../../canonical/request.ts';
import type { Config } from '../../config/config.ts';
import type { ProtocolOutline } from '../../protocols/interface/outline.ts';
import type { Key } from '../../store/store.ts';
import type { Context } from '../context.ts';
import { limitText } from './sentences.ts';
import { assignTierCommand, withCommand } from './lines.ts';
import { clean, createStyle, printLines, timeText, widthOf } from './style.ts';
import { wrapText } from './table.ts';

/** `url`: where a client finds the gateway; undefined: not known. `more`: further lines about the key, each with a title. */
export async function printCreated(
  { key, plaintext }: { key: Key; plaintext: string },
  url: string | undefined,
  config: Config,
  context: Context,
  more: readonly (readonly [title: string, text: string])[] = [],
): Promise<void> {
  const { stdout, env } = context;
  const style = await createStyle(stdout, env);
  const width = widthOf(stdout);
  const room = width && Math.max(20, width - ROW_INDENT);
  const rows = (name: string, lines: string[]): string[] =>
    lines.map((line, at) => `  ${style.dim((at === 0 ? name : '').padEnd(9))}  ${line}`);
  const row = (name: string, value: string): string[] => rows(name, wrapText(value, room));
  const members = [
    ...row('id', key.id),
    ...row('account', `${clean(key.account)}, tier ${key.tier}: ${limitText(config, key.tier)}`),
    ...rows('', withCommand('to change it:', assignTierCommand(key.account), room)),
    ...(key.label === null ? [] : row('name', clean(key.label))),
    ...row('endpoints', key.permissions.join(', ')),
    ...row('models', key.models === null ? 'all' : key.models.map(clean).join(', ')),
    ...row('expires', key.expiresAt === null ? 'never' : timeText(key.expiresAt, context)),
    ...more.flatMap(([title, text]) => row(title, text)),
  ];
  printLines(stdout, [
    style.bold(style.green(plaintext)),
    ...wrapText('Copy it now: it is shown only once.', width).map((line) => style.yellow(line)),
    '',
    ...members,
    '',
    ...(await howToUse(key, url, { dim: style.dim, width })),
  ]);
}

const ROW_INDENT = 13;

async function howToUse(
  key: Key,
  url: string | undefined,
  { dim, width }: { dim: (text: string) => string; width: number | undefined },
): Promise<string[]> {
  const { outlines } = await import('../../protocols/outlines.ts');
  const urlOf = ({ setup }: ProtocolOutline): string =>
    url === undefined ? 'the base URL that `gateway serve` prints' : url + setup.base;
  const column = Math.max(...Object.values(outlines).map((protocol) => urlOf(protocol).length));
  const allowed = PROTOCOL_NAMES.filter((name) => key.permissions.includes(name)).map(
    (name) => outlines[name],
  );
  const clientOf = ({ setup }: ProtocolOutline): string => `${setup.base} ${setup.baseVariable}`;
  const use = (protocol: ProtocolOutline): string[] => {
    const { baseVariable, keyVariable } = protocol.setup;
    const url = urlOf(protocol);
    const alike = allowed.filter((other) => clientOf(other) === clientOf(protocol));
    if (alike[0] !== protocol) return [];
    const titles = alike.map(({ setup }) => setup.title).join(' and ');
    const what = `${titles} (${baseVariable}, ${keyVariable})`;
    const line = `  ${url.padEnd(column)}  ${what}`;
    return width === undefined || line.length <= width
      ? [`  ${url.padEnd(column)}  ${dim(what)}`]
      : [`  ${url}`, ...wrapText(what, width - 4).map((text) => `    ${dim(text)}`)];
  };
  return [
    ...wrapText('Use it as the API key of a client, with the base URL', width),
    ...allowed.flatMap(use),
  ];
}
