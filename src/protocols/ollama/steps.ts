// The steps of a history of Ollama's clients, most of whose calls have no ids.
import { isObject, stringOf, type JsonObject } from '../../canonical/json.ts';
import type { Step } from '../interface/steps.ts';
import { ANSWER, userStep } from '../shared/tools/history-steps.ts';
import { OpenCalls } from './request/decode-messages.ts';

export function* steps({ messages, prompt }: JsonObject): Generator<Step> {
  if (typeof prompt === 'string') yield { type: 'text', text: prompt };
  if (!Array.isArray(messages)) return;
  const open = new OpenCalls();
  for (const message of messages) {
    if (!isObject(message)) continue;
    const { role, content = null } = message;
    if (role === 'user') {
      const step = userStep(content, () => false);
      if (step !== undefined) yield step;
    } else if (role === 'assistant') {
      yield ANSWER;
      yield* callsOf(message, open);
    } else if (role === 'tool') {
      const name = stringOf(message.tool_name) || stringOf(message.name);
      yield {
        type: 'result',
        id: open.answered(stringOf(message.tool_call_id), name),
        content,
        failed: false,
      };
    }
  }
}

function* callsOf({ tool_calls: calls }: JsonObject, open: OpenCalls): Generator<Step> {
  if (!Array.isArray(calls) || calls.length === 0) return;
  open.begin();
  for (const call of calls) {
    if (!isObject(call) || !isObject(call.function)) continue;
    const { name, arguments: given = null } = call.function;
    const { id } = open.add({ id: stringOf(call.id), name: stringOf(name) });
    yield { type: 'call', id, name: stringOf(name), arguments: given };
  }
}
