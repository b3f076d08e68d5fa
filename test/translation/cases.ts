// The cases of test/fixtures/cases, and what must be equal between the protocols: a request's content, and the meaning of an answer.
import { readFileSync, readdirSync } from 'node:fs';
import type { JsonObject } from '../../src/canonical/json.ts';
import type { Reply } from '../../src/canonical/reply.ts';
import type { ProtocolName } from '../../src/canonical/request.ts';
import { protocols } from '../../src/protocols/registry.ts';
import { collected, eventsIn } from './pipeline.ts';

const CASES = new URL('../fixtures/cases/', import.meta.url);
export const CASE_NAMES = readdirSync(CASES).sort();

export function readCase(name: string, file: string): string {
  return readFileSync(new URL(`${name}/${file}`, CASES), 'utf8');
}

export function readJsonCase(name: string, file: string): JsonObject {
  return JSON.parse(readCase(name, file)) as JsonObject;
}

/** A refusal that the provider does not explain in the stream is marked by a sentence of the gateway. */
const isOfTheModel = (part: Reply['parts'][number]): boolean =>
  !(part.type === 'text' && part.text === 'The model refused to answer.');

/** What an answer means, without what is each answer's own: ids, the time, and what a protocol cannot carry. */
export function meaning(reply: Reply): object {
  const parts = reply.parts.filter(isOfTheModel).map((part) => {
    if (part.type === 'tool_call')
      return { name: part.name, arguments: JSON.parse(part.arguments) as unknown };
    if (part.type === 'reasoning') return { thought: part.text };
    return part.type === 'text' ? { text: part.text, refusal: part.refusal ?? false } : part;
  });
  // A refusal is text in one protocol and a member of its own in the other.
  const plain = parts
    .map((part) => ('refusal' in part ? { text: part.text } : part))
    .filter((part) => !('text' in part && part.text === ''));
  const {
    input,
    output,
    reasoning = 0,
    cacheRead = 0,
    cacheWrite = 0,
  } = reply.usage ?? { input: -1, output: -1 };
  return {
    parts: plain,
    stop: reply.stop.reason,
    usage: { input, output, reasoning, cacheRead, cacheWrite },
    model: reply.model,
  };
}

/** The answer that a stream holds. */
export function streamedReply(protocol: ProtocolName, text: string): Reply {
  return collected(eventsIn(protocol, text));
}

/** The request as the provider of that protocol should get it. */
export function expectedRequest(
  name: string,
  client: ProtocolName,
  to: ProtocolName,
  stream: boolean,
): JsonObject {
  const body: JsonObject = { ...readJsonCase(name, `${to}.request.json`), model: 'upstream-model' };
  // Its clients cannot ask for stop sequences.
  if (client === 'responses') for (const member of ['stop', 'stop_sequences']) delete body[member];
  if (stream) {
    body.stream = true;
    if (to === 'chat') body.stream_options = { include_usage: true };
  }
  return body;
}

/** A text and a list of one text are the same, and so are a request's fields in any order. What an echoed answer bears is no loss. */
export function comparable(value: unknown, to: ProtocolName): object {
  const { native, tools, ...request } = protocols[to].client.decodeRequest(value as JsonObject);
  return {
    ...request,
    // Not strict is what tools of chat and messages are anyway.
    tools: tools?.map((tool) => ({
      ...tool,
      strict: (tool.type === 'function' && tool.strict) || undefined,
    })),
    native: native.filter(({ fate }) => fate !== 'quiet'),
  };
}
