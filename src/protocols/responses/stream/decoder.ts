// A responses provider's stream as canonical events.
import type { Traits } from '../../../canonical/traits.ts';
import type { Ids } from '../../../ids.ts';
import type { StreamDecoder } from '../../protocol.ts';

export function createStreamDecoder(_context: { ids: Ids; traits: Traits }): StreamDecoder {
  throw new Error('not built yet');
}
