// Relayed streams of the responses protocol.
import type { StreamClassifier } from '../../protocol.ts';

export const keepAlive = ': keep-alive\n\n';

export function createClassifier(_options: { usageAsked: boolean }): StreamClassifier {
  throw new Error('not built yet');
}
