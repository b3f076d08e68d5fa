// The form of the answer towards a responses provider: as asked for, in its other form with the rest in words, or as a forced call.
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import type { ResponseFormat } from '../../../canonical/request.ts';
import { answerInWords, type EncodeContext } from '../../shared/encode-context.ts';
import { addAnswerTool, FORMAT_NAME } from '../../shared/openai/answer-tool.ts';
import { formsOf, isForcedFormat, isStrictSchema } from '../../shared/tools/function-tools.ts';
import { addInstructions, withFirst } from './server-rules.ts';

/** Puts the form into `text`, or a tool that stands for it into the tools of `body`: then its name is given. */
export function putFormat(
  body: JsonObject,
  text: JsonObject,
  mayForce: boolean,
  encoding: EncodeContext,
): string | undefined {
  const { request, traits } = encoding;
  const format = request.responseFormat;
  if (format === undefined) return undefined;
  if (isForcedFormat(encoding)) return addAnswerTool(format, body, encoding, WIRE, mayForce);
  const forms = formsOf(traits);
  if (forms.includes(format.type)) text.format = encodeFormat(format);
  else if (format.type === 'json_object') {
    text.format = encodeFormat({ type: 'json_schema', schema: { type: 'object' } });
    encoding.warn('changed', 'responseFormat', 'sent as the schema of an object');
  } else {
    text.format = { type: 'json_object' };
    askInWords(format, body, encoding, 'this server takes no schema: it was sent in words');
  }
  const isObjectForm = isObject(text.format) && text.format.type === 'json_object';
  if (isObjectForm && traits.jsonWord && !saysJson(body.input))
    askInWords({ type: 'json_object' }, body, encoding, 'a line of the input says that the answer is JSON');
  return undefined;
}

function encodeFormat(format: ResponseFormat): JsonObject {
  if (format.type === 'json_object') return { type: 'json_object' };
  const wire: JsonObject = { type: 'json_schema', name: format.name ?? FORMAT_NAME };
  if (format.description !== undefined) wire.description = format.description;
  wire.schema = format.schema;
  const { strict } = format;
  if (typeof strict === 'boolean') wire.strict = strict;
  else if (strict !== undefined) wire.strict = isStrictSchema(format.schema);
  return wire;
}

/** Where the word JSON is demanded, it counts in the input alone. */
function askInWords(format: ResponseFormat, body: JsonObject, encoding: EncodeContext, why: string): void {
  const words = answerInWords(format);
  if (encoding.traits.jsonWord) body.input = withFirst(body.input, words, encoding.traits);
  else addInstructions(body, words);
  encoding.warn('changed', 'responseFormat', why);
}

export function saysJson(input: JsonValue | undefined): boolean {
  return /json/i.test(JSON.stringify(input ?? ''));
}

const WIRE = {
  askInWords,
  nameOf: (tool: JsonValue) => (isObject(tool) ? tool.name : undefined),
  tool: (own: JsonObject): JsonObject => ({ type: 'function', ...own, strict: false }),
  choice: (name: string): JsonObject => ({ type: 'function', name }),
};
