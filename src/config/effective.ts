// What is in effect, and from where: every value of a loaded configuration, in the words of the file, with the flag, variable or line
// that sets it. Secrets are hidden.
import { type Config, type ProviderConfig, type WeightedRef, formatPath, type Path } from './config.ts';
import { findFile, type LoadOptions } from './load.ts';
import { loadConfig, readFound } from './load-file.ts';
import type { Source } from './load-source.ts';
import { setting, type Flags } from './settings.ts';
import { amountNumber, tierText, type Tier } from '../tier.ts';

export interface EffectiveValue {
  /** The path in a file: `listen.port`. */
  key: string;
  value: string | number | boolean | null | readonly string[];
  source: 'flag' | 'environment' | 'file' | 'preset' | 'default';
  /** `--port`, `GATEWAY_PORT`, `gateway.yaml:3`. null: a preset or a default. */
  where: string | null;
}

type Origin = Pick<EffectiveValue, 'source' | 'where'>;

const DEFAULT: Origin = { source: 'default', where: null };
const PRESET: Origin = { source: 'preset', where: null };

/** Throws a ConfigError as `loadConfig` does. */
export function effectiveValues(options: LoadOptions): { config: Config; values: EffectiveValue[] } {
  const config = loadConfig(options);
  const found = findFile(options);
  const source = found && readFound(found, options);
  const reader = new Reader(options, source);
  return {
    config,
    values: [
      ...settings(config, reader),
      ...config.providers.flatMap((provider) => providerValues(provider, reader)),
      ...[...config.routes].flatMap(([name, { strategy, targets, rules = [] }]) => {
        const path = ['routes', name];
        const namesOf = (refs: readonly WeightedRef[]): string[] =>
          refs.map(({ provider, model, weight }) =>
            weight === undefined ? `${provider}/${model}` : `${provider}/${model} (weight ${weight})`,
          );
        return [
          reader.row(path, namesOf(targets)),
          ...(strategy === 'priority' ? [] : [reader.row([...path, 'strategy'], strategy)]),
          ...rules.map(({ by, name: kind, targets: refs }) =>
            reader.row([...path, by === 'agent' ? 'agents' : 'classes', kind], namesOf(refs)),
          ),
        ];
      }),
      ...[...config.tiers].map(([name, tier]) => reader.row(['tiers', name], tierValue(tier))),
    ],
  };
}

/** A number of requests an hour, or all limits as text. */
function tierValue(tier: Tier): string | number {
  return tier.held || tier.limits.length === 0 ? tierText(tier) : tier.perHour;
}

/** Finds where a value comes from. */
class Reader {
  readonly #options: LoadOptions;
  readonly #source: Source | undefined;

  constructor(options: LoadOptions, source: Source | undefined) {
    this.#options = options;
    this.#source = source;
  }

  row(path: Path, value: EffectiveValue['value'], otherwise = DEFAULT): EffectiveValue {
    const given = this.given(path);
    const key = formatPath(path);
    if (given === undefined || this.#source === undefined) return { key, value, ...otherwise };
    const shown = JSON.stringify(given).includes('${') ? fileText(given) : value;
    return { key, value: shown, source: 'file', where: this.#source.line(path) };
  }

  /** As `row`, for a value that a flag or a variable can set. */
  setting(
    path: Path,
    value: EffectiveValue['value'],
    [flag, variable]: readonly [flag: keyof Flags, variable: string],
  ): EffectiveValue {
    const key = formatPath(path);
    const { flags, env } = this.#options;
    const option = flag === 'hosts' ? '--host' : `--${flag}`;
    if (flags[flag] !== undefined) return { key, value, source: 'flag', where: option };
    if (setting(env, variable) !== undefined) return { key, value, source: 'environment', where: variable };
    return this.row(path, value);
  }

  /** The text of the file at a path; undefined: the file does not set it. */
  given(path: Path): unknown {
    let value = this.#source?.value;
    for (const segment of path) {
      if (typeof value !== 'object' || value === null || !Object.hasOwn(value, segment)) return undefined;
      value = (value as Record<string | number, unknown>)[segment];
    }
    return value ?? undefined;
  }
}

/** The value as the file has it, with its variables instead of their values, which may be secrets. */
function fileText(given: unknown): EffectiveValue['value'] {
  return withoutCredentials(typeof given === 'string' ? given : JSON.stringify(given));
}

const withoutCredentials = (text: string): string => text.replace(/(:\/\/)[^"]*@/, '$1');

function settings(config: Config, reader: Reader): EffectiveValue[] {
  const { listen, limits, responses } = config;
  const database = withoutCredentials(config.database);
  const limit = (name: string, value: string | number): EffectiveValue => reader.row(['limits', name], value);
  return [
    reader.setting(['listen', 'hosts'], listen.hosts, ['hosts', 'GATEWAY_HOST']),
    reader.setting(['listen', 'port'], listen.port, ['port', 'GATEWAY_PORT']),
    reader.row(['listen', 'names'], listen.names),
    reader.row(['listen', 'origins'], listen.origins),
    reader.setting(['database'], database, ['database', 'GATEWAY_DATABASE']),
    reader.setting(['log'], config.log ?? null, ['log', 'GATEWAY_LOG']),
    reader.row(['default_tier'], config.defaultTier),
    reader.row(['unknown_price'], config.unknownPrice),
    ...brakeRows(config.brakes, reader),
    ...alertValues(config, reader),
    reader.row(['strict'], config.strict),
    reader.row(['explain_misses'], config.explainMisses ? 'on' : 'off'),
    reader.row(['maintenance'], config.maintenance),
    reader.row(['admin'], config.admin),
    reader.row(['sign_in'], config.signIn === null ? 'off' : 'on'),
    ...(config.signIn?.url == null ? [] : [reader.row(['sign_in', 'url'], config.signIn.url)]),
    ...(config.signIn?.autoApprove === true ? [reader.row(['sign_in', 'auto_approve'], 'local')] : []),
    ...(config.claude.settings === null
      ? []
      : [reader.row(['claude', 'settings'], config.claude.settings.file)]),
    ...(config.claude.telemetry ? [reader.row(['claude', 'telemetry'], 'on')] : []),
    reader.row(['ollama', 'account'], config.ollama?.account ?? null),
    reader.row(['metrics'], config.metrics !== null),
    ...(config.metrics === null ? [] : [reader.row(['metrics', 'accounts'], config.metrics.accounts)]),
    reader.row(['otlp'], config.otlp),
    reader.row(['usage', 'keep'], durationText(config.usage.keep)),
    reader.row(['responses', 'store'], responses.store ? 'on' : 'off'),
    reader.row(['responses', 'keep'], durationText(responses.keep)),
    limit('max_body', sizeText(limits.maxBody)),
    limit('max_reply', sizeText(limits.maxReply)),
    limit('max_values', limits.maxValues),
    limit('max_concurrent', limits.maxConcurrent),
    limit('header_timeout', durationText(limits.headerTimeout)),
    limit('request_timeout', durationText(limits.requestTimeout)),
    limit('write_timeout', durationText(limits.writeTimeout)),
    limit('keep_alive', durationText(limits.keepAlive)),
    limit('shutdown_grace', durationText(limits.shutdownGrace)),
  ];
}

function brakeRows(brakes: Config['brakes'], reader: Reader): EffectiveValue[] {
  if (brakes === null) return [reader.row(['brakes'], null)];
  const { conversation, repeatedCall, requestsAPrompt } = brakes;
  const rows: [name: string, value: number | undefined][] = [
    ['conversation', conversation && amountNumber('cost', conversation)],
    ['repeated_call', repeatedCall],
    ['requests_a_prompt', requestsAPrompt],
  ];
  return rows.flatMap(([name, value]) => (value === undefined ? [] : [reader.row(['brakes', name], value)]));
}

/** The path of the address, too, may be a secret. */
function alertValues({ alerts }: Config, reader: Reader): EffectiveValue[] {
  if (alerts === null) return [reader.row(['alerts'], null)];
  const hidden = (path: Path, value: string): EffectiveValue => {
    const row = reader.row(path, null);
    const given = reader.given(path);
    return { ...row, value: typeof given === 'string' && given.includes('${') ? fileText(given) : value };
  };
  const { origin, pathname } = new URL(alerts.url);
  return [
    hidden(['alerts', 'url'], pathname === '/' ? origin : `${origin}/…`),
    ...(alerts.secret === undefined ? [] : [hidden(['alerts', 'secret'], 'set')]),
  ];
}

function providerValues(provider: ProviderConfig, reader: Reader): EffectiveValue[] {
  const path = ['providers', provider.name];
  const row = (name: string, value: EffectiveValue['value'], otherwise?: Origin): EffectiveValue =>
    reader.row([...path, name], value, otherwise);
  const urls = [...new Set(Object.values(provider.baseUrls))];
  const { connect, firstByte, idle, whole } = provider.timeout;
  const { promptCache } = provider.traits;
  const flags = reader.given([...path, 'flags']) ?? {};
  return [
    row('protocol', provider.protocols, PRESET),
    ...(urls.length === 0 ? [] : [row('base_url', urls.length === 1 ? (urls[0] ?? null) : urls, PRESET)]),
    keyValue(provider, reader),
    ...Object.keys(provider.headers).map((name) => ({
      ...row('headers', 'set'),
      key: formatPath([...path, 'headers', name]),
      value: 'set',
    })),
    ...lineValues(provider, row),
    ...(provider.network?.proxy === undefined
      ? []
      : [row('proxy', withoutCredentials(provider.network.proxy))]),
    ...(provider.network?.ca === undefined ? [] : [row('ca', fileText(reader.given([...path, 'ca'])))]),
    ...(provider.sharedIds ? [row('shared_ids', true)] : []),
    ...(promptCache === undefined ? [] : [row('prompt_cache', promptCache, PRESET)]),
    ...(provider.exactRelay === true ? [row('relay', 'exact')] : []),
    ...(provider.source === 'builtin' ? [] : [row('repair_tools', provider.repairTools)]),
    ...Object.entries(flags).map(([name, value]) =>
      reader.row(
        [...path, 'flags', name],
        typeof value === 'boolean' || typeof value === 'number' ? value : fileText(value),
      ),
    ),
    ...Object.entries({ connect, first_byte: firstByte, idle, whole }).map(([name, ms]) =>
      reader.row([...path, 'timeout', name], durationText(ms)),
    ),
    row('models', provider.models?.map(({ id }) => id) ?? 'any'),
  ];
}

function lineValues(
  { line }: ProviderConfig,
  row: (name: string, value: EffectiveValue['value']) => EffectiveValue,
): EffectiveValue[] {
  if (line === undefined) return [];
  const { maxConcurrent, size, wait } = line;
  return [row('max_concurrent', maxConcurrent), row('queue', `${size} for ${durationText(wait)}`)];
}

/** The first characters of a long key, so that a person recognises it. */
const VISIBLE_LENGTH = 6;
const LONG_KEY = 24;

const hiddenKey = (key: string): string =>
  key.length < LONG_KEY ? 'set' : `set (${key.slice(0, VISIBLE_LENGTH)}…)`;

function keyValue({ name, apiKey, apiKeys, keyFrom }: ProviderConfig, reader: Reader): EffectiveValue {
  const path = ['providers', name, 'api_key'];
  const key = formatPath(path);
  if (apiKey === undefined) return { key, value: 'none', ...DEFAULT };
  if (apiKeys !== undefined)
    return {
      ...reader.row(path, null),
      value: `${apiKeys.length} keys, ${apiKeys.map(hiddenKey).join(', ')}`,
    };
  const hidden = hiddenKey(apiKey);
  const given = reader.given(path);
  if (given === undefined) return { key, value: hidden, source: 'environment', where: keyFrom ?? null };
  const variable = typeof given === 'string' && /^\$\{[^}]*\}$/.test(given.trim()) ? `${given.trim()}, ` : '';
  return { ...reader.row(path, null), value: variable + hidden };
}

const DURATIONS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
] as const;
const SIZES = [
  ['GiB', 1024 ** 3],
  ['MiB', 1024 ** 2],
  ['KiB', 1024],
] as const;

const durationText = (ms: number): string => inUnits(ms, DURATIONS) ?? `${ms}ms`;
const sizeText = (bytes: number): string | number => inUnits(bytes, SIZES) ?? bytes;

/** In the largest unit that gives a whole number. */
function inUnits(value: number, units: readonly (readonly [string, number])[]): string | undefined {
  const unit = units.find(([, size]) => value >= size && value % size === 0);
  return unit && `${value / unit[1]}${unit[0]}`;
}
