// Structured output in a form that this server takes: as asked for, in its other form with the rest in words, or as a forced call.
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import type { ResponseFormat } from '../../../canonical/request.ts';
import { answerInWords, refuseFormat, type EncodeContext } from '../../shared/encode-context.ts';
import { formsOf, isForcedFormat, isStrictSchema } from '../../shared/tools/function-tools.ts';
import type { Thinking } from './encode-reasoning.ts';
import { addSystemText } from './server-rules.ts';

const NAME = 'structured_output';

/** The name of the tool that stands for structured output, where one has to. `body`: with its tools and the choice. */
export function putFormat(body: JsonObject, encoding: EncodeContext, thinking: Thinking): string | undefined {
  const { request, traits } = encoding;
  const format = request.responseFormat;
  if (!format) return undefined;
  if (isForcedFormat(encoding)) return forceTool(format, body, encoding, thinking);
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
  const schema: JsonObject = { name: format.name ?? NAME };
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

/** The tool must be called, or, where the client has tools of its own that may be, any of them. */
function forceTool(
  format: ResponseFormat,
  body: JsonObject,
  encoding: EncodeContext,
  { mayForce }: Thinking,
): string | undefined {
  const { traits } = encoding;
  if (traits.tools === false || !mayForce) {
    const why = 'this model gives no structured output and takes no forced tool';
    if (formsOf(traits).length === 0) refuseFormat(encoding, why);
    askInWords(format, body, encoding, 'this server takes no form of it beside tools: asked for in words');
    return undefined;
  }
  const { tool_choice: choice } = body;
  if (choice === 'required' || isObject(choice)) {
    encoding.warn('dropped', 'responseFormat', 'a call of another tool is forced');
    return undefined;
  }
  const given = Array.isArray(body.tools) ? body.tools : [];
  const others = given.length > 0 && choice !== 'none';
  const named = others || traits.namedToolChoice;
  // Where words alone are taken, a tool that must be called stands alone.
  const tools = named ? given : [];
  const taken = new Set(tools.map(nameOf));
  let name = NAME;
  while (taken.has(name)) name = `${name}_`;
  const own = format.type === 'json_schema' ? format : { schema: { type: 'object' } };
  const description =
    ('description' in own ? own.description : undefined) ?? 'Give the final answer with this tool.';
  body.tools = [...tools, { type: 'function', function: { name, description, parameters: own.schema } }];
  body.tool_choice = others || !named ? 'required' : { type: 'function', function: { name } };
  encoding.warn('changed', 'responseFormat', 'structured output is asked for as a forced tool call');
  return name;
}

function nameOf(tool: JsonValue): JsonValue | undefined {
  const body = isObject(tool) ? (tool.function ?? tool.custom) : undefined;
  return isObject(body) ? body.name : undefined;
}
