// Answers that later requests refer to, by `previous_response_id` or `item_reference`: what a body refers to, the body with what
// was stored in the references' place, and what to store of an answer.
// https://platform.openai.com/docs/guides/conversation-state
import { GatewayError } from '../../../errors.ts';
import type { AnswerPlace, StoredAnswers } from '../../interface/features.ts';
import { encodeStoredReply } from '../reply/encode.ts';
import { isWanted, placeOf, toStore } from './records.ts';
import { references } from './references.ts';
import { ResolvedReferences } from './resolve.ts';

function placesOf(id: string, text: string): { ids: string[]; keptAt: AnswerPlace | undefined } | undefined {
  const place = placeOf(id, text);
  return place && { ids: [id, ...place.items], keptAt: place.keptAt };
}

export const stored: StoredAnswers = {
  isWanted,
  references,
  resolve: (body, found, bounds) => new ResolvedReferences(body, found, bounds),
  encodeReply: encodeStoredReply,
  toStore,
  placesOf,
  showDeleted: (id) => ({ id, object: 'response', deleted: true }),
  notFound: (id) =>
    new GatewayError('not_found', `Response with id '${id}' not found.`, { param: 'response_id' }),
};
