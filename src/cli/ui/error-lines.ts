// Any failure as lines for the user: what, where, how to mend it. A stack only where it was asked for.
import { inspect } from 'node:util';
import { GatewayError } from '../../errors.ts';
import { StoreError } from '../../store/store.ts';
import { CliError } from '../context.ts';
import { clean, shortened } from './style.ts';

/** A configuration that was refused: one line a fault (config/load.ts). Known by its shape, so that zod is not loaded for it. */
function faultsOf(error: unknown): string[] | undefined {
  if (!(error instanceof Error) || !('faults' in error) || !Array.isArray(error.faults)) return undefined;
  return error.faults.map(String);
}

function readable(error: unknown): string[] {
  const faults = faultsOf(error);
  if (faults !== undefined && faults.length > 0) return faults;
  if (error instanceof CliError || error instanceof StoreError || error instanceof GatewayError)
    return [error.message];
  const message = error instanceof Error ? error.message : String(error);
  return [`${message || 'failed without a message'} (--debug shows where)`];
}

export function errorLines(error: unknown, debug: boolean): { lines: string[]; exitCode: 1 | 2 } {
  const exitCode = error instanceof CliError ? error.exitCode : 1;
  const lines = readable(error).map((line) => shortened(clean(line.replace(/\s*\n\s*/g, ' '))));
  return { lines: debug ? [...lines, inspect(error)] : lines, exitCode };
}
