// Copilot spreads one answer over two choices: the first has the text, those after it the tool calls. A choice after the first that has
// text of its own is another answer (`n`), and stays unread.
import { isObject, type JsonObject, type JsonValue } from '../../canonical/json.ts';
import { isFilled } from './lenient.ts';

/** Whether a message or a delta calls tools and says nothing. */
export function onlyCalls({ tool_calls: calls, content }: JsonObject): boolean {
  return Array.isArray(calls) && calls.length > 0 && !isFilled(content);
}

/** The other choices of a whole reply that belong to the answer of `first`. */
export function callsBeside(first: JsonObject, choices: readonly JsonValue[]): JsonObject[] {
  if (choices.length === 1 || !isObject(first.message)) return [];
  const { tool_calls: own, function_call: legacy } = first.message;
  if (isFilled(own) || isFilled(legacy)) return [];
  return choices.filter(
    (choice): choice is JsonObject =>
      choice !== first && isObject(choice) && isObject(choice.message) && onlyCalls(choice.message),
  );
}

/** The message with the calls of these choices. */
export function joined(message: JsonObject, spread: readonly JsonObject[]): JsonObject {
  const calls = spread.flatMap(({ message: other }) =>
    isObject(other) && Array.isArray(other.tool_calls) ? other.tool_calls : [],
  );
  return { ...message, tool_calls: calls };
}
