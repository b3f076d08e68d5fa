// A tool that stands for structured output, where a server of chat or responses takes no form of it but a forced call.
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import type { ResponseFormat } from '../../../canonical/request.ts';
import { refuse } from '../client.ts';
import type { EncodeContext } from '../encode-context.ts';
import { formsOf } from '../tools/function-tools.ts';

/** The name of a form, where the client gives none. */
export const FORMAT_NAME = 'structured_output';

/** How a protocol writes what both have. */
interface Wire {
  nameOf(tool: JsonValue): JsonValue | undefined;
  tool(own: { name: string; description: string; parameters: JsonObject }): JsonObject;
  choice(name: string): JsonObject;
  /** Asks for the form in words, which are added to `body`. */
  askInWords(format: ResponseFormat, body: JsonObject, encoding: EncodeContext, why: string): void;
}

/**
 * Adds the tool to those of `body`, and forces its call, or, where the client has tools of its own that may be called, a call of any.
 * Gives its name; undefined: no call can be forced, so that the form is asked for in words, or another one is, so that it is left out.
 */
export function addAnswerTool(
  format: ResponseFormat,
  body: JsonObject,
  encoding: EncodeContext,
  wire: Wire,
  mayForce: boolean,
): string | undefined {
  const { traits } = encoding;
  if (traits.tools === false || !mayForce) {
    const why = 'this model gives no structured output and takes no forced tool';
    if (formsOf(traits).length === 0) refuse(format.at, why);
    wire.askInWords(
      format,
      body,
      encoding,
      'this server takes no form of it beside tools: asked for in words',
    );
    return undefined;
  }
  const { tool_choice: choice } = body;
  if (choice === 'required' || isObject(choice)) {
    encoding.warn('dropped', 'responseFormat', 'a call of another tool is forced');
    return undefined;
  }
  const given = Array.isArray(body.tools) ? body.tools : [];
  const others = given.length > 0 && choice !== 'none';
  const isNamed = others || traits.namedToolChoice;
  // Where words alone are taken, a tool that must be called stands alone.
  const tools = isNamed ? given : [];
  const taken = new Set(tools.map((tool) => wire.nameOf(tool)));
  let name = FORMAT_NAME;
  while (taken.has(name)) name = `${name}_`;
  const own = format.type === 'json_schema' ? format : { schema: { type: 'object' } };
  const description =
    ('description' in own ? own.description : undefined) ?? 'Give the final answer with this tool.';
  body.tools = [...tools, wire.tool({ name, description, parameters: own.schema })];
  body.tool_choice = others || !isNamed ? 'required' : wire.choice(name);
  encoding.warn('changed', 'responseFormat', 'structured output is asked for as a forced tool call');
  return name;
}
