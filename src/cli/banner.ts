// What `serve` says on stdout once it listens: where clients go, what answers them, where the data is.
import type { App } from '../app.ts';
import type { Config, ProviderConfig } from '../config/config.ts';
import type { Store } from '../store/store.ts';
import type { Context } from './context.ts';
import { clean, createStyle, printLines, shellWord, widthOf, type Style } from './output.ts';
import { version } from './program.ts';
import { limitText } from './session.ts';
import { shownProviders } from './shown.ts';
import { displayWidth, wrapWords } from './table.ts';

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
  const row = (label: string, value: string): string => `  ${style.dim(label.padEnd(LABEL_WIDTH))}${value}`;
  const rows = (label: string, values: string[]): string[] =>
    values.map((value, index) => row(index === 0 ? label : '', value));
  printLines(context.stdout, [
    style.bold(`gateway ${version()} is listening`),
    '',
    ...rows(
      'chat',
      app.urls.map((url) => style.cyan(`${url}/v1`)),
    ),
    ...rows(
      'messages',
      app.urls.map((url) => style.cyan(url)),
    ),
    row('database', clean(store.location)),
    row('config', config.file === null ? 'none: made from what the environment offers' : clean(config.file)),
    ...app.notes.map((note) => row('note', clean(note))),
    '',
    ...providerLines(shownProviders(app.providers, config), widthOf(context.stdout), style),
    '',
    ...(firstKey === undefined
      ? await keyLines(store, config, style)
      : firstKeyLines(firstKey, app, config, style)),
  ]);
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
  const column = Math.max(9, ...names.map(displayWidth)) + 2;
  const indent = ' '.repeat(2 + column);
  const room = width === undefined ? undefined : Math.max(20, width - indent.length);
  return providers.flatMap(({ protocols, source, models }, index) => {
    const name = names[index] ?? '';
    const about = [protocols.join(', '), SOURCES[source]].filter((text) => text !== '').join('; ');
    const ids = models?.map(({ id }) => clean(id)) ?? [`any model, as ${name}/NAME`];
    return [
      `  ${style.bold(name)}${' '.repeat(column - displayWidth(name))}${style.dim(about)}`,
      ...wrapWords(ids, ', ', room).map((line) => indent + line),
    ];
  });
}

/** The key stands in the line that uses it, and nowhere else: it is shown once. */
function firstKeyLines(key: string, app: App, config: Config, style: Style): string[] {
  const url = app.urls[0] ?? '';
  const body = JSON.stringify({ model: 'auto', messages: [{ role: 'user', content: 'Hello!' }] });
  return [
    'The first key, of account local, is in this line. It is shown this once: keep it.',
    '',
    `curl ${url}/v1/chat/completions -H 'Authorization: Bearer ${style.bold(style.green(key))}' ` +
      `-H 'Content-Type: application/json' -d '${body}'`,
    '',
    limitLine('local', 'enterprise', config, style),
  ];
}

const MOST_NAMED = 5;

/** A key that was lost cannot be shown again: what is named is the account for which another can be made. */
async function keyLines(store: Store, config: Config, style: Style): Promise<string[]> {
  const accounts = await store.listAccounts();
  const [first] = accounts;
  const create = (name: string): string => style.bold(`gateway keys create --account ${name}`);
  if (first === undefined) {
    const { defaultTier } = config;
    const limit = `tier ${defaultTier}: ${limitText(config, defaultTier)}`;
    return [`No key exists yet. Make one: ${create('NAME')}`, style.dim(`Its account gets ${limit}.`)];
  }
  const names = accounts.slice(0, MOST_NAMED).map(({ name }) => clean(name));
  const more = accounts.length - names.length;
  const known = `accounts: ${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  return [
    `A further key: ${create(shellWord(first.name))}`,
    ...(accounts.length > 1 ? [style.dim(known)] : []),
    limitLine(first.name, first.tier, config, style),
  ];
}

function limitLine(account: string, tier: string, config: Config, style: Style): string {
  const now = `Account ${clean(account)} has tier ${clean(tier)}: ${limitText(config, tier)}.`;
  return style.dim(`${now} Another: gateway tiers assign ${shellWord(account)} TIER`);
}
