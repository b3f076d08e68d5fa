// Relayed streams of the responses protocol.
import type { RelayInspector } from '../../protocol.ts';
import type { Frame } from '../../sse/splitter.ts';

export const keepAlive = ': keep-alive\n\n';

export function isBroken(_frame: Frame): boolean {
  throw new Error('not built yet');
}

export function commits(_frame: Frame): boolean {
  throw new Error('not built yet');
}

export function isQuiet(_text: string): boolean {
  return false;
}

export function createWatch(_options: { usageAsked: boolean }): RelayInspector {
  throw new Error('not built yet');
}
