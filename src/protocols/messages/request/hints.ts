// What routing asks of a messages request that is not decoded for it, and by what its body is told from one of another protocol.
import { isObject, type JsonObject } from '../../../canonical/json.ts';
import type { Hints } from '../../protocol.ts';
import { hashOfBeginning, lastTurn, estimateBody } from '../../shared/hints.ts';

/** System text is long and often shared; what tells conversations apart is at its end and in the first user message. */
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
  // Its streams always tell their usage.
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

/** A body does not say its protocol. What only messages has decides: members, else the form of a tool, else kinds of content. */
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
