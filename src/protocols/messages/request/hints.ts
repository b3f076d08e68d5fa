// What routing needs from a messages request before it is decoded, and how its body is recognised as one of this protocol.
import { isObject, type JsonObject } from '../../../canonical/json.ts';
import type { Hints } from '../../protocol.ts';
import { hashOfBeginning, lastTurn, estimateBody } from '../../shared/hints.ts';

/** System text is long, and many conversations share its beginning: they differ at its end and in the first user message. */
const SYSTEM_END = 2000;

export const hints: Hints = {
  estimate: estimateBody,
  conversation({ system, messages }) {
    return hashOfBeginning((JSON.stringify(system) ?? '').slice(-SYSTEM_END), messages);
  },
  hasOpenToolTurn({ messages }) {
    const last = lastTurn(messages);
    return (
      isObject(last) &&
      Array.isArray(last.content) &&
      last.content.some((part) => isObject(part) && part.type === 'tool_result')
    );
  },
  // Streams of this protocol always report usage.
  asksForUsage: () => true,
};

const OWN_MEMBERS = [
  'system',
  'stop_sequences',
  'thinking',
  'top_k',
  'output_config',
  'mcp_servers',
  'container',
];
const OWN_PARTS: readonly unknown[] = ['image', 'document', 'tool_use', 'tool_result', 'thinking'];

/** A body does not name its protocol. It is recognised by what only messages has: members, else the form of a tool, else kinds of content. */
export function recognizes(value: JsonObject): boolean {
  if (value.messages === undefined && value.input !== undefined) return false;
  if (OWN_MEMBERS.some((name) => value[name] !== undefined)) return true;
  const { tools, messages } = value;
  const [tool] = Array.isArray(tools) ? tools : [];
  if (isObject(tool)) return tool.function === undefined && tool.custom === undefined;
  const parts = (Array.isArray(messages) ? messages : []).flatMap((message) =>
    isObject(message) && Array.isArray(message.content) ? message.content : [],
  );
  return parts.some((part) => isObject(part) && OWN_PARTS.includes(part.type));
}
