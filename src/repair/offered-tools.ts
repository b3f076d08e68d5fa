// The tools that a request offers, found by the name that a model wrote.
import type { JsonObject } from '../canonical/json.ts';
import type { Tool } from '../canonical/request.ts';

export interface OfferedTool {
  /** On the wire. */
  name: string;
  /** JSON Schema of the arguments. */
  parameters: JsonObject | undefined;
}

export interface OfferedTools {
  /** By a variant of the name, as models write it; undefined if no tool or several have it. */
  find(name: string): OfferedTool | undefined;
}

const PREFIX = /^(?:functions?|tools?|default_api|multi_tool_use)[.:/]/i;
/** Kimi counts its calls. */
const COUNTER = /:\d{1,4}$/;
const MAX_NAME = 256;
/** Of a tool of free text that was sent as a function. */
const FREE_TEXT: JsonObject = { type: 'object', properties: { input: { type: 'string' } } };

/** `named`: name on the wire -> the client's, where they differ. `asFunctions`: tools of free text that were sent as functions. */
export function offeredTools(
  tools: readonly Tool[],
  named: ReadonlyMap<string, string>,
  asFunctions: ReadonlySet<string>,
): OfferedTools {
  const onWire = new Map([...named].map(([wire, own]) => [own, wire]));
  const exact = new Map<string, OfferedTool>();
  const loose = new Map<string, OfferedTool | undefined>();
  for (const tool of tools) {
    if (tool.type === 'native' || (tool.type === 'custom' && !asFunctions.has(tool.name))) continue;
    const name = onWire.get(tool.name) ?? tool.name;
    const offered = { name, parameters: tool.type === 'custom' ? FREE_TEXT : tool.parameters };
    exact.set(name, offered);
    const key = looseKey(name);
    loose.set(key, loose.has(key) ? undefined : offered);
  }
  return {
    find(given) {
      if (given.length > MAX_NAME) return undefined;
      const name = given.trim();
      const bare = name.replace(PREFIX, '').replace(COUNTER, '');
      return exact.get(name) ?? exact.get(bare) ?? loose.get(looseKey(name)) ?? loose.get(looseKey(bare));
    },
  };
}

function looseKey(name: string): string {
  return name.toLowerCase().replaceAll('-', '_');
}
