// What services answered, as threads of their users report it: bodies whole, and what they say. The number is that of the source's list.
import type { Refusal, Rule } from '../../../src/protocols/refusals/refusal.ts';

export interface Worded {
  name: string;
  status: number;
  body: string;
  says: readonly Refusal[];
}

const member = (path: string): Refusal => ({ kind: 'member', path });
const rule = (name: Rule): Refusal => ({ kind: 'rule', rule: name });
const values = (path: string, ...taken: string[]): Refusal => ({ kind: 'values', path, values: taken });
const limit = (path: string, most: number): Refusal => ({ kind: 'limit', path, most });
const value = (path: string, refused: string): Refusal => ({ kind: 'value', path, value: refused });

export const openai = (message: string, param: string | null = null, code: string | null = null): string =>
  JSON.stringify({ error: { message, type: 'invalid_request_error', param, code } });
export const anthropic = (message: string): string =>
  JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message } });
export const detail = (...loc: (string | number)[]): string =>
  JSON.stringify({
    detail: [{ type: 'extra_forbidden', loc, msg: 'Extra inputs are not permitted', input: 1 }],
  });
export const gemini = (message: string): string =>
  JSON.stringify([{ error: { code: 400, message, status: 'INVALID_ARGUMENT' } }]);
export const minimax = (message: string): string =>
  JSON.stringify({ type: 'error', error: { type: 'bad_request_error', message, http_code: '400' } });
export const flat = (message: string, more: object = {}): string => JSON.stringify({ message, ...more });

function row(name: string, body: string, ...says: Refusal[]): Worded {
  return { name, status: 400, body, says };
}

export const WORDED: readonly Worded[] = [
  row(
    'OpenAI, unrecognized argument',
    openai('Unrecognized request argument supplied: thinking'),
    member('thinking'),
  ),
  row(
    'OpenAI, several arguments',
    openai('Unrecognized request arguments supplied: top_k, chat_template_kwargs'),
    member('top_k'),
    member('chat_template_kwargs'),
  ),
  row(
    'OpenAI, effort at a model without',
    openai('Unrecognized request argument supplied: reasoning_effort'),
    member('reasoning_effort'),
  ),
  row(
    'Azure, cache key',
    openai('Unrecognized request argument supplied: prompt_cache_key'),
    member('prompt_cache_key'),
  ),
  row(
    'Azure, parallel calls',
    openai('Unrecognized request argument supplied: parallel_tool_calls'),
    member('parallel_tool_calls'),
  ),
  row(
    'OpenAI, unknown parameter by its path',
    openai("Unknown parameter: 'messages[1].timestamp'.", 'messages[1].timestamp', 'unknown_parameter'),
    member('messages[].timestamp'),
  ),
  row(
    'OpenAI, a substitute',
    openai(
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      'max_tokens',
      'unsupported_parameter',
    ),
    { kind: 'rename', path: 'max_tokens', to: 'max_completion_tokens' },
  ),
  row(
    'OpenAI, temperature',
    openai(
      "Unsupported parameter: 'temperature' is not supported with this model.",
      'temperature',
      'unsupported_parameter',
    ),
    member('temperature'),
  ),
  row(
    'OpenAI, a nested member',
    openai(
      "Unsupported parameter: 'reasoning.summary' is not supported with this model.",
      'reasoning.summary',
      'unsupported_parameter',
    ),
    member('reasoning.summary'),
  ),
  row(
    'OpenAI, the default alone',
    openai(
      "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
      'temperature',
      'unsupported_value',
    ),
    member('temperature'),
  ),
  row(
    'OpenAI, an effort among those of the model',
    openai(
      "Unsupported value: 'minimal' is not supported with the 'gpt-5.1' model. Supported values are: 'none', 'low', 'medium', and 'high'.",
      'reasoning_effort',
      'unsupported_value',
    ),
    values('reasoning_effort', 'none', 'low', 'medium', 'high'),
  ),
  row(
    'OpenAI responses, an effort',
    openai(
      "Unsupported value: 'minimal' is not supported with the 'gpt-5.1' model. Supported values are: 'none', 'low', 'medium', and 'high'.",
      'reasoning.effort',
      'unsupported_value',
    ),
    values('reasoning.effort', 'none', 'low', 'medium', 'high'),
  ),
  row(
    'OpenAI, an effort by its member',
    openai(
      "Unsupported value: 'reasoning_effort' does not support 'xhigh' with this model. Supported values are: 'low', 'medium', and 'high'.",
      'reasoning_effort',
      'unsupported_value',
    ),
    values('reasoning_effort', 'low', 'medium', 'high'),
  ),
  row(
    'OpenAI, tools beside an effort',
    openai(
      "Function tools with reasoning_effort are not supported for gpt-5.6-sol in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.",
      'reasoning_effort',
    ),
    rule('tools_beside_reasoning'),
  ),
  row(
    'OpenAI, the detail of an image',
    openai(
      "Invalid value: 'original'. Supported values are: 'low', 'high', and 'auto'.",
      'messages[1].content[1].image_url.detail',
      'invalid_value',
    ),
    rule('image_detail'),
  ),
  row(
    'OpenAI, a union at the root',
    openai(
      "Invalid schema for function 'f': schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.",
      'tools[0].function.parameters',
      'invalid_function_parameters',
    ),
    rule('schema_root'),
  ),
  row(
    'a proxy of OpenAI, the type of the root',
    openai(
      "Invalid schema for function 'f': schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'.",
      'tools[0].function.parameters',
      'invalid_function_parameters',
    ),
    rule('schema_root'),
  ),
  row(
    'OpenAI strict, a keyword deeper',
    openai(
      "Invalid schema for function 'f': In context=('properties', 'x'), 'allOf' is not permitted.",
      'tools[0].function.parameters',
      'invalid_function_parameters',
    ),
    rule('strict_tools'),
  ),
  row(
    'OpenAI, no properties',
    openai(
      "Invalid schema for function 'f': In context=(), object schema missing properties.",
      'tools[0].function.parameters',
      'invalid_function_parameters',
    ),
    rule('schema_root'),
  ),
  row(
    'OpenAI, an empty name',
    openai(
      "Invalid 'tools[5].function.name': empty string. Expected a string with minimum length 1, but got an empty string instead.",
      'tools[5].function.name',
      'empty_string',
    ),
  ),
  row(
    'OpenAI, an id that is too long',
    openai(
      "Invalid 'input[3].call_id': string too long. Expected a string with maximum length 64, but got a string with length 70 instead.",
      'input[3].call_id',
      'string_above_max_length',
    ),
  ),
  row(
    'OpenAI, the word json',
    openai(
      "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
      'messages',
    ),
    rule('json_word'),
  ),
  row(
    'OpenAI, the limit of the output',
    openai(
      'max_tokens is too large: 8192. This model supports at most 4096 completion tokens, whereas you provided 8192.',
      'max_tokens',
      'invalid_value',
    ),
    limit('max_tokens', 4096),
  ),
  row(
    'a reseller, its sentence in param',
    JSON.stringify({
      error: {
        message: 'Param Incorrect',
        param: 'max_tokens is too large: 1048576. This model supports at most 131072 completion tokens',
        code: '400',
      },
    }),
    limit('max_tokens', 131_072),
  ),
  row(
    'ChatGPT, no limit',
    JSON.stringify({ detail: 'Unsupported parameter: max_output_tokens' }),
    member('max_output_tokens'),
  ),
  row(
    'ChatGPT, no temperature',
    JSON.stringify({ detail: 'Unsupported parameter: temperature' }),
    member('temperature'),
  ),
  row(
    'Azure AI, a field list inside the error',
    JSON.stringify({
      error: {
        code: 'Invalid input',
        status: 422,
        message: 'invalid input error',
        details: [
          {
            type: 'extra_forbidden',
            loc: ['body', 'parallel_tool_calls'],
            msg: 'Extra inputs are not permitted',
            input: true,
          },
        ],
      },
    }),
    member('parallel_tool_calls'),
  ),
  row(
    'Azure AI, a JSON pointer',
    openai('Validation error at #/stream_options: Extra inputs are not permitted'),
    member('stream_options'),
  ),
  row(
    'Azure AI, deeper',
    JSON.stringify({
      error: {
        code: 'Invalid input',
        details: [
          {
            type: 'extra_forbidden',
            loc: ['body', 'stream_options', 'include_usage'],
            msg: 'Extra inputs are not permitted',
          },
        ],
      },
    }),
    member('stream_options.include_usage'),
  ),
  row(
    'Azure AI on vLLM, a Python list',
    openai(
      "[{'type': 'extra_forbidden', 'loc': ('body', 'stream_options'), 'msg': 'Extra inputs are not permitted', 'input': {'include_usage': True}}]",
    ),
    member('stream_options'),
  ),
  row('Mistral, a list of fields', detail('body', 'parallel_tool_calls'), member('parallel_tool_calls')),
  row(
    'Mistral, the list inside of message',
    JSON.stringify({
      object: 'error',
      message: {
        detail: [
          {
            type: 'extra_forbidden',
            loc: ['body', 'stream_options'],
            msg: 'Extra inputs are not permitted',
            input: {},
          },
        ],
      },
    }),
    member('stream_options'),
  ),
  row(
    'Mistral, reasoning of the history',
    detail('body', 'messages', 1, 'assistant', 'reasoning_content'),
    member('messages[].reasoning_content'),
  ),
  row('Mistral, a name', detail('body', 'messages', 2, 'user', 'name'), member('messages[].name')),
  row('Mistral, several answers', detail('body', 'n')),
  row(
    'Mistral, roles',
    JSON.stringify({
      object: 'error',
      message: "Unexpected role 'user' after role 'tool'",
      type: 'invalid_request_message_order',
      code: '3230',
    }),
    rule('user_after_tool'),
  ),
  row(
    'Mistral, calls without results',
    JSON.stringify({
      object: 'error',
      message: 'Not the same number of function calls and responses',
      code: '3230',
    }),
  ),
  row('Groq, a member', openai("property 'store' is unsupported, did you mean 'stop'?"), member('store')),
  row(
    'Groq, a member of a message',
    openai(
      "'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property 'reasoning_content' is unsupported, did you mean 'content'?)]",
    ),
    member('messages[].reasoning_content'),
  ),
  row('Groq, reasoning', openai("property 'reasoning' is unsupported"), member('reasoning')),
  row(
    'Groq, a member of the first message',
    openai(
      "'messages.0' : for 'role:system' the following must be satisfied[('messages.0' : property 'timestamp' is unsupported)]",
    ),
    member('messages[].timestamp'),
  ),
  row(
    'Groq, an effort',
    openai('reasoning_effort is not supported with this model'),
    member('reasoning_effort'),
  ),
  row(
    'Groq, two efforts',
    openai("reasoning_effort must be one of 'none' or 'default'"),
    values('reasoning_effort', 'none', 'default'),
  ),
  row(
    'Groq, json_schema',
    openai(
      'This model does not support response format `json_schema`. See supported models at the documentation.',
    ),
    rule('json_schema'),
  ),
  row(
    'Cerebras, reasoning of the history',
    flat(
      "messages.1.assistant.reasoning_content: property 'messages.1.assistant.reasoning_content' is unsupported",
      { type: 'invalid_request_error', param: 'validation_error', code: 'wrong_api_format' },
    ),
    member('messages[].reasoning_content'),
  ),
  row(
    'Cerebras, a line a member',
    flat(
      "body.store: property 'body.store' is unsupported\nbody.metadata: property 'body.metadata' is unsupported",
      { param: 'validation_error', code: 'wrong_api_format' },
    ),
    member('store'),
    member('metadata'),
  ),
  row(
    'Gemini, a name',
    gemini('Invalid JSON payload received. Unknown name "store": Cannot find field.'),
    member('store'),
  ),
  row(
    'Gemini, a line a name',
    gemini(
      'Invalid JSON payload received. Unknown name "frequency_penalty": Cannot find field.\nInvalid JSON payload received. Unknown name "seed": Cannot find field.',
    ),
    member('frequency_penalty'),
    member('seed'),
  ),
  row(
    'Gemini, a keyword of a schema',
    gemini(
      'Invalid JSON payload received. Unknown name "const" at \'tools[0].function_declarations[3].parameters.properties[0].value\': Cannot find field.',
    ),
    rule('schema_root'),
  ),
  row(
    'Gemini, a level',
    gemini('Thinking level MINIMAL is not supported for this model.'),
    value('reasoning_effort', 'minimal'),
  ),
  row(
    'Gemini, a budget',
    gemini('Budget 0 is invalid. This model only works in thinking mode.'),
    member('thinking_budget'),
  ),
  row(
    'xAI, in camelCase',
    JSON.stringify({
      code: 'Client specified an invalid argument',
      error: 'Argument not supported on this model: presencePenalty',
    }),
    member('presence_penalty'),
  ),
  row(
    'xAI, an effort',
    JSON.stringify({
      code: 'Client specified an invalid argument',
      error: 'Model grok-4-fast does not support parameter reasoningEffort.',
    }),
    member('reasoning_effort'),
  ),
  row(
    'xAI, response_format',
    JSON.stringify({
      code: 'x',
      error: 'The response_format parameter is unsupported at the moment. Leave it unset.',
    }),
    rule('json_schema'),
  ),
  row(
    'DeepSeek, no effort none',
    openai(
      'Failed to deserialize the JSON body into the target type: reasoning_effort: unknown variant `none`, expected one of `high`, `low`, `medium`, `max`, `xhigh` at line 1 column 120',
      null,
      'invalid_request_error',
    ),
    values('reasoning_effort', 'high', 'low', 'medium', 'max', 'xhigh'),
  ),
  row(
    'DeepSeek, an image',
    openai(
      'Failed to deserialize the JSON body into the target type: messages[0]: unknown variant `image_url`, expected `text` at line 1 column 200',
      null,
      'invalid_request_error',
    ),
  ),
  row(
    'DeepSeek, a list of texts',
    openai(
      'Failed to deserialize the JSON body into the target type: messages[2]: invalid type: sequence, expected a string at line 1 column 300',
      null,
      'invalid_request_error',
    ),
    rule('text_lists'),
  ),
  row(
    'DeepSeek, an untagged enum',
    openai(
      'Failed to deserialize the JSON body into the target type: messages[3]: data did not match any variant of untagged enum ChatCompletionRequestContent',
      null,
      'invalid_request_error',
    ),
    rule('text_lists'),
  ),
  row(
    'DeepSeek, a forced call',
    openai('Thinking mode does not support this tool_choice'),
    rule('forced_while_thinking'),
  ),
  row('DeepSeek, json_schema', openai('This response_format type is unavailable now'), rule('json_schema')),
  row(
    'DeepSeek, reasoning has to come back',
    openai('The `reasoning_content` in the thinking mode must be passed back to the API.'),
    rule('reasoning_back'),
  ),
  row(
    'DeepSeek, a range',
    openai('Invalid max_tokens value, the valid range of max_tokens is [1, 8192]'),
    limit('max_tokens', 8192),
  ),
  row(
    'Kimi, temperature',
    JSON.stringify({
      error: {
        message: 'invalid temperature: only 1 is allowed for this model',
        type: 'invalid_request_error',
      },
    }),
    member('temperature'),
  ),
  row(
    'Kimi, a forced call',
    JSON.stringify({
      error: {
        message: "tool_choice 'specified' is incompatible with thinking enabled",
        type: 'invalid_request_error',
      },
    }),
    rule('forced_while_thinking'),
  ),
  row(
    'Kimi, reasoning is missing',
    JSON.stringify({
      error: {
        message:
          'thinking is enabled but reasoning_content is missing in assistant tool call message at index 2',
        type: 'invalid_request_error',
      },
    }),
    rule('reasoning_back'),
  ),
  row(
    'Kimi, the type of the root',
    JSON.stringify({
      error: {
        message: 'tools.function.parameters.type is required and must be "object"',
        type: 'invalid_request_error',
      },
    }),
    rule('schema_root'),
  ),
  row(
    'Z.ai, nothing is named',
    JSON.stringify({
      error: { code: '1210', message: 'Invalid API parameter, please check the documentation.' },
    }),
  ),
  row(
    'Z.ai, the messages',
    JSON.stringify({
      error: { code: '1214', message: 'The messages parameter is illegal. Please check the documentation.' },
    }),
  ),
  row(
    'Z.ai, a range',
    JSON.stringify({
      error: { code: '1210', message: 'Invalid API parameter: max_tokens must be in [1,131072]' },
    }),
    limit('max_tokens', 131_072),
  ),
  row(
    'DashScope, a forced call',
    openai(
      '<400> InternalError.Algo.InvalidParameter: The tool_choice parameter does not support being set to required or object in thinking mode',
      null,
      'invalid_parameter_error',
    ),
    rule('forced_while_thinking'),
  ),
  row(
    'DashScope, thinking without a stream',
    openai(
      'parameter.enable_thinking must be set to false for non-streaming calls',
      null,
      'invalid_parameter_error',
    ),
    rule('thinking_off'),
  ),
  row(
    'DashScope, a budget',
    openai(
      'The thinking_budget parameter must be a positive integer and not greater than 38912',
      null,
      'invalid_parameter_error',
    ),
    limit('thinking_budget', 38_912),
  ),
  row(
    'DashScope, a range',
    openai('Range of max_tokens should be [1, 8192]', null, 'invalid_parameter_error'),
    limit('max_tokens', 8192),
  ),
  row(
    'SiliconFlow, a switch',
    flat('Value error, current model does not support parameter `enable_thinking.`', {
      code: 20_015,
      data: null,
    }),
    member('enable_thinking'),
  ),
  row(
    'SiliconFlow, the type of thinking',
    anthropic('thinking type should be enabled or disabled'),
    values('thinking.type', 'enabled', 'disabled'),
  ),
  row(
    'SiliconFlow, a budget',
    flat('thinking_budget: Must be less than or equal to 32768', { code: 20_015 }),
    limit('thinking_budget', 32_768),
  ),
  row(
    'Ark, the maximum',
    JSON.stringify({
      error: {
        code: 'InvalidParameter',
        message:
          'The parameter `max_completion_tokens` specified in the request is not valid: integer above maximum value, expected a value <= 12288, but got 32000 instead.',
        param: 'max_completion_tokens',
        type: 'BadRequest',
      },
    }),
    limit('max_completion_tokens', 12_288),
  ),
  row(
    'Ark, a pair',
    openai('Invalid combination of reasoning_effort and thinking type: medium + disabled'),
    member('reasoning_effort'),
  ),
  row(
    'MiniMax, a system message',
    minimax("invalid params, messages[3] role 'system' is not allowed here (2013)"),
    rule('system_first'),
  ),
  row(
    'MiniMax, no parameters',
    minimax('invalid params, function parameters is empty (2013)'),
    rule('schema_root'),
  ),
  row(
    'MiniMax, the type of thinking',
    minimax('invalid params, invalid thinking.type: "enabled" (allowed: adaptive, disabled)'),
    rule('adaptive_thinking'),
  ),
  row(
    'MiniMax, a tool of free text',
    minimax('invalid params, tool type custom not supported (2013)'),
    rule('custom_tools'),
  ),
  row(
    'a compatible server, tools on the way',
    openai(
      "Invalid value: 'additional_tools'. Supported values are: 'message', 'function_call' and 'reasoning'.",
      'input[4].type',
    ),
    rule('additional_tools'),
  ),
  row(
    'MiniMax, a result without a call',
    minimax("invalid params, tool result's tool id(call_1) not found (2013)"),
  ),
  row(
    'Ollama, an effort',
    JSON.stringify({
      error: {
        message: `invalid reasoning value: 'minimal' (must be "high", "medium", "low", "max", or "none")`,
        type: 'invalid_request_error',
      },
    }),
    values('reasoning_effort', 'high', 'medium', 'low', 'max', 'none'),
  ),
  row(
    'Ollama, no thinking',
    JSON.stringify({
      error: { message: '"llama3.2" does not support thinking', type: 'invalid_request_error' },
    }),
    rule('no_thinking'),
  ),
  row(
    'LM Studio, words alone',
    JSON.stringify({
      error: "Invalid tool_choice type: 'object'. Supported string values: none, auto, required",
    }),
    rule('forced_as_words'),
  ),
  row(
    'LM Studio, json_object',
    JSON.stringify({ error: "'response_format.type' must be 'json_schema' or 'text'" }),
    rule('json_object'),
  ),
  row(
    'llama.cpp, the system message',
    JSON.stringify({
      error: { code: 500, message: 'System message must be at the beginning.', type: 'server_error' },
    }),
    rule('system_first'),
  ),
  row(
    'llama.cpp, a prefill',
    JSON.stringify({
      error: {
        code: 400,
        message: 'Assistant response prefill is incompatible with enable_thinking.',
        type: 'invalid_request_error',
      },
    }),
    rule('prefill'),
  ),
  row(
    'llama.cpp, a choice',
    JSON.stringify({
      error: { code: 400, message: 'Invalid tool_choice: object', type: 'invalid_request_error' },
    }),
    rule('forced_as_words'),
  ),
  row(
    'vLLM, an option of the server',
    JSON.stringify({
      object: 'error',
      message: '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
      type: 'BadRequestError',
      param: null,
      code: 400,
    }),
  ),
  row(
    'SGLang, pydantic as text',
    JSON.stringify({
      object: 'error',
      message:
        "[{'type': 'literal_error', 'loc': ('body', 'reasoning_effort'), 'msg': \"Input should be 'low', 'medium' or 'high'\", 'input': 'none'}]",
      code: 400,
    }),
    values('reasoning_effort', 'low', 'medium', 'high'),
  ),
  row(
    'OpenRouter, a choice',
    JSON.stringify({
      error: {
        message:
          "No endpoints found that support the provided 'tool_choice' value. To learn more about provider routing, visit the documentation",
        code: 404,
      },
    }),
    rule('forced'),
  ),
  row(
    'OpenRouter, no tools',
    JSON.stringify({
      error: { message: 'No endpoints found that support tool use. Try disabling "bash".', code: 404 },
    }),
  ),
  row(
    'OpenRouter, reasoning',
    JSON.stringify({
      error: { message: 'Reasoning is mandatory for this endpoint and cannot be disabled.', code: 400 },
    }),
    rule('thinking_off'),
  ),
  row(
    'OpenRouter, the inner body',
    JSON.stringify({
      error: {
        message: 'Provider returned error',
        code: 400,
        metadata: {
          raw: '{"error":{"message":"Unrecognized request argument supplied: top_k"}}',
          provider_name: 'X',
        },
      },
    }),
    member('top_k'),
  ),
  row(
    'Fireworks, a field',
    JSON.stringify({
      error: {
        object: 'error',
        type: 'invalid_request_error',
        code: 'invalid_request_error',
        message: "Extra inputs are not permitted, field: 'enable_thinking', value: True",
      },
    }),
    member('enable_thinking'),
  ),
  row(
    'Fireworks, a pair',
    JSON.stringify({ error: { message: 'cannot specify both thinking and reasoning_effort' } }),
    member('reasoning_effort'),
  ),
  row(
    'Together, by another name',
    JSON.stringify({
      error: { message: 'Input validation error: `max_new_tokens` must be <= 192. Given: 1000' },
    }),
    limit('max_tokens', 192),
  ),
  row(
    'NVIDIA, a list',
    flat('Validation: Unsupported parameter(s): `parallel_tool_calls`', { type: 'Bad Request', code: 400 }),
    member('parallel_tool_calls'),
  ),
  row(
    'Bedrock, a key',
    flat(
      'Malformed input request: #: extraneous key [chat_id] is not permitted, please reformat your input and try again.',
    ),
    member('chat_id'),
  ),
  row(
    'Bedrock, a key of a schema',
    flat(
      'Malformed input request: #/toolConfig/tools/1/toolSpec/inputSchema/json: extraneous key [$defs] is not permitted, please reformat your input and try again.',
    ),
    rule('schema_root'),
  ),
  row(
    'Bedrock, the type of the root',
    flat(
      'The value at toolConfig.tools.26.toolSpec.inputSchema.json.type must be one of the following: object.',
    ),
    rule('schema_root'),
  ),
  row(
    'Bedrock through another gateway',
    openai(
      'litellm.BadRequestError: BedrockException - The model returned the following errors: reasoning: Extra inputs are not permitted',
    ),
    member('reasoning'),
  ),
  row(
    'Copilot, a substitute',
    JSON.stringify({
      error: {
        message:
          "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        code: 'invalid_request_body',
      },
    }),
    { kind: 'rename', path: 'max_tokens', to: 'max_completion_tokens' },
  ),
  row(
    'Copilot, an effort',
    JSON.stringify({
      error: {
        message:
          'reasoning_effort "medium" is not supported by model claude-opus-4.7; supported values: [high]',
        code: 'invalid_reasoning_effort',
      },
    }),
    values('reasoning_effort', 'high'),
  ),
  row(
    'Copilot, no effort',
    JSON.stringify({
      error: {
        message: 'reasoning_effort was provided, but model gpt-4o does not support reasoning effort',
        code: 'invalid_reasoning_effort',
      },
    }),
    member('reasoning_effort'),
  ),
  row(
    'Copilot, the model',
    JSON.stringify({
      error: { message: 'The requested model is not supported', code: 'model_not_supported' },
    }),
  ),
  row(
    'another gateway, a list',
    openai(
      "litellm.UnsupportedParamsError: openai does not support parameters: ['reasoning_effort', 'thinking'], for model=x",
    ),
    member('reasoning_effort'),
    member('thinking'),
  ),
  row(
    'Perplexity, arrows',
    openai('At body -> messages -> 1 -> ChatMessage -> name: Extra inputs are not permitted'),
    member('messages[].name'),
  ),
  row(
    'Perplexity, a member',
    openai('At body -> parallel_tool_calls: Extra inputs are not permitted'),
    member('parallel_tool_calls'),
  ),
  row(
    'Perplexity, roles',
    openai(
      'Last message must have role `user` or `tool`. After the (optional) system message(s), user and assistant messages should alternate.',
    ),
    rule('alternation'),
  ),
  row(
    'Anthropic, a member',
    anthropic('context_management: Extra inputs are not permitted'),
    member('context_management'),
  ),
  row(
    'Anthropic, a nested member',
    anthropic('output_config.effort: Extra inputs are not permitted'),
    member('output_config.effort'),
  ),
  row(
    'Copilot messages, a member of a tool',
    anthropic('tools.0.custom.eager_input_streaming: Extra inputs are not permitted'),
    member('tools[].eager_input_streaming'),
  ),
  row(
    'Anthropic, an effort in words',
    anthropic('This model does not support the effort parameter.'),
    member('reasoning_effort'),
  ),
  row(
    'Anthropic, a level',
    anthropic('output_config.effort: level "minimal" is not supported'),
    value('output_config.effort', 'minimal'),
  ),
  row(
    'Anthropic, temperature',
    anthropic('`temperature` is deprecated for this model.'),
    member('temperature'),
  ),
  row(
    'Anthropic, a pair',
    anthropic('`temperature` and `top_p` cannot both be specified for this model. Please use only one.'),
    rule('one_sampling_parameter'),
  ),
  row(
    'Anthropic, adaptive thinking',
    anthropic(
      '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.',
    ),
    rule('adaptive_thinking'),
  ),
  row(
    'Anthropic, a mark on thinking',
    anthropic('messages.1.content.0.thinking.cache_control: Extra inputs are not permitted'),
    member('messages[].content[].thinking.cache_control'),
  ),
  row(
    'Anthropic, a prefill',
    anthropic(
      'This model does not support assistant message prefill. The conversation must end with a user message.',
    ),
    rule('prefill'),
  ),
  row(
    'Anthropic, a union',
    anthropic(
      'tools.3.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level',
    ),
    rule('schema_root'),
  ),
  row(
    'Anthropic, a beta',
    anthropic(
      'Unexpected value(s) `context-management-2025-06-27` for the `anthropic-beta` header. Please consult our documentation.',
    ),
    { kind: 'beta', name: 'context-management-2025-06-27' },
  ),
  row(
    'Anthropic, strict tools',
    anthropic('Too many strict tools (25). The maximum number of strict tools supported is 20.'),
    rule('strict_tools'),
  ),
  row(
    'Anthropic, the limit of the output',
    anthropic(
      'max_tokens: 64000 > 32000, which is the maximum allowed number of output tokens for claude-opus-4-1',
    ),
    limit('max_tokens', 32_000),
  ),
  row(
    'MiniMax, damaged arguments',
    minimax('invalid params, invalid function arguments json string, tool_call_id: call_1 (2013)'),
    rule('call_arguments'),
  ),
  row(
    'DashScope, damaged arguments',
    openai(
      '<400> InternalError.Algo.InvalidParameter: The "function.arguments" parameter of the code model must be in JSON format.',
    ),
    rule('call_arguments'),
  ),
  row(
    'vLLM, damaged arguments',
    openai("Expecting ',' delimiter: line 1 column 21 (char 20)"),
    rule('call_arguments'),
  ),
  row(
    'a template, arguments that are a text',
    openai('Can only get item pairs from a mapping.'),
    rule('call_arguments'),
  ),
  row(
    'llama.cpp, damaged arguments',
    openai(
      'Failed to parse tool call arguments as JSON: [json.exception.parse_error.101] parse error at line 1, column 9',
    ),
    rule('call_arguments'),
  ),
  row('Ollama, damaged arguments', openai('invalid tool call arguments'), rule('call_arguments')),
  row(
    'Kimi, damaged arguments',
    openai(
      'Invalid request: messages.70.tool_calls.0.function.arguments: arguments must be a valid JSON object string',
    ),
    rule('call_arguments'),
  ),
  row(
    'OpenAI, arguments that are an object',
    openai(
      "Invalid type for 'messages[1].tool_calls[0].function.arguments': expected a string, but got an object instead.",
      'messages[1].tool_calls[0].function.arguments',
      'invalid_type',
    ),
    rule('call_arguments'),
  ),
  row(
    'OpenAI, arguments of an item that are an object',
    openai(
      "Invalid type for 'input[1].arguments': expected a string, but got an object instead.",
      'input[1].arguments',
      'invalid_type',
    ),
    rule('call_arguments'),
  ),
  row(
    'Anthropic, an input that is a text',
    anthropic('messages.1.content.0.tool_use.input: Input should be a valid dictionary'),
    rule('call_arguments'),
  ),
  row(
    'Bedrock, an input that is a text',
    flat(
      'The format of the value at messages.1.content.0.toolUse.input is invalid. Provide a json object for the field and try again.',
    ),
    rule('call_arguments'),
  ),
];

/** Errors that say nothing of the request's form. */
export const SILENT: readonly string[] = [
  '',
  '<html><title>400 Bad Request</title></html>',
  'null',
  '[]',
  '{"error":null}',
  openai('Your request was rejected by our safety system.', null, 'content_policy_violation'),
  openai(
    'You exceeded your current quota, please check your plan and billing details.',
    null,
    'insufficient_quota',
  ),
  openai(
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
    'messages',
    'context_length_exceeded',
  ),
  openai(
    "Invalid type for 'temperature': expected a decimal, but got a string instead.",
    'temperature',
    'invalid_type',
  ),
  openai('The model `gpt-9` does not exist or you do not have access to it.', null, 'model_not_found'),
  anthropic('messages: at least one message is required'),
  anthropic('messages.0.content: Input should be a valid list'),
  anthropic('messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1.'),
  anthropic('model: Extra inputs are not permitted'),
  anthropic('messages.0.content.0.text: Extra inputs are not permitted'),
  detail('body', 'tools', 0, 'function', 'parameters'),
  openai("Unknown parameter: 'tools'."),
];
