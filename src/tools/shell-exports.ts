// `gateway connect --env`: variables as lines of a shell.
import path from 'node:path';
import type { Environment } from '../environment.ts';
import { CliError } from '../cli-error.ts';
import { findTool } from './tools.ts';
import { programSetup, variablesFor, type Pointing, type Setup } from './setups.ts';
import type { Target } from './settings.ts';
import type { ConnectTool } from './connected-tools.ts';

export const SHELLS = ['sh', 'fish', 'powershell'] as const;
export type Shell = (typeof SHELLS)[number];

export function shellOf(env: Environment): Shell {
  const name = path.basename(env['SHELL'] ?? '');
  if (name === 'fish') return 'fish';
  if (/^(pwsh|powershell)/.test(name)) return 'powershell';
  return process.platform === 'win32' && name === '' ? 'powershell' : 'sh';
}

/** undefined: the variable is to be removed. */
export type Variables = Setup['env'];

/** Without a tool: the variables of the official SDKs. Throws CliError if the tool needs more than variables. */
export function environmentFor(tool: ConnectTool | undefined): (to: Target, user: Environment) => Variables {
  if (tool !== undefined && tool.env === undefined) throw notByVariables(tool);
  const setup = tool?.env ?? programSetup;
  const to = (target: Target): Pointing => ({ ...target, fileAt: (name) => name });
  return (target, user) => variablesFor(setup(to(target)), user);
}

function notByVariables({ name, title }: Pick<ConnectTool, 'name' | 'title'>): CliError {
  const once = findTool(name) === undefined ? '' : `; for one start: gateway run ${name}`;
  return new CliError(`${title} needs more than variables: gateway connect ${name}${once}`);
}

const quoted: Readonly<Record<Shell, (value: string) => string>> = {
  sh: (value) => `'${value.replaceAll("'", `'\\''`)}'`,
  fish: (value) => `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`,
  powershell: (value) => `'${value.replaceAll("'", "''")}'`,
};

const set: Readonly<Record<Shell, (name: string, value: string) => string>> = {
  sh: (name, value) => `export ${name}=${value}`,
  fish: (name, value) => `set -gx ${name} ${value}`,
  powershell: (name, value) => `$env:${name} = ${value}`,
};

const unset: Readonly<Record<Shell, (name: string) => string>> = {
  sh: (name) => `unset ${name}`,
  fish: (name) => `set -e ${name}`,
  powershell: (name) => `Remove-Item Env:${name} -ErrorAction SilentlyContinue`,
};

export function exportLines(variables: Variables, shell: Shell): string {
  const lines = Object.entries(variables).map(([name, value]) =>
    value === undefined ? unset[shell](name) : set[shell](name, quoted[shell](value)),
  );
  return lines.map((line) => `${line}\n`).join('');
}
