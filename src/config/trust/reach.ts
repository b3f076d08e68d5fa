// What a configuration file would reach and read, as its owner sees it before the consent: hosts, variables of the environment, other
// files, the database, and addresses that others can reach. Nothing of the environment is read for it.
import { isLoopback } from '../../loopback.ts';
import { findPreset } from '../presets/presets.ts';
import { fileNamed, variablesIn } from '../variables/variables.ts';

export interface FileReach {
  /** Hosts that get requests and keys, in the order of the file. */
  hosts: string[];
  /** Variables of the environment that the file reads, by `${NAME}` or by the name of a known provider. */
  variables: string[];
  /** Other files that it reads, as it says them: by `${file:PATH}`, certificates, tapes, settings of Claude Code. */
  files: string[];
  /** As the file says it; null: the default. */
  database: string | null;
  /** The account as which programs of this machine may ask without a key; null: none. */
  keyless: string | null;
  /** Hosts to listen on that other machines can reach. */
  listens: string[];
}

/** `value`: the file's own, before variables are put into it, and not yet checked. */
export function reachOf(value: unknown): FileReach {
  const { providers, database, listen, ...rest } = (value ?? {}) as Record<string, unknown>;
  const named = Object.entries(membersOf(providers));
  const texts = textsOf({ ...rest, listen });
  const hosts = [
    ...named.flatMap(([name, given]) => hostsOf(name, given)),
    ...texts.filter((text) => text.includes('://')).map(hostOf),
  ];
  const read = [
    ...named.flatMap(([name, given]) => [...keysOf(name, given), ...variablesOf(given)]),
    ...variablesOf({ ...rest, listen, database }),
  ];
  const listens = textsOf(membersOf(listen)['hosts']).filter((host) => !isLoopback(host));
  return {
    hosts: [...new Set(hosts)],
    variables: [...new Set(read.filter((name) => fileNamed(name) === undefined))],
    files: [...new Set([...read.flatMap((name) => fileNamed(name) ?? []), ...filesOf(named, rest)])],
    database: typeof database === 'string' ? database.replace(/(:\/\/).*@/, '$1') : null,
    keyless: textOf(membersOf(rest['ollama'])['account']) ?? null,
    listens: [...new Set(listens)],
  };
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

function filesOf(providers: readonly [string, unknown][], rest: Record<string, unknown>): string[] {
  const own = providers.flatMap(([, given]) => {
    const { ca, tape } = membersOf(given);
    return [ca, tape];
  });
  return [...own, membersOf(rest['claude'])['settings']].filter((name) => typeof name === 'string');
}

const membersOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};

/** Every text in a value. The reader of the file has bounded its aliases and its depth. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : [];
}

const variablesOf = (value: unknown): string[] => textsOf(value).flatMap(variablesIn);

/** Those of the file, or of the preset. */
function hostsOf(name: string, given: unknown): string[] {
  const { base_url: base, ...others } = membersOf(given);
  const own = typeof base === 'string' ? [base] : Object.values(findPreset(name)?.baseUrls ?? {});
  return [...own, ...textsOf(others).filter((text) => text.includes('://'))].map(hostOf);
}

/** Without a key in the file, a known name reads the variables of its preset, at whatever address. */
function keysOf(name: string, given: unknown): readonly string[] {
  const { api_key: key } = membersOf(given);
  return key === undefined || key === null ? (findPreset(name)?.keys ?? []) : [];
}

/** A text with variables, or one that is no URL, is shown whole, without what could be a password. */
function hostOf(text: string): string {
  if (text.includes('${') || !URL.canParse(text)) return text.replace(/(:\/\/)[^/]*@/, '$1');
  return new URL(text).host || text;
}
