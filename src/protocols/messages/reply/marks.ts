// What a message says of itself: its id, its model, why it ended.
import type { JsonObject } from '../../../canonical/json.ts';
import type { AnswerMarks } from '../../interface/answer.ts';
import { text } from '../wire-types.ts';
import { isStop } from './ending.ts';

export function readMarks({ id, model, stop_reason: stop }: JsonObject): AnswerMarks {
  return {
    ...(text(id) && { id: text(id) }),
    ...(text(model) && { model: text(model) }),
    ...(isStop(stop) && { finish: [stop] }),
  };
}
