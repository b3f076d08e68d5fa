// The output of `serve` on stdout once it listens: base URLs, providers and models, the database, and how to get a key.
import type { Served } from '../../app/parts.ts';
import type { Config, ProviderConfig } from '../../config/config.ts';
import { SIM_MODELS } from '../../canonical/sim-models.ts';
import type { KeyStore, Store } from '../../store/store.ts';
import { LOCAL_ACCOUNT, version, type Context } from '../context.ts';
import { clean, createStyle, printLines, shellWord, widthOf, type Style } from './style.ts';
import { limitText } from './sentences.ts';
import { shownProviders } from '../../config/providers.ts';
import { assignTierCommand, commandLines, withCommand } from './lines.ts';
import { displayWidth } from '../../display-width.ts';
import { wrapText, wrapWords } from './table.ts';

interface Running {
  app: Served;
  config: Config;
  store: KeyStore & Pick<Store, 'location'>;
  /** The plaintext of a key that this start created. */
  firstKey: string | undefined;
  /** The process, if it is not this one. */
  background?: { pid: number; logFile: string | undefined };
}

const LABEL_WIDTH = 11;

export async function printBanner(running: Running, context: Context): Promise<void> {
  const { app, config, store, firstKey, background } = running;
  const style = await createStyle(context.stdout, context.env);
  const width = widthOf(context.stdout);
  const row = (label: string, value: string): string => `  ${style.dim(label.padEnd(LABEL_WIDTH))}${value}`;
  const words = (text: string): string[] => {
    return wrapText(text, width && Math.max(20, width - LABEL_WIDTH - 2));
  };
  const rows = (label: string, values: string[]): string[] =>
    values.map((value, index) => row(index === 0 ? label : '', value));
  // A path on two lines cannot be copied, so a long path gets a line of its own.
  const path = (label: string, value: string): string[] =>
    width !== undefined && LABEL_WIDTH + 2 + displayWidth(value) > width
      ? [`  ${style.dim(label)}`, `    ${value}`]
      : [row(label, value)];
  printLines(context.stdout, [
    style.bold(`gateway ${version()} is listening${background ? ' in the background' : ''}`),
    '',
    ...app.endpoints.flatMap(({ name, base }) => rows(name, addresses(app.urls, base, style))),
    ...(config.ollama === null
      ? []
      : rows('ollama', words(`needs no key: account ${clean(config.ollama.account)}`))),
    ...path('database', clean(store.location)),
    ...(config.file === null
      ? rows('config', words('none: uses the providers of the environment'))
      : path('config', clean(config.file))),
    ...(background ? [row('pid', `${background.pid}; to end it: gateway stop`)] : []),
    ...(background ? path('log', clean(background.logFile ?? 'none')) : []),
    ...app.notes.flatMap((note) => rows('note', words(clean(note)))),
    '',
    ...providerLines(shownProviders(app.providers, config), width, style),
    '',
    ...(firstKey === undefined
      ? await keyLines(store, config, { style, width })
      : await firstKeyLines(firstKey, running, { style, width })),
    '',
    ...nextLines({ style, width }),
  ]);
}

/** One line for all hosts, which share a port. */
function addresses([first = '', ...others]: readonly string[], base: string, style: Style): string[] {
  const { port } = new URL(first);
  if (others.some((url) => new URL(url).port !== port)) {
    return [first, ...others].map((url) => style.cyan(url + base));
  }
  const also = others.map((url) => new URL(url).hostname).join(', ');
  return [style.cyan(first + base) + (also === '' ? '' : style.dim(` (also ${also})`))];
}

/** What a person does next. */
const NEXT = [
  ['gateway run claude', 'an agent on this gateway, for that one process'],
  ['gateway connect', 'settings of editors, agents and SDKs'],
  ['gateway dashboard', 'usage, keys and limits in the browser'],
] as const;

function nextLines({ style, width = Infinity }: Page): string[] {
  const column = Math.max(...NEXT.map(([command]) => command.length)) + 4;
  return [
    'Next:',
    ...NEXT.map(([command, what]) =>
      column + what.length > width
        ? `  ${style.bold(command)}`
        : `  ${style.bold(command.padEnd(column - 2))}${style.dim(what)}`,
    ),
  ];
}

function namesOf({ name, source, models }: ProviderConfig): string[] {
  if (models !== null) return models.map(({ id }) => clean(id));
  return source === 'builtin'
    ? SIM_MODELS.map((id) => `${name}/${id}`)
    : [`any model, as ${clean(name)}/NAME`];
}

const SOURCES = {
  file: '',
  environment: 'key from the environment',
  local: 'found on this machine',
  builtin: 'built in, for trying out',
} as const;

function providerLines(
  providers: readonly ProviderConfig[],
  width: number | undefined,
  style: Style,
): string[] {
  const names = providers.map(({ name }) => clean(name));
  // A longer name gets a line of its own and does not widen the column.
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

async function firstKeyLines(key: string, { app, config, store }: Running, page: Page): Promise<string[]> {
  const { style, width } = page;
  const owner = await store.findAccount(LOCAL_ACCOUNT);
  return [
    ...wrapText(
      'The first key, of account local. Copy it now: it is shown only once. You can paste these lines into a shell:',
      width,
    ),
    '',
    // fish has no assignment without `export`. On a narrow terminal the key has a line of its own, which the shell joins.
    ...(width !== undefined && EXPORT.length + key.length > width
      ? [`${EXPORT}\\`, style.bold(style.green(key))]
      : [EXPORT + style.bold(style.green(key))]),
    ...curlLines(app.urls[0] ?? '', width),
    '',
    ...(owner === undefined ? [] : limitLines(owner.name, owner.tier, config, page)),
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
  // JSON may continue on another line between its members.
  return lines.flatMap((line) =>
    displayWidth(line) <= width
      ? [line]
      : wrapWords(line.split(/(?<=,)/), '', width - BODY_INDENT.length).map((part, at) =>
          at === 0 ? part : BODY_INDENT + part,
        ),
  );
}

const EXPORT = 'export GATEWAY_KEY=';
const BODY_INDENT = ' '.repeat(6);

const MAX_NAMED = 5;

/** How to create a key: an existing one cannot be shown again. */
async function keyLines(store: KeyStore, config: Config, page: Page): Promise<string[]> {
  const { style, width } = page;
  const accounts = await store.listAccounts();
  const [first] = accounts;
  const instruction = (what: string, name: string): string[] =>
    withCommand(what, ['gateway', 'keys', 'create', '--account', name], width).map((line) =>
      style.bold(line),
    );
  if (first === undefined) {
    const { defaultTier } = config;
    const limit = `Its account gets tier ${defaultTier}: ${limitText(config, defaultTier)}.`;
    return [
      ...instruction('No key exists yet. Create one:', 'NAME'),
      ...wrapText(limit, width).map((line) => style.dim(line)),
    ];
  }
  const names = accounts.slice(0, MAX_NAMED).map(({ name }) => clean(name));
  const more = accounts.length - names.length;
  const known = `accounts: ${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  return [
    ...instruction('Create another key:', shellWord(first.name)),
    ...(accounts.length > 1 ? wrapText(known, width).map((line) => style.dim(line)) : []),
    ...limitLines(first.name, first.tier, config, page),
  ];
}

function limitLines(account: string, tier: string, config: Config, { style, width }: Page): string[] {
  const now = `Account ${clean(account)} has tier ${clean(tier)}: ${limitText(config, tier)}.`;
  return withCommand(`${now} To change it:`, assignTierCommand(account), width).map((line) =>
    style.dim(line),
  );
}
