// Arguments of calls in a relayed history, for servers that parse them and refuse the conversation where they cannot.
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import { mendArguments } from '../../../repair/damaged-arguments.ts';
import { parseJson } from '../../json/values.ts';
import { objectsIn, type Fitting, type RelayRule } from './fit.ts';

type Path = readonly (string | number)[];

const WHY = 'arguments that are no JSON object were made one';

/** Chat: of calls, and of the older single call. */
export const chatArguments: RelayRule = (fitting) => {
  if (!fitting.traits.strictArguments) return;
  for (const [index, message] of objectsIn(fitting.value.messages)) {
    const path = ['messages', index];
    const { function_call: legacy } = message;
    if (isObject(legacy)) asText([...path, 'function_call'], legacy, fitting);
    for (const [at, call] of objectsIn(message.tool_calls)) {
      if (isObject(call.function)) asText([...path, 'tool_calls', at, 'function'], call.function, fitting);
    }
  }
};

export const responsesArguments: RelayRule = (fitting) => {
  if (!fitting.traits.strictArguments) return;
  for (const [index, item] of objectsIn(fitting.value.input)) {
    if (item.type === 'function_call') asText(['input', index], item, fitting);
  }
};

export const messagesInputs: RelayRule = (fitting) => {
  if (!fitting.traits.strictArguments) return;
  for (const [index, message] of objectsIn(fitting.value.messages)) {
    for (const [at, { type, input }] of objectsIn(message.content)) {
      if (type !== 'tool_use' || isObject(input)) continue;
      const mended = textOf(input) || '{}';
      const object = parseJson(mendArguments(mended) ?? mended);
      fitting.set(['messages', index, 'content', at, 'input'], object, WHY);
    }
  }
};

function asText(path: Path, { arguments: written }: JsonObject, { set }: Fitting): void {
  const text = textOf(written) || '{}';
  const mended = mendArguments(text) ?? text;
  if (mended !== written) set([...path, 'arguments'], mended, WHY);
}

function textOf(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
