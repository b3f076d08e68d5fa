// The form of the answer towards a chat provider: its own `response_format`, or a tool that the model must call.
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import type { ResponseFormat } from '../../../canonical/request.ts';
import { refuseFormat, type EncodeContext } from '../../shared/encode-context.ts';
import { isStrictSchema } from '../../shared/function-tools.ts';

const NAME = 'structured_output';

/** The name of the tool that stands for structured output, where one has to. `body`: with its tools and the choice. */
export function putFormat(body: JsonObject, encoding: EncodeContext): string | undefined {
  const { request, traits } = encoding;
  const format = request.responseFormat;
  if (!format) return undefined;
  if (traits.structuredOutput === false) return forceTool(format, body, encoding);
  body.response_format = encodeFormat(format, encoding);
  return undefined;
}

function encodeFormat(format: ResponseFormat, encoding: EncodeContext): JsonObject {
  if (format.type === 'json_object') return { type: 'json_object' };
  const schema: JsonObject = { name: format.name ?? NAME };
  if (format.description !== undefined) schema.description = format.description;
  schema.schema = format.schema;
  // The messages protocol always holds to the schema; chat does where its stricter subset is met.
  const strict =
    format.strict ??
    (encoding.request.protocol === 'messages' && isStrictSchema(format.schema) ? true : undefined);
  if (strict !== undefined) schema.strict = strict;
  return { type: 'json_schema', json_schema: schema };
}

/** The tool must be called, or, where the client has tools of its own that may be, any of them. */
function forceTool(format: ResponseFormat, body: JsonObject, encoding: EncodeContext): string | undefined {
  const { traits } = encoding;
  if (traits.tools === false || traits.forcedTools === 'never') {
    refuseFormat(encoding, 'this model gives no structured output and takes no forced tool');
  }
  const { tool_choice: choice } = body;
  if (choice === 'required' || isObject(choice)) {
    encoding.warn('dropped', 'responseFormat', 'a call of another tool is forced');
    return undefined;
  }
  const tools = Array.isArray(body.tools) ? body.tools : [];
  const taken = new Set(tools.map(nameOf));
  let name = NAME;
  while (taken.has(name)) name = `${name}_`;
  const others = tools.length > 0 && choice !== 'none';
  const own = format.type === 'json_schema' ? format : { schema: { type: 'object' } };
  const description =
    ('description' in own ? own.description : undefined) ?? 'Give the final answer with this tool.';
  body.tools = [...tools, { type: 'function', function: { name, description, parameters: own.schema } }];
  body.tool_choice = others ? 'required' : { type: 'function', function: { name } };
  encoding.warn('changed', 'responseFormat', 'structured output is asked for as a forced tool call');
  return name;
}

function nameOf(tool: JsonValue): JsonValue | undefined {
  const body = isObject(tool) ? (tool.function ?? tool.custom) : undefined;
  return isObject(body) ? body.name : undefined;
}
