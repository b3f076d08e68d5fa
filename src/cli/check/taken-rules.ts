// What the rules of a target's model say that it takes, each with one small request that uses it.
import type { Effort } from '../../canonical/request.ts';
import type { Traits } from '../../canonical/traits.ts';
import {
  ANSWER_SCHEMA,
  byNameOrId,
  CALL,
  called,
  noCall,
  noJson,
  OK,
  picture,
  say,
  stillThinks,
  user,
  weather,
  when,
  type TakenRule,
  type Wire,
} from './rule.ts';

const JSON_ANSWER = 'What is 2 + 2? Answer with a JSON object: {"answer": "…"}';
const MOST_STOP = 16;

export function takenRules(wire: Wire): TakenRule[] {
  return [
    ...thinkingRules(wire),
    ...toolRules(wire),
    ...formatRules(wire),
    ...samplingRules(wire),
    ...messageRules(wire),
  ];
}

function thinkingRules({ traits }: Wire): TakenRule[] {
  const { thinking, efforts, thinkingOff, thinkingForm } = traits;
  if (thinking === false) return [];
  const asked = efforts.filter((effort) => effort !== 'none');
  const forms = (['template', 'enable_thinking', 'type', 'reasoning_enabled', 'effort'] as const).filter(
    (form) => form !== thinkingForm,
  );
  return [
    ...asked.map((effort: Effort) => ({
      name: `effort ${effort}`,
      asked: { messages: [user(OK)], reasoning: { effort } },
      unless: { maxEffortOnChat: true },
      fixes: [{ efforts: efforts.filter((other) => other !== effort) }],
    })),
    ...when(thinkingOff !== 'never', {
      name: 'thinking off',
      asked: { messages: [user(OK)], reasoning: { mode: 'off' as const } },
      ignored: stillThinks,
      fixes: forms.map((form) => ({ thinkingForm: form })),
      lacks: { thinkingOff: 'never' as const },
    }),
  ];
}

function toolRules({ traits }: Wire): TakenRule[] {
  if (traits.tools === false) return [];
  const messages = [user(CALL)];
  const tools = [weather];
  return [
    {
      name: 'a call that must be',
      asked: { messages, tools, toolChoice: { type: 'required' } },
      unless: { forcedTools: 'always' },
      ignored: noCall,
      fixes: [],
      lacks: { forcedTools: 'never' },
    },
    {
      name: 'a call of a named tool',
      asked: { messages, tools, toolChoice: { type: 'tool', name: weather.name } },
      unless: { forcedTools: 'always', namedToolChoice: true },
      ignored: noCall,
      fixes: [{ namedToolChoice: false }],
      lacks: { forcedTools: 'never' },
    },
    ...when(traits.schemaRoot === 'any', {
      name: 'a tool with a union',
      asked: { messages: [user(OK)], tools: [byNameOrId] },
      fixes: [{ schemaRoot: 'object' as const }],
    }),
    ...when<TakenRule>(traits.thinking === true, {
      name: 'tools while thinking',
      asked: { messages: [user(OK)], tools, reasoning: { mode: 'on', effort: 'low' } },
      unless: { toolsWhileThinking: 'always' },
      fixes: [{ toolsWhileThinking: 'not_on_chat' }, { thinking: false }],
    }),
    ...when<TakenRule>(traits.userAfterTool, {
      name: 'a user after a tool',
      asked: { messages: [...called(), user(OK)], tools },
      fixes: [{ userAfterTool: false }, { toolIds: 'mistral' }],
    }),
    ...when<TakenRule>(traits.customTools, {
      name: 'a tool of free text',
      asked: {
        messages: [user(OK)],
        tools: [{ type: 'custom', name: 'note', description: 'Notes a text.' }],
      },
      fixes: [{ customTools: false }],
    }),
  ];
}

function formatRules({ traits }: Wire): TakenRule[] {
  const { structuredOutput, responseFormats, formatsWithTools, jsonWord, tools } = traits;
  if (structuredOutput === false) return [];
  const without = (format: Traits['responseFormats'][number]): Partial<Traits> => ({
    responseFormats: responseFormats.filter((other) => other !== format),
  });
  const messages = [user(JSON_ANSWER)];
  const isSchema = responseFormats.includes('json_schema');
  return [
    ...when<TakenRule>(isSchema, {
      name: 'JSON by a schema',
      asked: { messages, responseFormat: ANSWER_SCHEMA },
      ignored: noJson,
      fixes: [without('json_schema')],
      lacks: { structuredOutput: false },
    }),
    ...when<TakenRule>(responseFormats.includes('json_object'), {
      name: 'JSON of any form',
      asked: { messages, responseFormat: { type: 'json_object' } },
      ignored: noJson,
      fixes: [...(jsonWord ? [] : [{ jsonWord: true }]), without('json_object')],
    }),
    ...when<TakenRule>(isSchema && formatsWithTools && tools !== false, {
      name: 'JSON by a schema beside tools',
      asked: { messages, responseFormat: ANSWER_SCHEMA, tools: [weather] },
      fixes: [{ formatsWithTools: false }],
    }),
  ];
}

function samplingRules({ traits }: Wire): TakenRule[] {
  const { rejectsSampling, oneSamplingParameter, maxTemperature, maxStop, maxOutput, topK } = traits;
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
    ...when(topK && !rejectsSampling, {
      name: 'top k',
      asked: { messages, topK: 40 },
      fixes: [{ topK: false }],
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

function messageRules({ traits }: Wire): TakenRule[] {
  return [
    ...when(traits.vision !== false, {
      name: 'an image',
      asked: { messages: [{ role: 'user' as const, parts: [...user(OK).parts, picture()] }] },
      fixes: [],
      lacks: { vision: false },
    }),
    ...when(traits.contentLists, {
      name: 'several texts in a message',
      asked: { messages: [user('Say one word.', OK)] },
      fixes: [{ contentLists: false }],
    }),
    {
      name: 'a late system message',
      asked: { messages: [user('Hello'), say('assistant', 'Hello!'), say('system', 'Be short.'), user(OK)] },
      unless: { lateSystem: 'system', strictAlternation: false, midSystem: true },
      fixes: [{ lateSystem: 'user' }, { midSystem: false }],
    },
    ...when(traits.prefill, {
      name: 'an answer that is begun',
      asked: { messages: [user(OK), say('assistant', 'The one word:')] },
      fixes: [{ prefill: false }],
    }),
  ];
}
