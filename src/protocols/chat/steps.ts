// The steps of a chat history.
import { isObject, stringOf, type JsonObject, type JsonValue } from '../../canonical/json.ts';
import type { Step } from '../interface/steps.ts';
import { ANSWER, userStep } from '../shared/tools/history-steps.ts';

export function* steps({ messages }: JsonObject): Generator<Step> {
  if (!Array.isArray(messages)) return;
  for (const message of messages) {
    if (!isObject(message)) continue;
    const { role, content = null } = message;
    if (role === 'user') {
      const step = userStep(content, () => false);
      if (step !== undefined) yield step;
    } else if (role === 'assistant') {
      yield ANSWER;
      yield* callsOf(message);
    } else if (role === 'tool') {
      yield { type: 'result', id: stringOf(message.tool_call_id), content, failed: false };
    } else if (role === 'function') {
      yield { type: 'result', id: legacyId(message.name), content, failed: false };
    }
  }
}

/** A call of the older form has no id: its result names the function. */
const legacyId = (name: JsonValue | undefined): string => `function ${stringOf(name)}`;

function* callsOf({ tool_calls: calls, function_call: legacy }: JsonObject): Generator<Step> {
  if (isObject(legacy))
    yield {
      type: 'call',
      id: legacyId(legacy.name),
      name: stringOf(legacy.name),
      arguments: legacy.arguments ?? null,
    };
  if (!Array.isArray(calls)) return;
  for (const call of calls) {
    if (!isObject(call)) continue;
    const { function: called, custom } = call;
    const { name, arguments: given, input } = isObject(called) ? called : isObject(custom) ? custom : {};
    yield { type: 'call', id: stringOf(call.id), name: stringOf(name), arguments: given ?? input ?? null };
  }
}
