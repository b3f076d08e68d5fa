// Structured output in a form that this server takes: as asked for, in its other form with the rest in words, or as a forced call.
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import type { ResponseFormat } from '../../../canonical/request.ts';
import { answerInWords, type EncodeContext } from '../../shared/encode-context.ts';
import { addAnswerTool, FORMAT_NAME } from '../../shared/openai/answer-tool.ts';
import { formsOf, isForcedFormat, isStrictSchema } from '../../shared/tools/function-tools.ts';
import type { Thinking } from './encode-reasoning.ts';
import { addSystemText } from './server-rules.ts';

/** The name of the tool that stands for structured output, where one has to. `body`: with its tools and the choice. */
export function putFormat(body: JsonObject, encoding: EncodeContext, thinking: Thinking): string | undefined {
  const { request, traits } = encoding;
  const format = request.responseFormat;
  if (!format) return undefined;
  if (isForcedFormat(encoding)) return addAnswerTool(format, body, encoding, WIRE, thinking.mayForce);
  const forms = formsOf(traits);
  if (forms.includes(format.type)) body.response_format = encodeFormat(format);
  else if (format.type === 'json_object') {
    body.response_format = encodeFormat({ type: 'json_schema', schema: { type: 'object' } });
    encoding.warn('changed', 'responseFormat', 'sent as the schema of an object');
  } else {
    body.response_format = { type: 'json_object' };
    askInWords(format, body, encoding, 'this server takes no schema: it stands in the system text');
  }
  if (forms.includes('json_object') && traits.jsonWord) addJsonWord(body, encoding);
  return undefined;
}

function encodeFormat(format: ResponseFormat): JsonObject {
  if (format.type === 'json_object') return { type: 'json_object' };
  const schema: JsonObject = { name: format.name ?? FORMAT_NAME };
  if (format.description !== undefined) schema.description = format.description;
  schema.schema = format.schema;
  const { strict } = format;
  if (typeof strict === 'boolean') schema.strict = strict;
  else if (strict !== undefined && isStrictSchema(format.schema)) schema.strict = true;
  return { type: 'json_schema', json_schema: schema };
}

function askInWords(format: ResponseFormat, body: JsonObject, encoding: EncodeContext, why: string): void {
  addSystemText(body, answerInWords(format), encoding.traits);
  encoding.warn('changed', 'responseFormat', why);
}

/** Some servers refuse the form where no message says what it is. */
function addJsonWord(body: JsonObject, encoding: EncodeContext): void {
  const { response_format: sent, messages } = body;
  if (!isObject(sent) || sent.type !== 'json_object' || saysJson(messages)) return;
  askInWords({ type: 'json_object' }, body, encoding, 'the system text says that the answer is JSON');
}

function saysJson(messages: JsonValue | undefined): boolean {
  const says = (text: JsonValue | undefined): boolean => typeof text === 'string' && /json/i.test(text);
  return (Array.isArray(messages) ? messages : []).some((message) => {
    const content = isObject(message) ? message.content : undefined;
    if (!Array.isArray(content)) return says(content);
    return content.some((part) => isObject(part) && says(part.text));
  });
}

const WIRE = {
  askInWords,
  nameOf,
  tool: (own: JsonObject): JsonObject => ({ type: 'function', function: own }),
  choice: (name: string): JsonObject => ({ type: 'function', function: { name } }),
};

function nameOf(tool: JsonValue): JsonValue | undefined {
  const body = isObject(tool) ? (tool.function ?? tool.custom) : undefined;
  return isObject(body) ? body.name : undefined;
}
