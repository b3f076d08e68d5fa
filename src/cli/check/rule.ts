// What a rule of a model is to a check, and the small requests that rules are asked with.
import type { Reply } from '../../canonical/reply.ts';
import type { FunctionTool, Message, Part, ProtocolName, ResponseFormat } from '../../canonical/request.ts';
import type { Traits } from '../../canonical/traits.ts';
import type { Asked } from './ask.ts';

interface AnyRule {
  name: string;
  asked: Asked;
  /** What an answer shows of a server that takes the request and does not do what it asks. */
  ignored?: (reply: Reply) => string | undefined;
}

/** What the server takes, as is believed. */
export interface TakenRule extends AnyRule {
  /** Traits that let most through: where more is sent with them, it is another rule that the request is changed. */
  unless?: Partial<Traits>;
  /** Traits with which the server may do it, the best first: each is tried. Where none of them changes what is sent, it is no rule of
   *  this wire. */
  fixes: readonly Partial<Traits>[];
  /** The traits of a server that cannot do it. */
  lacks?: Partial<Traits>;
}

/** What the server refuses, as is believed: the gateway sends something else in its place. */
export interface RefusedRule extends AnyRule {
  /** The traits of a server that accepts it: the request is sent unchanged. */
  takes: Partial<Traits>;
  /** Nothing is sent in its place: routes choose another model. */
  isAbility?: true;
}

export interface Wire {
  traits: Traits;
  protocol: ProtocolName;
}

export const user = (...texts: string[]): Message => ({
  role: 'user',
  parts: texts.map((text): Part => ({ type: 'text', text })),
});
export const say = (role: 'system' | 'assistant', text: string): Message => ({
  role,
  parts: [{ type: 'text', text }],
});

export const OK = 'Answer with the one word: ok';
export const CALL = 'What is the weather in Paris? Use the tool.';
const WEATHER_OF_PARIS = '{"city":"Paris"}';

export const weather: FunctionTool = {
  type: 'function',
  name: 'get_weather',
  description: 'The weather of a city now.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};
export const byNameOrId: FunctionTool = {
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

/** A turn with a call and its result. */
export function called(id = 'call_Ab1Cd2Ef3', args = WEATHER_OF_PARIS): Message[] {
  return [
    user(CALL),
    { role: 'assistant', parts: [{ type: 'tool_call', id, name: weather.name, arguments: args }] },
    { role: 'user', parts: [{ type: 'tool_result', callId: id, content: '18 degrees' }] },
  ];
}

export const ANSWER_SCHEMA: ResponseFormat = {
  type: 'json_schema',
  name: 'answer',
  schema: {
    type: 'object',
    properties: { answer: { type: 'string' } },
    required: ['answer'],
    additionalProperties: false,
  },
};

/** A red point. */
const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';

export const picture = (detail?: string): Part => ({
  type: 'image',
  source: { kind: 'base64', mediaType: 'image/png', data: PNG },
  ...(detail !== undefined && { detail }),
});

export function noCall({ parts }: Reply): string | undefined {
  return parts.some(({ type }) => type === 'tool_call') ? undefined : 'it answers without a call';
}

export function noJson({ parts }: Reply): string | undefined {
  const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? undefined : 'its answer is no JSON object';
  } catch {
    return 'its answer is no JSON';
  }
}

export function stillThinks({ parts }: Reply): string | undefined {
  return parts.some((part) => part.type === 'reasoning' && part.text.trim() !== '')
    ? 'it thinks all the same'
    : undefined;
}

export function when<Row>(applies: boolean, row: Row): Row[] {
  return applies ? [row] : [];
}
