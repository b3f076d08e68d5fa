// Embeddings: vectors of texts. https://platform.openai.com/docs/api-reference/embeddings
import { isObject } from '../../../canonical/json.ts';
import { NO_NEEDS, type Traits } from '../../../canonical/traits.ts';
import { faulty } from '../../../failures.ts';
import type { Relayed } from '../../interface/endpoint.ts';
import { readModelName, refuse } from '../../shared/client.ts';
import { throwFailure } from '../../shared/failures/provider-error.ts';
import { failureIn } from '../lenient.ts';
import { decodeUsage } from '../reply/ending.ts';

const PATH = '/embeddings';

export const embeddings: Relayed = {
  does: 'relay',
  method: 'POST',
  path: PATH,
  recordedAs: 'embeddings',
  isAlone: true,
  permission: 'embeddings',
  at: {
    pathOf: (traits) => (makesEmbeddings(traits) ? PATH : undefined),
    ability: 'make embeddings',
    // An index of the vectors of two models is worthless.
    oneModel: true,
  },
  readEnvelope(body) {
    const { value } = body;
    const model = readModelName(value);
    if (body.member('input')?.isNull !== false) refuse('input', 'is missing');
    return { model, stream: value.stream === true, needs: NO_NEEDS };
  },
  inspectReply(value) {
    if (!isObject(value)) return throwFailure(NO_VECTORS);
    const failure = failureIn(value, 200);
    if (failure) throwFailure(failure);
    if (!Array.isArray(value.data) || value.data.length === 0) throwFailure(NO_VECTORS);
    const usage = decodeUsage(value.usage);
    return usage ? { usage } : {};
  },
};

const NO_VECTORS = faulty('malformed', "the provider's answer has no embeddings");

/** Where nothing is known of a model it may. Models with a known window write text. */
function makesEmbeddings({ embeddings: known, contextWindow }: Traits): boolean {
  return known ?? contextWindow === undefined;
}
