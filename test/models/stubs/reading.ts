// What a request says, whatever its protocol, as the rules of a stub ask for it.
import { isObject, type JsonObject, type JsonValue } from '../../../src/canonical/json.ts';
import type { ProtocolName } from '../../../src/canonical/request.ts';
import type { StrictRequest } from '../../helpers/strict-provider.ts';

export interface ReadTool {
  name: string;
  type: string;
  schema: JsonObject | undefined;
}

export interface ReadTurn {
  role: string;
  content: JsonValue | undefined;
  calls: boolean;
  reasoning: JsonValue | undefined;
}

export interface Reading extends StrictRequest {
  protocol: ProtocolName;
  effort: string | undefined;
  /** What a switch says, in its own words. */
  switched: string | undefined;
  tools: readonly ReadTool[];
  choice: 'auto' | 'none' | 'required' | 'named';
  format: string | undefined;
  limit: number | undefined;
  stop: number;
  turns: readonly ReadTurn[];
  /** All texts of the messages. */
  text: string;
}

const PATHS: Readonly<Record<string, ProtocolName>> = {
  '/chat/completions': 'chat',
  '/messages': 'messages',
  '/responses': 'responses',
};

const object = (value: unknown): JsonObject => (isObject(value) ? value : {});
const list = (value: unknown): readonly JsonObject[] =>
  Array.isArray(value) ? value.filter((one): one is JsonObject => isObject(one)) : [];
const word = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

export function readStrict(request: StrictRequest): Reading {
  const { body } = request;
  const protocol = PATHS[request.path];
  if (protocol === undefined) throw new Error(`no protocol has the path ${request.path}`);
  const input: JsonValue | undefined = protocol === 'responses' ? body.input : body.messages;
  const format = object(
    body.response_format ?? object(body.text).format ?? object(body.output_config).format,
  );
  const stop = body.stop ?? body.stop_sequences;
  return {
    ...request,
    protocol,
    effort: word(body.reasoning_effort ?? object(body.reasoning).effort ?? object(body.output_config).effort),
    switched: switchOf(body),
    tools: list(body.tools).map(readTool),
    choice: choiceOf(body.tool_choice),
    format: format.type === 'text' ? undefined : word(format.type),
    limit: limitOf(body),
    stop: Array.isArray(stop) ? stop.length : Number(typeof stop === 'string'),
    turns: list(input).map(readTurn),
    text: JSON.stringify([input, body.system, body.instructions]),
  };
}

function switchOf(body: JsonObject): string | undefined {
  const [flag] = [
    body.enable_thinking,
    object(body.reasoning).enabled,
    object(body.chat_template_kwargs).enable_thinking,
  ].filter((value) => typeof value === 'boolean');
  return word(object(body.thinking).type) ?? (flag === undefined ? undefined : flag ? 'enabled' : 'disabled');
}

function readTool(tool: JsonObject): ReadTool {
  const own = object(tool.function ?? tool.custom ?? tool);
  const schema = own.parameters ?? own.input_schema;
  return {
    name: word(own.name) ?? '',
    type: word(tool.type) ?? 'function',
    schema: isObject(schema) ? schema : undefined,
  };
}

function choiceOf(choice: JsonValue | undefined): Reading['choice'] {
  const type = word(choice) ?? object(choice).type;
  if (type === undefined || type === 'auto') return 'auto';
  if (type === 'none') return 'none';
  if (type === 'required' || type === 'any') return 'required';
  return type === 'allowed_tools' ? 'auto' : 'named';
}

function limitOf(body: JsonObject): number | undefined {
  const limit = body.max_completion_tokens ?? body.max_tokens ?? body.max_output_tokens;
  return typeof limit === 'number' ? limit : undefined;
}

function readTurn(turn: JsonObject): ReadTurn {
  const parts = list(turn.content);
  return {
    role: word(turn.role) ?? word(turn.type) ?? '',
    content: turn.content,
    calls:
      list(turn.tool_calls).length > 0 ||
      turn.type === 'function_call' ||
      parts.some(({ type }) => type === 'tool_use'),
    reasoning: turn.reasoning_content ?? turn.reasoning ?? parts.find(({ type }) => type === 'thinking'),
  };
}

/** `messages[].name`, `tools[].function.strict`: whether a value stands at this path. */
export function has(value: unknown, path: string): boolean {
  if (path === '') return value !== undefined;
  const [, name = '', each, rest = ''] = /^([^.[]+)(\[\])?\.?(.*)$/.exec(path) ?? [];
  const member = object(value)[name];
  return each === undefined ? has(member, rest) : list(member).some((one) => has(one, rest));
}

/** Every part of every message. */
export function partsOf({ turns }: Reading): readonly JsonObject[] {
  return turns.flatMap(({ content }) => list(content));
}
