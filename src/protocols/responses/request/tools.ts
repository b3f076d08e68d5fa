// The names of a request's tools. A tool of a namespace, or of a kind that other protocols lack, has one canonical name; a call of
// it goes back to the client as its kind demands, by a directory that is read anew from each request.
import { createHash } from 'node:crypto';
import { isObject, type JsonObject, type JsonValue, stringOf } from '../../../canonical/json.ts';
import { refuse } from '../../shared/client.ts';

/** Kinds that the client runs and that have neither a name nor a schema of their own. */
export const BUILT_IN = ['tool_search', 'local_shell', 'shell', 'apply_patch'] as const;
export type BuiltIn = (typeof BUILT_IN)[number];
export type ToolKind = 'function' | 'custom' | BuiltIn;

/** A tool as the client knows it. */
export interface ClientTool {
  kind: ToolKind;
  name: string;
  namespace?: string;
}

export interface ToolDirectory {
  /**
   * The tool of a canonical name, or of the bare name that only one namespace has; undefined: the request holds none, a call of it is
   * one of a function.
   */
  find(canonical: string): ClientTool | undefined;
  /** The canonical name of a tool that the client calls so, listed or not. */
  nameOf(name: string, namespace?: string): string;
  /** The canonical name of a tool without a name of its own; undefined: the request does not list it. */
  nameOfBuiltIn(kind: BuiltIn): string | undefined;
}

/** A tool of the request's lists that the client runs. */
export interface ListedTool extends ClientTool {
  /** As the client wrote it. */
  value: JsonObject;
  /** Where it stands, for refusals. */
  at: string;
  /** It came in the course of the conversation: nothing has to be searched for any more. */
  loaded: boolean;
}

export interface ToolLists {
  own: ListedTool[];
  /** Tools that a provider would run. */
  hosted: JsonObject[];
}

/** Items of the input that bring tools. */
const BRING_TOOLS = ['additional_tools', 'tool_search_output'];

export function bringsTools(type: JsonValue | undefined): boolean {
  return typeof type === 'string' && BRING_TOOLS.includes(type);
}

/** `types`: of all that stands in the body. */
export function hasToolItems(types: ReadonlySet<string>): boolean {
  return BRING_TOOLS.some((type) => types.has(type));
}

/** The items that a directory is made of. */
export function itemsWithTools(input: JsonValue | undefined): JsonObject[] {
  return Array.isArray(input) ? input.filter(isBringing) : [];
}

function isBringing(item: JsonValue): item is JsonObject {
  return isObject(item) && bringsTools(item.type);
}

function isBuiltIn(type: unknown): type is BuiltIn {
  return (BUILT_IN as readonly unknown[]).includes(type);
}

/** A provider runs it: by its type, or because it asks for an environment of the provider's. */
export function isHosted(tool: JsonObject): boolean {
  const { type, execution, environment } = tool;
  if (type === 'tool_search') return execution !== 'client';
  if (type === 'shell') return isObject(environment) && environment.type !== 'local';
  return type !== undefined && type !== null && !CLIENT_TYPES.has(type);
}

const CLIENT_TYPES: ReadonlySet<unknown> = new Set(['function', 'custom', 'namespace', ...BUILT_IN]);
/** Tools of this namespace are called by their bare names. */
const BARE_NAMESPACE = 'functions';

/** All tools of a request, those of its namespaces apart, each once: the newest definition counts. */
export function readToolLists({ tools, input }: JsonObject): ToolLists {
  const items = Array.isArray(input) ? input : [];
  if (!Array.isArray(tools) && !items.some(isBringing)) return { own: [], hosted: [] };
  const into: Listed = { own: new Map(), hosted: [] };
  readList(tools, 'tools', false, into);
  items.forEach((item, index) => {
    if (isBringing(item)) readList(item.tools, `input[${index}].tools`, true, into);
  });
  return { own: [...into.own.values()], hosted: into.hosted };
}

interface Listed extends Pick<ToolLists, 'hosted'> {
  own: Map<string, ListedTool>;
}

function readList(
  tools: JsonValue | undefined,
  path: string,
  loaded: boolean,
  into: Listed,
  namespace?: string,
): void {
  if (!Array.isArray(tools)) return;
  tools.forEach((value, index) => {
    const at = `${path}[${index}]`;
    if (!isObject(value)) return refuse(at, 'must be an object');
    if (isHosted(value)) {
      into.hosted.push(value);
      return;
    }
    if (value.type === 'namespace') {
      const name = stringOf(value.name);
      readList(value.tools, `${at}.tools`, loaded, into, name === BARE_NAMESPACE ? undefined : name);
      return;
    }
    const kind = kindOf(value);
    const name = kind === 'function' || kind === 'custom' ? stringOf(value.name) : kind;
    const tool: ListedTool = { kind, name, value, at, loaded };
    if (namespace !== undefined && namespace !== '') tool.namespace = namespace;
    const key = keyOf(isBuiltIn(kind) ? kind : '', name, tool.namespace);
    // A deferred tool joins the others when it is loaded: the list grows at its end alone, for the sake of prompt caches.
    if (loaded && into.own.get(key)?.value.defer_loading === true) into.own.delete(key);
    into.own.set(key, tool);
  });
}

function kindOf({ type }: JsonObject): ToolKind {
  return type === 'custom' || isBuiltIn(type) ? type : 'function';
}

function keyOf(kind: string, name: string, namespace = ''): string {
  return `${kind}\0${namespace}\0${name}`;
}

const MAX_NAME = 64;
const HASH = 8;
const LEGAL = /^[a-zA-Z0-9_-]+$/;

/** One name of both; no second separator where one is there already. */
function joined(name: string, namespace = ''): string {
  if (namespace === '') return name;
  return namespace.endsWith('__') || name.startsWith('__') ? namespace + name : `${namespace}__${name}`;
}

/** For names that are too long, illegal or taken: never alike for two tools, always the same for one. */
function hashed(name: string, namespace = ''): string {
  const hash = createHash('sha256').update(`${namespace}\0${name}`).digest('hex').slice(0, HASH);
  const legal = joined(name, namespace).replaceAll(/[^a-zA-Z0-9_-]/gu, '_');
  return `${legal.slice(0, MAX_NAME - HASH - 1)}_${hash}`;
}

function fitted(name: string, namespace?: string): string {
  const plain = joined(name, namespace);
  return plain.length <= MAX_NAME && LEGAL.test(plain) ? plain : hashed(name, namespace);
}

/** `value`: a request as the client sent it, or what of it `ReplyOptions.asked` holds. */
export function toolDirectory(value: JsonObject): ToolDirectory {
  return directoryOf(readToolLists(value).own);
}

export function directoryOf(tools: readonly ListedTool[]): ToolDirectory {
  return tools.length === 0 ? NO_TOOLS : createDirectory(tools);
}

const NO_TOOLS = createDirectory([]);

function createDirectory(tools: readonly ListedTool[]): ToolDirectory {
  const names = new Map<string, string>();
  const byName = new Map<string, ClientTool>();
  /** Members of namespaces, which models also call so; undefined: several have the name. */
  const byBareName = new Map<string, ClientTool | undefined>();
  for (const { kind, name, namespace } of tools) {
    const builtIn = isBuiltIn(kind);
    const free = fitted(name, namespace);
    const canonical = byName.has(free) ? hashed(name, builtIn ? kind : namespace) : free;
    names.set(keyOf(builtIn ? kind : '', name, namespace), canonical);
    const tool: ClientTool = namespace === undefined ? { kind, name } : { kind, name, namespace };
    byName.set(canonical, tool);
    if (namespace !== undefined) byBareName.set(name, byBareName.has(name) ? undefined : tool);
  }
  return {
    find: (canonical) => byName.get(canonical) ?? byBareName.get(canonical),
    nameOf(name, namespace) {
      const own = namespace === BARE_NAMESPACE ? undefined : namespace;
      return names.get(keyOf('', name, own)) ?? fitted(name, own);
    },
    nameOfBuiltIn: (kind) => names.get(keyOf(kind, kind)),
  };
}
