// The canonical request as a body for a responses provider.
import type { HistoryRules } from '../../../canonical/history.ts';
import type { GenerationRequest } from '../../../canonical/request.ts';
import type { Traits } from '../../../canonical/traits.ts';
import type { EncodedRequest } from '../../protocol.ts';

export const historyRules: HistoryRules = { takesBack: () => false, blankIsSilent: false };

export function encodeRequest(_request: GenerationRequest, _model: string, _traits: Traits): EncodedRequest {
  throw new Error('not built yet');
}
