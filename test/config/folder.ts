// A real folder with a configuration file, for tests of what is read from it.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { writeConsent } from '../../src/config/trust/consent.ts';
import { ConfigError, type LoadOptions } from '../../src/config/load.ts';
import { loadConfig } from '../../src/config/load-file.ts';

export function tempFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'gateway-config-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export function write(folder: string, name: string, text: string | Uint8Array): string {
  const file = path.join(folder, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

/** Loads a `gateway.yaml` of this text, with consent; the user's own folders are never looked into. */
export function load(text: string | undefined, options: Partial<LoadOptions> = {}): Config {
  const cwd = options.cwd ?? tempFolder();
  const home = path.join(cwd, 'home');
  const env = {
    XDG_CONFIG_HOME: path.join(home, 'config'),
    XDG_DATA_HOME: path.join(home, 'data'),
    ...options.env,
  };
  if (text !== undefined) {
    const file = write(cwd, 'gateway.yaml', text);
    writeConsent({ file, bytes: Buffer.from(text) }, env);
  }
  return loadConfig({ flags: {}, cwd, ...options, env });
}

export function faultsOf(text: string | undefined, options: Partial<LoadOptions> = {}): readonly string[] {
  try {
    load(text, options);
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
  return [];
}
