// The steps of a responses history: of the input alone, so that an earlier answer must stand in it.
import { isObject, stringOf, type JsonObject, type JsonValue } from '../../canonical/json.ts';
import type { Step } from '../interface/steps.ts';
import { ANSWER, userStep } from '../shared/tools/history-steps.ts';

const CALL = '_call';
const RESULT = '_call_output';

export function* steps({ input }: JsonObject): Generator<Step> {
  if (typeof input === 'string') yield { type: 'text', text: input };
  if (!Array.isArray(input)) return;
  for (const item of input) {
    const step = isObject(item) ? stepOf(item) : undefined;
    if (step !== undefined) yield step;
  }
}

function stepOf(item: JsonObject): Step | undefined {
  const { type, role, content } = item;
  if (role === 'user') return userStep(content, () => false);
  if (role !== undefined) return role === 'assistant' ? ANSWER : undefined;
  const kind = stringOf(type);
  const id = stringOf(item.call_id);
  if (kind.endsWith(RESULT)) return { type: 'result', id, content: outputOf(item), failed: false };
  // A call without this id is of a tool that the provider runs itself.
  if (kind.endsWith(CALL) && id !== '')
    return { type: 'call', id, name: nameOf(item, kind), arguments: argumentsOf(item) };
  return kind === 'item_reference' || kind === 'additional_tools' ? undefined : ANSWER;
}

const nameOf = ({ namespace, name }: JsonObject, kind: string): string =>
  [namespace, name ?? kind].filter((word) => typeof word === 'string').join(' ');

const outputOf = ({ output }: JsonObject): JsonValue => output ?? null;

/** Of functions a JSON text, of custom tools a text, of the provider's own kinds of tools an object. */
const argumentsOf = ({ arguments: given, input, action, operation }: JsonObject): JsonValue =>
  given ?? input ?? action ?? operation ?? null;
