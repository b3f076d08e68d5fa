// The state that the parts of a request encoder share: the request, the traits of the target, the warnings and the changed tool names.
// Each encoded request has its own context.
import { createHash } from 'node:crypto';
import { isObject, type JsonObject } from '../../canonical/json.ts';
import type {
  CanonicalField,
  GenerationRequest,
  Message,
  NativeField,
  ProtocolName,
  ResponseFormat,
  SharedMember,
  Tool,
  Warning,
} from '../../canonical/request.ts';
import type { Traits } from '../../canonical/traits.ts';
import { refuse } from './client.ts';
import { offeredTools, type OfferedTools } from './tools/deferred-tools.ts';
import { fitToolId, fitToolName, type ToolIdRule } from './tools/tool-names.ts';

/** Characters of a tool's name, on every wire. */
const MAX_TOOL_NAME = 64;

export interface EncodeContext {
  readonly request: GenerationRequest;
  readonly traits: Traits;
  readonly warnings: Warning[];
  /** Names on the wire -> the client's, where they differ. */
  readonly toolNames: ReadonlyMap<string, string>;
  /** Tools that the conversation names first in this message, and that the provider gets there instead of in the list. */
  foundAt(message: Message): readonly Tool[] | undefined;
  /** Reports an effect on a field once for each detail, however many parts it concerns. */
  warn(effect: Warning['effect'], field: Warning['field'], detail: string): void;
  /** A tool's name in a form that the wire takes; a change is recorded in `toolNames`, so that answers can be mapped back. */
  toolName(name: string): string;
  toolId(id: string): string;
  /** The request's first tool of this name. */
  tool(name: string): Tool | undefined;
  /** What a field of another protocol is to this one, where both may have it. */
  shared(field: NativeField): SharedMember | undefined;
  /** Treats fields of other protocols by the fate in their ledger: reports them, or refuses the request. */
  leaveOut(fields: readonly NativeField[] | undefined): void;
  /** The same, and writes fields of this protocol back to their paths. `prefix`: the path of `into`. */
  natives(fields: readonly NativeField[] | undefined, into: JsonObject, prefix?: string): void;
}

interface EncodeTarget {
  /** Whose body is written. */
  protocol: ProtocolName;
  request: GenerationRequest;
  traits: Traits;
  toolIds: ToolIdRule;
  /** A tool that the conversation adds later is sent at that place. */
  toolsInPlace?: boolean;
}

export function createEncodeContext(target: EncodeTarget): EncodeContext {
  return new Encoding(target);
}

const NO_NAMES: ReadonlyMap<string, string> = new Map();

class Encoding implements EncodeContext {
  readonly request: GenerationRequest;
  readonly traits: Traits;
  readonly warnings: Warning[] = [];
  readonly #protocol: ProtocolName;
  readonly #toolIds: ToolIdRule;
  /** Most requests have neither a changed name nor a warning. */
  #toolNames: Map<string, string> | undefined;
  #seen: Set<string> | undefined;
  #last: Warning | undefined;
  #tools: Map<string, Tool> | undefined;
  readonly #found: OfferedTools['found'] | undefined;

  constructor({ protocol, request, traits, toolIds, toolsInPlace = false }: EncodeTarget) {
    this.traits = traits;
    this.#protocol = protocol;
    this.#toolIds = toolIds;
    const offered = request.tools && offeredTools(request, protocol);
    this.request = offered === undefined ? request : { ...request, tools: offered.tools };
    if (offered === undefined) return;
    if (offered.leftOut > 0)
      this.warn('changed', 'tools', 'deferred tools that nothing in the conversation names were left out');
    if (toolsInPlace) this.#found = offered.found;
  }

  foundAt(message: Message): readonly Tool[] | undefined {
    return this.#found?.get(message);
  }

  get toolNames(): ReadonlyMap<string, string> {
    return this.#toolNames ?? NO_NAMES;
  }

  warn(effect: Warning['effect'], field: Warning['field'], detail: string): void {
    const last = this.#last;
    // A thousand parts may give the same warning in a row: no key is built for those.
    if (field === last?.field && effect === last.effect && detail === last.detail) return;
    const key = `${effect} ${typeof field === 'string' ? field : `:${field.path}`} ${detail}`;
    this.#last = { effect, field, detail };
    this.#seen ??= new Set();
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    this.warnings.push(this.#last);
  }

  toolName(name: string): string {
    const fitted = fitToolName(name, MAX_TOOL_NAME);
    if (fitted !== name) (this.#toolNames ??= new Map()).set(fitted, name);
    return fitted;
  }

  toolId(id: string): string {
    return fitToolId(id, this.#toolIds);
  }

  tool(name: string): Tool | undefined {
    this.#tools ??= byName(this.request.tools ?? []);
    return this.#tools.get(name);
  }

  shared(field: NativeField): SharedMember | undefined {
    return field.protocol === this.#protocol ? undefined : field.shared;
  }

  leaveOut(fields: readonly NativeField[] = []): void {
    for (const field of fields) {
      if (field.protocol === this.#protocol) continue;
      if (field.fate === 'reject') {
        refuse(
          field.asked ?? field.path,
          field.message ?? 'cannot be carried to this provider',
          field.details,
        );
      }
      const effect = field.fate === 'report' ? 'dropped' : 'quiet';
      const why = field.message ?? `unknown to the ${this.#protocol} protocol`;
      this.warn(effect, { path: field.asked ?? field.path }, why);
    }
  }

  natives(fields: readonly NativeField[] = [], into: JsonObject, prefix = ''): void {
    this.leaveOut(fields);
    for (const field of fields) {
      const path = field.path.slice(prefix.length);
      // The item of a list that held the member may have moved.
      if (field.protocol === this.#protocol && !path.includes('[')) putBack(into, path, field);
    }
  }
}

function byName(tools: readonly Tool[]): Map<string, Tool> {
  const named = new Map<string, Tool>();
  for (const tool of tools) if (tool.name !== undefined && !named.has(tool.name)) named.set(tool.name, tool);
  return named;
}

function putBack(into: JsonObject, path: string, field: NativeField): void {
  const dot = path.length > field.name.length ? path.indexOf('.') : -1;
  if (dot === -1) {
    into[path] ??= field.value;
    return;
  }
  const name = path.slice(0, dot);
  const inner = into[name];
  const copy: JsonObject = isObject(inner) ? { ...inner } : {};
  into[name] = copy;
  putBack(copy, path.slice(dot + 1), field);
}

const JSON_ONLY = 'Answer with one JSON object and nothing else: no explanation, no code fence.';

/** The form of the answer, if it can only be asked for in words. */
export function answerInWords(format: ResponseFormat): string {
  if (format.type === 'json_object') return JSON_ONLY;
  const about = format.description === undefined ? '' : ` It is this: ${format.description}`;
  return `${JSON_ONLY}${about}\nThe object must fit this JSON schema:\n${JSON.stringify(format.schema)}`;
}

/** An end user's id, or its hash if the id is too long for the wire. */
export function fitUser(user: string, longest: number, encoding: EncodeContext): string {
  if (user.length <= longest) return user;
  encoding.warn('changed', 'user', 'too long: its hash is sent');
  return createHash('sha256').update(user).digest('hex');
}

/** Of a wire: which members a server may refuse. */
interface Refusable {
  /** The list whose items' members have the path `list[].name`. */
  list: string;
  /** No request goes without them. */
  needed: readonly string[];
  /** What the gateway itself put there is no loss of the client's. */
  own: readonly string[];
  fieldAt: (path: string) => CanonicalField | undefined;
}

/** Members that this server is known to refuse. */
export function dropRefused(
  body: JsonObject,
  encoding: EncodeContext,
  { list, needed, own, fieldAt }: Refusable,
): void {
  for (const path of encoding.traits.rejectFields) {
    if (needed.includes(path) || !removeAt(body, path, list) || own.includes(path)) continue;
    encoding.warn('dropped', fieldAt(path) ?? { path }, 'this server refuses it');
  }
}

function removeAt(body: JsonObject, path: string, list: string): boolean {
  const prefix = `${list}[].`;
  if (!path.startsWith(prefix)) return remove(body, path);
  const items = Array.isArray(body[list]) ? body[list] : [];
  return items.filter((item) => isObject(item) && remove(item, path.slice(prefix.length))).length > 0;
}

function remove(object: JsonObject, name: string): boolean {
  const had = object[name] !== undefined;
  delete object[name];
  return had;
}
