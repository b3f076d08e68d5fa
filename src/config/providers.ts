// Resolves the providers of the file with their presets: base URLs, protocols, key. Also finds providers without a file.
import { PROTOCOL_NAMES, type ProtocolName } from '../canonical/request.ts';
import type { ModelConfig, ProviderConfig, Config, LeftOut, ConfigFault } from './config.ts';
import { isLoopback } from '../loopback.ts';
import { readBaseUrl } from './provider/base-url.ts';
import { lineOf } from './provider/line.ts';
import { networkOf } from './provider/network.ts';
import type { Environment } from '../environment.ts';
import { didYouMean } from './did-you-mean.ts';
import { readVariable } from './variables/secret-files.ts';
import { type Preset, findPreset, inRegion, needsRegion, presetAt, PRESETS } from './presets/presets.ts';
import { REGION } from './schema/scalars.ts';
import type { FileModel, FileProvider } from './schema/schema.ts';

/** The name of the built-in, simulated provider, which needs no network and no key. */
export const SIM = 'sim';

const TIMEOUT: ProviderConfig['timeout'] = {
  connect: 10_000,
  // The official SDKs wait as long.
  firstByte: 600_000,
  idle: 300_000,
  whole: 900_000,
};
/** A model on this machine may be loaded first, and reads a long prompt slowly. */
const LOCAL_TIMEOUT: ProviderConfig['timeout'] = { ...TIMEOUT, firstByte: 1_800_000, whole: 1_800_000 };
const SIM_TIMEOUT = 3000;

/** A usable provider, the reason to leave it out, or its faults. */
type Resolved =
  { provider: ProviderConfig; warning?: string } | { leftOut: string } | { faults: ConfigFault[] };

interface Surroundings {
  env: Environment;
  /** Of the configuration file. */
  folder: string;
  /** The names that its `api_key` reads. */
  variables: readonly string[];
}

export function resolveProvider(
  name: string,
  given: FileProvider,
  { env, folder, variables }: Surroundings,
): Resolved {
  const faults: ConfigFault[] = duplicateModels(given.models ?? []);
  if (name === SIM) return resolveSim(given, faults);
  const known = findPreset(name);
  const region = regionOf(known, given, env);
  const preset = known && region !== undefined ? inRegion(known, region) : known;
  const protocols = given.protocol === undefined ? undefined : [...new Set(given.protocol)];
  if (preset === undefined) faults.push(...missingMembers(name, given));
  faults.push(...regionFaults(known, region, given));
  const endpoints = resolveEndpoints(preset, protocols, given.base_url);
  const network = networkOf(given, folder);
  const line = lineOf(given);
  faults.push(...endpoints.faults, ...network.faults, ...line.faults);
  if (faults.length > 0) return { faults };

  const from = variables.length > 0 ? variables.join(' and ') : `providers.${name}.api_key`;
  const [first, ...more] = new Set(given.api_key);
  const key = first === undefined ? presetKey(preset, env) : { value: first, from };
  // The user's own service under a known name may need no key.
  const keyless = preset === undefined || preset.keys.length === 0 || given.base_url !== undefined;
  if (key.value === undefined && !keyless) return { leftOut: key.reason ?? 'it has no key' };
  const usual = timeoutOf(preset);
  const provider = {
    ...fromPreset(name, preset),
    protocols: endpoints.protocols,
    baseUrls: endpoints.baseUrls,
    apiKey: key.value,
    ...(first !== undefined && more.length > 0 && { apiKeys: [first, ...more] }),
    ...(key.from !== undefined && { keyFrom: key.from }),
    headers: given.headers ?? {},
    ...(line.config !== undefined && { line: line.config }),
    ...(network.config !== undefined && { network: network.config }),
    sharedIds: given.shared_ids ?? false,
    ...rulesOf(preset ?? presetAt(Object.values(endpoints.baseUrls)), given, endpoints.protocols),
    ...(given.relay === 'exact' && { exactRelay: true }),
    repairTools: repairsTools(given.repair_tools, endpoints.baseUrls),
    timeout: {
      connect: given.timeout?.connect ?? usual.connect,
      firstByte: given.timeout?.first_byte ?? usual.firstByte,
      idle: given.timeout?.idle ?? usual.idle,
      whole: given.timeout?.whole ?? usual.whole,
    },
    models: given.models?.map(modelConfig) ?? null,
    source: 'file' as const,
  };
  const warning = key.value === undefined ? key.ignored : quotedKey(key);
  return warning === undefined ? { provider } : { provider, warning };
}

/** A provider that only its preset describes: found by its key in the environment, or as a local server. */
function presetProvider(
  preset: Preset,
  source: ProviderConfig['source'],
  key: Pick<Key, 'value' | 'from'>,
): ProviderConfig {
  return {
    ...fromPreset(preset.name, preset),
    protocols: preset.protocols,
    baseUrls: preset.baseUrls,
    apiKey: key.value,
    ...(key.from !== undefined && { keyFrom: key.from }),
    headers: {},
    sharedIds: false,
    preset: preset.rules ?? preset.name,
    traits: preset.traits,
    repairTools: repairsTools('auto', preset.baseUrls),
    timeout: timeoutOf(preset),
    models: null,
    source,
  };
}

/** Stands for the built-in provider, which gets its port at its first request. */
export const SIM_URL = 'http://127.0.0.1:0';

/** The built-in provider with these models, at `SIM_URL`. */
export function builtinProvider(names: readonly string[]): ProviderConfig {
  const base = `${SIM_URL}/v1`;
  const models = names.map((id) => ({ id, upstream: id }));
  return { ...simProvider(models), baseUrls: { chat: base, messages: base, responses: base } };
}

export function simProvider(models: ModelConfig[] | null = null): ProviderConfig {
  return {
    ...fromPreset(SIM, undefined),
    protocols: PROTOCOL_NAMES,
    baseUrls: {},
    apiKey: undefined,
    headers: {},
    sharedIds: false,
    traits: { vision: true, tools: true, thinking: true },
    repairTools: false,
    timeout: { connect: SIM_TIMEOUT, firstByte: SIM_TIMEOUT, idle: SIM_TIMEOUT, whole: SIM_TIMEOUT },
    models,
    defaultModel: 'echo',
    source: 'builtin',
  };
}

function timeoutOf(preset: Preset | undefined): ProviderConfig['timeout'] {
  return preset?.localPort === undefined ? TIMEOUT : LOCAL_TIMEOUT;
}

function fromPreset(
  name: string,
  preset: Preset | undefined,
): Pick<ProviderConfig, 'name' | 'auth' | 'defaultModel'> {
  return { name, auth: preset?.auth ?? 'protocol', defaultModel: preset?.defaultModel };
}

function resolveSim(given: FileProvider, faults: ConfigFault[]): Resolved {
  for (const [key, value] of Object.entries(given)) {
    if (key === 'models' || value === undefined) continue;
    faults.push({ path: [key], message: 'has no effect on the built-in provider sim; leave it out' });
  }
  return faults.length > 0 ? { faults } : { provider: simProvider(given.models?.map(modelConfig) ?? null) };
}

function missingMembers(name: string, given: FileProvider): ConfigFault[] {
  const missing = (['protocol', 'base_url'] as const).filter((member) => given[member] === undefined);
  if (missing.length === 0) return [];
  const known = [...PRESETS.map((preset) => preset.name), SIM];
  const near = didYouMean(name, known);
  const hint = near === undefined ? `well known: ${known.join(', ')}` : `did you mean ${near}?`;
  const message = `is not a well-known name and has no ${missing.join(' and no ')}; write what is missing (${hint})`;
  return [{ path: [], message }];
}

/** The region of a preset whose addresses depend on it. */
function regionOf(preset: Preset | undefined, given: FileProvider, env: Environment): string | undefined {
  if (preset === undefined || !needsRegion(preset)) return undefined;
  return given.region ?? REGION.read(env.AWS_REGION ?? env.AWS_DEFAULT_REGION);
}

function regionFaults(
  preset: Preset | undefined,
  region: string | undefined,
  given: FileProvider,
): ConfigFault[] {
  const needed = preset !== undefined && needsRegion(preset) && given.base_url === undefined;
  if (needed && region === undefined)
    return [{ path: [], message: 'has no region; write one like eu-central-1, or set AWS_REGION' }];
  if (given.region !== undefined && !needed)
    return [{ path: ['region'], message: 'has no effect on this provider; leave it out' }];
  return [];
}

interface Endpoints {
  protocols: readonly ProtocolName[];
  baseUrls: ProviderConfig['baseUrls'];
  faults: ConfigFault[];
}

function resolveEndpoints(
  preset: Preset | undefined,
  asked: ProtocolName[] | undefined,
  given: string | undefined,
): Endpoints {
  if (given === undefined) {
    const protocols = asked ?? preset?.protocols ?? [];
    const known = preset?.baseUrls ?? {};
    const faults = protocols
      .filter((protocol) => preset !== undefined && known[protocol] === undefined)
      .map((protocol) => ({
        path: ['base_url'],
        message: `is missing; write the provider's URL for ${protocol}`,
      }));
    const baseUrls = Object.fromEntries(protocols.map((protocol) => [protocol, known[protocol]]));
    return { protocols, baseUrls, faults };
  }
  const base = readBaseUrl(given);
  if ('fault' in base)
    return { protocols: [], baseUrls: {}, faults: [{ path: ['base_url'], message: base.fault }] };
  const protocols = asked ?? protocolsAtOneUrl(preset);
  return {
    protocols,
    baseUrls: Object.fromEntries(protocols.map((protocol) => [protocol, base.urlFor(protocol)])),
    faults: [],
  };
}

/** The protocols of a known provider at another URL: those that share the URL of the preset's first protocol. */
function protocolsAtOneUrl(preset: Preset | undefined): readonly ProtocolName[] {
  if (preset?.elsewhere !== undefined) return preset.elsewhere;
  const [first] = preset?.protocols ?? [];
  if (preset === undefined || first === undefined) return [];
  return preset.protocols.filter((protocol) => preset.baseUrls[protocol] === preset.baseUrls[first]);
}

interface Key {
  value: string | undefined;
  /** The variable that holds it. */
  from?: string;
  /** Why there is no key. */
  reason?: string;
  /** Why the key of a variable is not used. */
  ignored?: string;
}

/** Quotes that a file of variables or a shell left in the value. */
function quotedKey({ value, from }: Pick<Key, 'value' | 'from'>): string | undefined {
  if (value === undefined || !/^(["']).*\1$/.test(value)) return undefined;
  return `${from ?? 'the key'} is in quotes, which are sent as a part of the key; take them out`;
}

/** The key of a preset's environment variables. A gateway's own key is never sent to a provider. */
function presetKey(preset: Preset | undefined, env: Environment): Key {
  let ignored: string | undefined;
  for (const name of preset?.keys ?? []) {
    const { text, fault } = readVariable(env, name);
    const value = text.trim();
    ignored ??= fault;
    if (value === '') continue;
    if (value.startsWith('sk-gw-'))
      ignored ??= `${name} contains a key of a gateway, not of the provider: ignored`;
    else if (!/^[\x21-\x7e]+$/.test(value))
      ignored ??= `${name} contains characters that are invalid in a key: ignored`;
    else return { value, from: name, ignored };
  }
  const names = preset?.keys.join(' or ') ?? '';
  return { value: undefined, reason: ignored ?? `${names} is not set`, ignored };
}

function rulesOf(
  preset: Preset | undefined,
  given: FileProvider,
  protocols: readonly ProtocolName[],
): Pick<ProviderConfig, 'preset' | 'traits' | 'flags'> {
  const promptCache =
    given.prompt_cache ?? (preset === undefined && protocols.includes('messages') ? 'auto' : undefined);
  const traits = {
    ...preset?.traits,
    ...given.flags,
    ...(promptCache === undefined ? {} : { promptCache }),
  };
  return { preset: preset?.rules ?? preset?.name, traits, flags: given.flags };
}

/** `auto`: for servers on this machine, whose models are small. */
function repairsTools(
  given: FileProvider['repair_tools'] = 'auto',
  baseUrls: ProviderConfig['baseUrls'],
): boolean {
  if (given !== 'auto') return given;
  const urls = Object.values(baseUrls);
  return urls.length > 0 && urls.every((url) => isLoopback(new URL(url).hostname));
}

function duplicateModels(models: readonly FileModel[]): ConfigFault[] {
  const seen = new Set<string>();
  const faults: ConfigFault[] = [];
  for (const [index, { id }] of models.entries()) {
    if (seen.has(id))
      faults.push({ path: ['models', index, 'id'], message: 'is a name that occurs twice; keep one' });
    seen.add(id);
  }
  return faults;
}

function modelConfig(given: FileModel): ModelConfig {
  const { id, upstream, structured_output, context_window, max_output, price, ...abilities } = given;
  return defined({
    id,
    upstream: upstream ?? id,
    ...abilities,
    structuredOutput: structured_output,
    contextWindow: context_window,
    maxOutput: max_output,
    price:
      price &&
      defined({
        input: price.input,
        output: price.output,
        cacheRead: price.cache_read,
        cacheWrite: price.cache_write,
      }),
  });
}

function defined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as T;
}

// Zero configuration: without a file, the gateway uses every provider whose key is in the environment, and every local server
// that answers a probe. `*_BASE_URL` variables are ignored, because they often point back to a gateway.

/** Local servers on their usual ports. The probe sends no credentials to them. */
export const LOCAL_CANDIDATES: readonly ProviderConfig[] = PRESETS.filter(
  (preset) => preset.localPort !== undefined,
).map((preset) => presetProvider(preset, 'local', { value: undefined }));

export function findProviders(env: Environment): Pick<Config, 'providers' | 'warnings' | 'leftOut'> {
  const providers: ProviderConfig[] = [];
  const warnings: string[] = [];
  const leftOut: LeftOut[] = [];
  for (const preset of PRESETS) {
    if (preset.keys.length === 0 || Object.keys(preset.baseUrls).length === 0) continue;
    const key = presetKey(preset, env);
    const region = regionOf(preset, {}, env);
    if (key.ignored !== undefined) warnings.push(key.ignored);
    const quoted = quotedKey(key);
    if (quoted !== undefined) warnings.push(quoted);
    if (key.value !== undefined && region === undefined && needsRegion(preset))
      leftOut.push({ provider: preset.name, why: 'AWS_REGION is not set', names: [] });
    else if (key.value !== undefined)
      providers.push(
        presetProvider(region === undefined ? preset : inRegion(preset, region), 'environment', key),
      );
    else leftOut.push({ provider: preset.name, why: key.reason ?? 'it has no key', names: [] });
  }
  return { providers, warnings, leftOut };
}

/** The providers that lists show: the built-in one only if the file names it or if there is no other. */

export function shownProviders(all: readonly ProviderConfig[], config: Config): readonly ProviderConfig[] {
  const named = new Set(config.providers.map(({ name }) => name));
  const shown = all.filter(({ name, source }) => named.has(name) || source !== 'builtin');
  return shown.length > 0 ? shown : all;
}
