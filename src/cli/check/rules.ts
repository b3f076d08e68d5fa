// What the rules of a target's model say that it takes, each with one small request that uses it. What the rules say that a model does not
// take is not asked.
import type { Reply } from '../../canonical/reply.ts';
import type { Effort, FunctionTool, Message, Part } from '../../canonical/request.ts';
import type { Traits } from '../../canonical/traits.ts';
import type { Asked } from './ask.ts';

export interface Rule {
  name: string;
  asked: Asked;
  /** What an answer shows of a server that takes the request and does not do what it asks. */
  ignored?: (reply: Reply) => string | undefined;
  /** Traits with which the server may do it, the best first: each is tried. */
  fixes: readonly Partial<Traits>[];
  /** The traits of a server that cannot do it. */
  lacks?: Partial<Traits>;
}

const user = (...texts: string[]): Message => ({
  role: 'user',
  parts: texts.map((text): Part => ({ type: 'text', text })),
});
const say = (role: 'system' | 'assistant', text: string): Message => ({
  role,
  parts: [{ type: 'text', text }],
});

const OK = 'Answer with the one word: ok';
const CALL = 'What is the weather in Paris? Use the tool.';
const JSON_ANSWER = 'What is 2 + 2? Answer with a JSON object: {"answer": "…"}';
const weather: FunctionTool = {
  type: 'function',
  name: 'get_weather',
  description: 'The weather of a city now.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};
const byNameOrId: FunctionTool = {
  type: 'function',
  name: 'find',
  description: 'Finds a person by name or by id.',
  parameters: {
    type: 'object',
    anyOf: [
      { properties: { name: { type: 'string' } }, required: ['name'] },
      { properties: { id: { type: 'integer' } }, required: ['id'] },
    ],
  },
};
/** A red point. */
const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
const MOST_STOP = 16;

export function rulesOf(traits: Traits): Rule[] {
  return [
    ...thinkingRules(traits),
    ...toolRules(traits),
    ...formatRules(traits),
    ...samplingRules(traits),
    ...messageRules(traits),
  ];
}

function thinkingRules({ thinking, efforts, maxEffortOnChat, thinkingOff, thinkingForm }: Traits): Rule[] {
  if (thinking === false) return [];
  const asked = efforts.filter((effort) => effort !== 'none' && (effort !== 'max' || maxEffortOnChat));
  const forms = (['template', 'enable_thinking', 'type', 'reasoning_enabled', 'effort'] as const).filter(
    (form) => form !== thinkingForm,
  );
  return [
    ...asked.map((effort: Effort) => ({
      name: `effort ${effort}`,
      asked: { messages: [user(OK)], reasoning: { effort } },
      fixes: [{ efforts: efforts.filter((other) => other !== effort) }],
    })),
    ...when(thinkingOff !== 'never', {
      name: 'thinking off',
      asked: { messages: [user(OK)], reasoning: { mode: 'off' } },
      ignored: ({ parts }) =>
        parts.some((part) => part.type === 'reasoning' && part.text.trim() !== '')
          ? 'it thinks all the same'
          : undefined,
      fixes: forms.map((form) => ({ thinkingForm: form })),
      lacks: { thinkingOff: 'never' },
    }),
  ];
}

function toolRules(traits: Traits): Rule[] {
  if (traits.tools === false) return [];
  const ignored: Rule['ignored'] = ({ parts }) =>
    parts.some(({ type }) => type === 'tool_call') ? undefined : 'it answers without a call';
  const forced = traits.forcedTools !== 'never';
  const messages = [user(CALL)];
  const tools = [weather];
  const id = 'call_Ab1Cd2Ef3';
  return [
    ...when(forced, {
      name: 'a call that must be',
      asked: { messages, tools, toolChoice: { type: 'required' } },
      ignored,
      fixes: [],
      lacks: { forcedTools: 'never' },
    }),
    ...when(forced && traits.namedToolChoice, {
      name: 'a call of a named tool',
      asked: { messages, tools, toolChoice: { type: 'tool', name: weather.name } },
      ignored,
      fixes: [{ namedToolChoice: false }],
      lacks: { forcedTools: 'never' },
    }),
    ...when(traits.schemaRoot === 'any', {
      name: 'a tool with a union',
      asked: { messages: [user(OK)], tools: [byNameOrId] },
      fixes: [{ schemaRoot: 'object' }],
    }),
    ...when(traits.toolsWhileThinking === 'always' && traits.thinking === true, {
      name: 'tools while thinking',
      asked: { messages: [user(OK)], tools, reasoning: { mode: 'on', effort: 'low' } },
      fixes: [{ toolsWhileThinking: 'not_on_chat' }],
    }),
    ...when(traits.userAfterTool, {
      name: 'a user after a tool',
      asked: {
        messages: [
          user(CALL),
          {
            role: 'assistant',
            parts: [{ type: 'tool_call', id, name: weather.name, arguments: '{"city":"Paris"}' }],
          },
          { role: 'user', parts: [{ type: 'tool_result', callId: id, content: '18 degrees' }] },
          user(OK),
        ],
        tools,
      },
      fixes: [{ userAfterTool: false }, { toolIds: 'mistral' }],
    }),
  ];
}

function formatRules({ structuredOutput, responseFormats, formatsWithTools, jsonWord }: Traits): Rule[] {
  if (structuredOutput === false) return [];
  const without = (format: Traits['responseFormats'][number]): Partial<Traits> => ({
    responseFormats: responseFormats.filter((other) => other !== format),
  });
  const messages = [user(JSON_ANSWER)];
  const schema = {
    type: 'object',
    properties: { answer: { type: 'string' } },
    required: ['answer'],
    additionalProperties: false,
  };
  const format = { type: 'json_schema', name: 'answer', schema } as const;
  const isSchema = responseFormats.includes('json_schema');
  return [
    ...when(isSchema, {
      name: 'JSON by a schema',
      asked: { messages, responseFormat: format },
      ignored: noJson,
      fixes: [without('json_schema')],
      lacks: { structuredOutput: false },
    }),
    ...when(responseFormats.includes('json_object'), {
      name: 'JSON of any form',
      asked: { messages, responseFormat: { type: 'json_object' } },
      ignored: noJson,
      fixes: [...(jsonWord ? [] : [{ jsonWord: true }]), without('json_object')],
      lacks: { structuredOutput: false },
    }),
    ...when(isSchema && formatsWithTools, {
      name: 'JSON by a schema beside tools',
      asked: { messages, responseFormat: format, tools: [weather] },
      fixes: [{ formatsWithTools: false }],
    }),
  ];
}

function noJson({ parts }: Reply): string | undefined {
  const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? undefined : 'its answer is no JSON object';
  } catch {
    return 'its answer is no JSON';
  }
}

function samplingRules(traits: Traits): Rule[] {
  const { rejectsSampling, oneSamplingParameter, maxTemperature, maxStop, maxOutput } = traits;
  const messages = [user(OK)];
  return [
    ...when(!rejectsSampling, {
      name: `temperature ${maxTemperature}`,
      asked: { messages, temperature: maxTemperature },
      fixes: [{ maxTemperature: 1 }, { rejectsSampling: true }],
    }),
    ...when(!rejectsSampling && !oneSamplingParameter, {
      name: 'temperature and top_p',
      asked: { messages, temperature: 0.5, topP: 0.9 },
      fixes: [{ oneSamplingParameter: true }, { rejectsSampling: true }],
    }),
    ...when(maxStop > 0, {
      name: 'stop sequences',
      asked: {
        messages,
        stop: Array.from({ length: Math.min(maxStop, MOST_STOP) }, (_, at) => `<end ${at + 1}>`),
      },
      fixes: [{ maxStop: 1 }, { maxStop: 0 }],
    }),
    ...when(maxOutput !== undefined, {
      name: `output of ${maxOutput ?? 0} tokens`,
      asked: { messages, maxOutputTokens: maxOutput },
      fixes: [],
    }),
  ];
}

function messageRules({ vision, contentLists, lateSystem }: Traits): Rule[] {
  const picture: Part = { type: 'image', source: { kind: 'base64', mediaType: 'image/png', data: PNG } };
  return [
    ...when(vision !== false, {
      name: 'an image',
      asked: { messages: [{ role: 'user', parts: [{ type: 'text', text: OK }, picture] }] },
      fixes: [],
      lacks: { vision: false },
    }),
    ...when(contentLists, {
      name: 'several texts in a message',
      asked: { messages: [user('Say one word.', OK)] },
      fixes: [{ contentLists: false }],
    }),
    ...when(lateSystem === 'system', {
      name: 'a late system message',
      asked: { messages: [user('Hello'), say('assistant', 'Hello!'), say('system', 'Be short.'), user(OK)] },
      fixes: [{ lateSystem: 'user' }],
    }),
  ];
}

function when(applies: boolean, rule: Rule): Rule[] {
  return applies ? [rule] : [];
}
