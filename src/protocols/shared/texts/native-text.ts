// Blocks that only one protocol has, as text for providers of another: the text that the model should read is sent, the rest is left
// out and reported.
import { isObject, type JsonObject, stringOf } from '../../../canonical/json.ts';
import type { NativePart, Tool, Warning } from '../../../canonical/request.ts';
import { GatewayError } from '../../../errors.ts';

interface NativeTextContext {
  tool(name: string): Tool | undefined;
  warn(effect: Warning['effect'], field: Warning['field'], detail: string): void;
}

/** Blocks of the messages protocol that may be left out of a history: the work of a provider's own tools. */
const DROPPED_KINDS =
  /^(?:server_tool_use|.*_tool_result|mcp_tool_use|mcp_tool_listing|container_upload|fallback|tool_addition|tool_removal|browser_state)$/;

function searchResultText(value: JsonObject): string {
  const lines = [stringOf(value.title), stringOf(value.source)].filter(Boolean);
  for (const item of Array.isArray(value.content) ? value.content : []) {
    if (typeof item === 'object' && item !== null && !Array.isArray(item)) lines.push(stringOf(item.text));
  }
  return lines.join('\n');
}

/** A provider's summary of the conversation before it; undefined: it has no text. */
function summaryOf({ content }: JsonObject, encoding: NativeTextContext): string | undefined {
  if (typeof content !== 'string' || content.trim() === '') return undefined;
  encoding.warn('changed', 'messages.native', 'a compaction is sent as text');
  return content;
}

/** A tool that the block itself defines was added to the tools when it was decoded; else it may be one of them by name. */
function isOffered({ tool }: JsonObject, encoding: NativeTextContext): boolean {
  if (!isObject(tool)) return false;
  const name = isObject(tool.definition) ? tool.definition.name : tool.name;
  return typeof name === 'string' && encoding.tool(name) !== undefined;
}

/** The text that replaces a block of another protocol; undefined: it is left out. */
export function nativeText(part: NativePart, encoding: NativeTextContext): string | undefined {
  const { kind, value, fate, at } = part;
  if (fate === 'report') {
    encoding.warn('dropped', 'messages.native', `the provider has no ${kind}`);
    return undefined;
  }
  if (kind === 'tool_reference') {
    return `The tool ${stringOf(value.tool_name)} is available now.`;
  }
  if (kind === 'search_result') {
    encoding.warn('changed', 'messages.native', 'a search result is sent as text');
    if (isObject(value.citations) && value.citations.enabled === true) {
      encoding.warn('dropped', 'messages.document.citations', 'the provider cites no search results');
    }
    return searchResultText(value);
  }
  if (kind === 'compaction') return summaryOf(value, encoding);
  if (kind === 'tool_addition' && isOffered(value, encoding)) {
    encoding.warn(
      'changed',
      'messages.native',
      'a tool that is added on the way is offered from the beginning',
    );
    return undefined;
  }
  if (!DROPPED_KINDS.test(kind)) {
    const param = `${at ?? 'messages'}.type`;
    const message = `${param}: ${JSON.stringify(kind)} cannot be carried to this provider`;
    throw new GatewayError('invalid_request', message, { param });
  }
  encoding.warn('dropped', 'messages.native', `the provider has no ${kind}`);
  return undefined;
}

/** System text in a message of the user, for servers that take it at the beginning alone. */
export function asUsersText(text: string): string {
  return `<system>\n${text}\n</system>`;
}
