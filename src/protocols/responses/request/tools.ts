// The names of a request's tools. A tool of a namespace, or of a kind that other protocols lack, has one canonical name; a call of
// it goes back to the client as its kind demands, by a directory that is read anew from each request.
import type { JsonObject } from '../../../canonical/json.ts';

export type ToolKind = 'function' | 'custom' | 'tool_search' | 'local_shell' | 'shell' | 'apply_patch';

/** A tool as the client knows it. */
export interface ClientTool {
  kind: ToolKind;
  name: string;
  namespace?: string;
}

export interface ToolDirectory {
  /** The tool of a canonical name; undefined: the request holds none, a call of it is one of a function. */
  find(canonical: string): ClientTool | undefined;
  /** The canonical name of a tool that the client calls so, listed or not. */
  nameOf(name: string, namespace?: string): string;
}

/** `value`: a request as the client sent it, or what of it `ReplyOptions.asked` holds. */
export function toolDirectory(_value: JsonObject): ToolDirectory {
  return { find: () => undefined, nameOf: (name) => name };
}
