// What a Response says of itself: its id, its model, and its status, or why it is incomplete.
import { isObject, stringOf, type JsonObject } from '../../../canonical/json.ts';
import type { AnswerMarks } from '../../interface/answer.ts';

/** A Response that is not over has a status that is no ending. */
const OVER: ReadonlySet<unknown> = new Set(['completed', 'incomplete', 'failed', 'cancelled']);

export function readMarks(response: JsonObject): AnswerMarks {
  const { status, incomplete_details: details } = response;
  const id = stringOf(response.id);
  const model = stringOf(response.model);
  const why = status === 'incomplete' && isObject(details) ? stringOf(details.reason) : '';
  const word = why === '' ? stringOf(status) : why;
  return {
    ...(id !== '' && { id }),
    ...(model !== '' && { model }),
    ...(OVER.has(status) && { finish: [word] }),
  };
}
