// What routing and recording ask of a body of Ollama's clients without decoding it.
import { isObject, type JsonObject, type JsonValue, stringOf } from '../../../canonical/json.ts';
import type { Hints } from '../../interface/bodies.ts';
import { bodyOf } from '../../json/body.ts';
import type { PromptShape } from '../../interface/prompt.ts';
import { steps } from '../steps.ts';
import { beginningOf, estimateBody, lastTurn, NO_NAMES } from '../../shared/hints.ts';

const IMAGE: JsonObject = { type: 'image' };

/** Images count by their number: their bytes are no text. */
function weighed({ images, ...rest }: JsonObject): JsonObject {
  return Array.isArray(images) ? { ...rest, images: images.map(() => IMAGE) } : rest;
}

/** The messages of a chat; else the one that a prompt is. */
function messagesIn({ messages, system, prompt, suffix, images, input }: JsonObject): JsonValue[] {
  if (Array.isArray(messages)) return messages.map((item) => (isObject(item) ? weighed(item) : item));
  const question = weighed({ role: 'user', content: stringOf(prompt) + stringOf(suffix), images });
  const given = input === undefined ? [] : [{ role: 'user', input }];
  return system ? [{ role: 'system', content: system }, question, ...given] : [question, ...given];
}

export const hints: Hints = {
  estimate(value) {
    const { tools, format } = value;
    const body: JsonObject = { messages: messagesIn(value) };
    if (tools !== undefined) body.tools = tools;
    if (isObject(format)) body.response_format = format;
    return estimateBody(body);
  },
  names: () => NO_NAMES,
  beginning: ({ value }) => beginningOf('', bodyOf({ messages: messagesIn(value) }).list('messages')),
  steps,
  hasOpenToolTurn: (body) => lastTurn(body.list('messages'))?.textOf('role') === 'tool',
  asksForUsage: () => true,
};

export const prompt: PromptShape = {
  tools: 'tools',
  system: 'system',
  messages: 'messages',
  parameters: ['prompt', 'format', 'think'],
  marks: { names: [] },
  chains: [],
};
