// A provider that is a tape: its models and its protocol stand in the tape, and its address names the folder.
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { PROTOCOL_NAMES, type ProtocolName } from '../../canonical/request.ts';
import type { ConfigFault, ModelConfig, ProviderConfig } from '../config.ts';
import type { FileProvider } from '../schema/schema.ts';

/** Stands for all tapes; no server listens there. Behind the address of the built-in provider, so that real providers are known apart
 *  from both by one comparison. */
export const TAPE_URL = 'http://127.0.0.1:0/tape';

/** `pace`: pieces come when they came, or at once. */
interface TapeAddress {
  folder: string;
  protocol: ProtocolName;
  pace: boolean;
}

function tapeUrl({ folder, protocol, pace }: TapeAddress): string {
  return `${TAPE_URL}/${pace ? 'pace' : 'fast'}/${encodeURIComponent(folder)}/${protocol}/v1`;
}

/** Throws for a URL that is none of `tapeUrl`. */
export function readTapeUrl(url: string): TapeAddress {
  const [pace, folder = '', name] = url.slice(TAPE_URL.length + 1).split('/');
  const protocol = PROTOCOL_NAMES.find((each) => each === name);
  if (protocol === undefined) throw new Error('the address of a tape is damaged');
  return { folder: decodeURIComponent(folder), protocol, pace: pace === 'pace' };
}

/** What a configuration needs of a tape. */
export interface TapedTarget {
  provider: string;
  model: string;
  upstream: string;
  protocol: ProtocolName;
  context_window?: number | undefined;
  max_output?: number | undefined;
}

/** The provider of the targets of a tape. Its protocol is that of the first. */
export function tapeProvider(
  name: string,
  folder: string,
  targets: readonly [TapedTarget, ...TapedTarget[]],
  pace: boolean,
): ProviderConfig {
  const { protocol, model: defaultModel } = targets[0];
  const models = new Map<string, ModelConfig>();
  for (const target of targets) {
    if (!models.has(target.model)) models.set(target.model, modelOf(target));
  }
  const forever = 24 * 3_600_000;
  return {
    name,
    auth: 'protocol',
    defaultModel,
    protocols: [protocol],
    baseUrls: { [protocol]: tapeUrl({ folder, protocol, pace }) },
    apiKey: undefined,
    headers: {},
    sharedIds: true,
    traits: {},
    repairTools: false,
    timeout: { connect: forever, firstByte: forever, idle: forever, whole: forever },
    models: [...models.values()],
    source: 'file',
  };
}

function modelOf({
  model,
  upstream,
  context_window: contextWindow,
  max_output: maxOutput,
}: TapedTarget): ModelConfig {
  return {
    id: model,
    upstream,
    ...(isCount(contextWindow) && { contextWindow }),
    ...(isCount(maxOutput) && { maxOutput }),
  };
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) > 0;

/** `folder`: of the configuration file. */
export function resolveTape(
  name: string,
  { tape, ...others }: FileProvider,
  folder: string,
): { provider: ProviderConfig; warning?: string } | { faults: ConfigFault[] } {
  const given = Object.entries(others).filter(([, value]) => value !== undefined);
  const faults = given.map(([key]) => ({ path: [key], message: 'has no effect on a tape; leave it out' }));
  const at = path.resolve(folder, tape ?? '');
  const found = targetsIn(at);
  if (typeof found === 'string') faults.push({ path: ['tape'], message: found });
  if (faults.length > 0 || typeof found === 'string') return { faults };
  return { provider: tapeProvider(name, at, found, true) };
}

const MOST_BYTES = 16 * 1024 * 1024;

/** The targets of the tape, or what is wrong with it. What is left of it is checked where it is played. */
function targetsIn(folder: string): [TapedTarget, ...TapedTarget[]] | string {
  const file = path.join(folder, 'tape.json');
  const record = 'name a folder that gateway record made';
  try {
    if (statSync(file).size > MOST_BYTES) return `is no tape; ${record}`;
    const { targets } = JSON.parse(readFileSync(file, 'utf8')) as { targets?: unknown };
    const [first, ...more] = Array.isArray(targets) ? targets.filter(isTarget) : [];
    return first === undefined ? 'is a tape without an answer; record it again' : [first, ...more];
  } catch {
    return `is no tape; ${record}`;
  }
}

function isTarget(value: unknown): value is TapedTarget {
  const target = (value ?? {}) as Record<string, unknown>;
  const texts = [target['provider'], target['model'], target['upstream']];
  return (
    texts.every((text) => typeof text === 'string' && text !== '') &&
    PROTOCOL_NAMES.some((name) => name === target['protocol'])
  );
}
