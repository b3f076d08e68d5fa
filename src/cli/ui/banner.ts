// What `serve` says on stdout once it listens: where clients go, what answers them, where the data is.
import type { App } from '../../app.ts';
import type { Config, ProviderConfig } from '../../config/config.ts';
import { allProtocols } from '../../protocols/registry.ts';
import { SIM_MODELS } from '../../sim/behaviours.ts';
import type { Store } from '../../store/store.ts';
import type { Context } from '../context.ts';
import { clean, createStyle, printLines, shellWord, widthOf, type Style } from './style.ts';
import { version } from '../program.ts';
import { limitText } from '../with-store.ts';
import { shownProviders } from '../../config/providers.ts';
import { assignTier, commandLines, withCommand } from './lines.ts';
import { displayWidth, wrapText, wrapWords } from './table.ts';

interface Served {
  app: App;
  config: Config;
  store: Store;
  /** The plaintext of a key that was just made, if one was. */
  firstKey: string | undefined;
}

const LABEL_WIDTH = 11;

export async function printBanner(served: Served, context: Context): Promise<void> {
  const { app, config, store, firstKey } = served;
  const style = await createStyle(context.stdout, context.env);
  const width = widthOf(context.stdout);
  const row = (label: string, value: string): string => `  ${style.dim(label.padEnd(LABEL_WIDTH))}${value}`;
  const words = (text: string): string[] => {
    return wrapText(text, width && Math.max(20, width - LABEL_WIDTH - 2));
  };
  const rows = (label: string, values: string[]): string[] =>
    values.map((value, index) => row(index === 0 ? label : '', value));
  // A path that is broken cannot be copied: it has a line of its own rather.
  const path = (label: string, value: string): string[] =>
    width !== undefined && LABEL_WIDTH + 2 + displayWidth(value) > width
      ? [`  ${style.dim(label)}`, `    ${value}`]
      : [row(label, value)];
  printLines(context.stdout, [
    style.bold(`gateway ${version()} is listening`),
    '',
    ...allProtocols.flatMap(({ name, client }) =>
      rows(
        name,
        app.urls.map((url) => style.cyan(url + client.setup.base)),
      ),
    ),
    ...path('database', clean(store.location)),
    ...(config.file === null
      ? rows('config', words('none: made from what the environment offers'))
      : path('config', clean(config.file))),
    ...app.notes.flatMap((note) => rows('note', words(clean(note)))),
    '',
    ...providerLines(shownProviders(app.providers, config), width, style),
    '',
    ...(firstKey === undefined
      ? await keyLines(store, config, { style, width })
      : firstKeyLines(firstKey, app, config, { style, width })),
  ]);
}

function namesOf({ name, source, models }: ProviderConfig): string[] {
  if (models !== null) return models.map(({ id }) => clean(id));
  return source === 'builtin'
    ? SIM_MODELS.map((id) => `${name}/${id}`)
    : [`any model, as ${clean(name)}/NAME`];
}

const SOURCES = {
  file: '',
  environment: 'key found in the environment',
  local: 'found on this machine',
  builtin: 'built in, for trying out',
} as const;

function providerLines(
  providers: readonly ProviderConfig[],
  width: number | undefined,
  style: Style,
): string[] {
  const names = providers.map(({ name }) => clean(name));
  // A longer name has a line of its own, and the others are not moved by it.
  const widest = width === undefined ? Infinity : Math.floor(width / 3);
  const column = Math.max(9, ...names.map(displayWidth).filter((columns) => columns <= widest)) + 2;
  return providers.flatMap((provider, index) => {
    const { protocols, source } = provider;
    const name = names[index] ?? '';
    const space = column - displayWidth(name);
    const indent = ' '.repeat(space < 2 ? 4 : 2 + column);
    const room = width === undefined ? undefined : Math.max(20, width - indent.length);
    const about = [protocols.join(', '), SOURCES[source]].filter((text) => text !== '').join('; ');
    const [first = '', ...others] = [
      ...wrapText(about, room).map((line) => style.dim(line)),
      ...wrapText(namesOf(provider).join(', '), room),
    ].filter((line) => line !== '');
    const head = `  ${style.bold(name)}`;
    return [
      ...(space < 2 ? [head, indent + first] : [head + ' '.repeat(space) + first]),
      ...others.map((line) => indent + line),
    ];
  });
}

interface Page {
  style: Style;
  width: number | undefined;
}

function firstKeyLines(key: string, app: App, config: Config, page: Page): string[] {
  const { style, width } = page;
  return [
    ...wrapText(
      'The first key, of account local. It is shown this once: keep it. These lines can be pasted into a shell as they are.',
      width,
    ),
    '',
    // A shell joins the two lines: the key is shown once, and alone on its line.
    'GATEWAY_KEY=\\',
    style.bold(style.green(key)),
    ...curlLines(app.urls[0] ?? '', width),
    '',
    ...limitLines('local', 'enterprise', config, page),
  ];
}

function curlLines(url: string, width: number | undefined): string[] {
  const body = JSON.stringify({ model: 'auto', messages: [{ role: 'user', content: 'Hello!' }] });
  const lines = commandLines(
    [
      `curl ${url}/v1/chat/completions`,
      '-H "Authorization: Bearer $GATEWAY_KEY"',
      "-H 'Content-Type: application/json'",
      `-d '${body}'`,
    ],
    width,
  );
  if (width === undefined) return lines;
  // Between its members JSON may be broken.
  return lines.flatMap((line) =>
    displayWidth(line) <= width
      ? [line]
      : wrapWords(line.split(/(?<=,)/), '', width - BODY_INDENT.length).map((part, at) =>
          at === 0 ? part : BODY_INDENT + part,
        ),
  );
}

const BODY_INDENT = ' '.repeat(6);

const MOST_NAMED = 5;

/** A key that was lost cannot be shown again: what is named is the account for which another can be made. */
async function keyLines(store: Store, config: Config, page: Page): Promise<string[]> {
  const { style, width } = page;
  const accounts = await store.listAccounts();
  const [first] = accounts;
  const said = (what: string, name: string): string[] =>
    withCommand(what, ['gateway', 'keys', 'create', '--account', name], width).map((line) =>
      style.bold(line),
    );
  if (first === undefined) {
    const { defaultTier } = config;
    const limit = `Its account gets tier ${defaultTier}: ${limitText(config, defaultTier)}.`;
    return [
      ...said('No key exists yet. Make one:', 'NAME'),
      ...wrapText(limit, width).map((line) => style.dim(line)),
    ];
  }
  const names = accounts.slice(0, MOST_NAMED).map(({ name }) => clean(name));
  const more = accounts.length - names.length;
  const known = `accounts: ${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  return [
    ...said('A further key:', shellWord(first.name)),
    ...(accounts.length > 1 ? wrapText(known, width).map((line) => style.dim(line)) : []),
    ...limitLines(first.name, first.tier, config, page),
  ];
}

function limitLines(account: string, tier: string, config: Config, { style, width }: Page): string[] {
  const now = `Account ${clean(account)} has tier ${clean(tier)}: ${limitText(config, tier)}.`;
  return withCommand(`${now} Another:`, assignTier(account), width).map((line) => style.dim(line));
}
