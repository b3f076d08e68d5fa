// The steps of a messages history.
import { isObject, stringOf, type JsonObject, type JsonValue } from '../../canonical/json.ts';
import type { Step } from '../interface/steps.ts';
import { ANSWER, userStep } from '../shared/tools/history-steps.ts';

export function* steps({ messages }: JsonObject): Generator<Step> {
  if (!Array.isArray(messages)) return;
  for (const message of messages) {
    if (!isObject(message)) continue;
    const { role, content } = message;
    if (role === 'user') {
      if (Array.isArray(content)) yield* resultsOf(content);
      const step = userStep(content, isResult);
      if (step !== undefined) yield step;
    } else if (role === 'assistant') {
      yield ANSWER;
      if (Array.isArray(content)) yield* callsOf(content);
    }
  }
}

const isResult = (part: JsonValue): boolean => isObject(part) && part.type === 'tool_result';

function* resultsOf(content: readonly JsonValue[]): Generator<Step> {
  for (const part of content) {
    if (!isObject(part) || !isResult(part)) continue;
    const { tool_use_id: id, content: given = null, is_error: failed } = part;
    yield { type: 'result', id: stringOf(id), content: given, failed: failed === true };
  }
}

function* callsOf(content: readonly JsonValue[]): Generator<Step> {
  for (const part of content) {
    if (!isObject(part) || part.type !== 'tool_use') continue;
    yield { type: 'call', id: stringOf(part.id), name: stringOf(part.name), arguments: part.input ?? null };
  }
}
