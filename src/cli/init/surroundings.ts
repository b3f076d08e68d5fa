// What `gateway init` finds on this machine: providers whose keys are in the environment, local model servers, installed tools.
import type { ProviderConfig } from '../../config/config.ts';
import { findPreset, PRESETS, type Preset } from '../../config/presets/presets.ts';
import { findProviders, LOCAL_CANDIDATES, SIM } from '../../config/providers.ts';
import type { Environment } from '../../environment.ts';
import { findProgram } from '../../tools/programs.ts';
import { TOOLS, type Tool } from '../../tools/tools.ts';

/** A provider that the file may name. */
export interface Candidate {
  name: string;
  /** The variable that holds its key. */
  variable?: string;
  /** The variables that its key is read from; none of them holds a key. */
  unset?: readonly string[];
  /** Of a server that answers on this machine. */
  url?: string;
  /** The models that it lists. */
  models: readonly string[];
  /** The model for `auto`. */
  model?: string;
  /** The preset lacks a URL, which only the user knows. */
  needsUrl: boolean;
}

export interface Surroundings {
  /** In order of preference. */
  providers: readonly Candidate[];
  tools: readonly Tool[];
  warnings: readonly string[];
}

const PROBE_MS = 300;

/** `servers`: what is probed on this machine. No credential is sent to it. */
export async function findSurroundings(
  context: { env: Environment; cwd: string },
  servers: readonly ProviderConfig[] = LOCAL_CANDIDATES,
): Promise<Surroundings> {
  const { providers, warnings } = findProviders(context.env);
  const azure = PRESETS.filter((preset) => needsUrl(preset) && preset.keys.some((key) => context.env[key]));
  return {
    providers: [
      ...providers.map(({ name, keyFrom }) => ({ ...candidate(name), variable: keyFrom, unset: undefined })),
      ...azure.map(({ name }) => candidate(name)),
      ...(await findServers(servers)),
    ],
    tools: TOOLS.filter(({ program }) => findProgram(program, context) !== undefined),
    warnings,
  };
}

/** A provider of that name that was not found; the name is that of a preset or of the built-in provider. */
export function candidate(name: string): Candidate {
  const preset = findPreset(name);
  return {
    name,
    ...(preset !== undefined && preset.keys.length > 0 && { unset: preset.keys }),
    models: [],
    ...(preset?.defaultModel !== undefined && { model: preset.defaultModel }),
    needsUrl: preset !== undefined && needsUrl(preset),
  };
}

export const KNOWN_NAMES: readonly string[] = [...PRESETS.map(({ name }) => name), SIM];

const needsUrl = ({ baseUrls }: Preset): boolean => Object.keys(baseUrls).length === 0;

async function findServers(servers: readonly ProviderConfig[]): Promise<Candidate[]> {
  const { createDirectClient } = await import('../../providers/direct-client.ts');
  const { probeLocal } = await import('../../providers/discover.ts');
  const found = await probeLocal(createDirectClient(), servers, { timeoutMs: PROBE_MS });
  return found.map(({ provider: { name, baseUrls }, models }) => ({
    ...candidate(name),
    url: Object.values(baseUrls)[0] ?? '',
    models,
    ...(firstChat(models) !== undefined && { model: firstChat(models) }),
  }));
}

function firstChat(models: readonly string[]): string | undefined {
  return models.find((name) => isPlain(name) && !/embed|rerank/i.test(name));
}

/** Whether a name stands in a file without quotes, and reads no variable. */
export function isPlain(name: string): boolean {
  return /^[A-Za-z0-9][\w./:@+-]*$/.test(name);
}
