// What the parts of the request encoder share: the request, the target's traits, and what gathers on the way.
import type { JsonObject } from '../../../canonical/json.ts';
import type { NativeField, GenerationRequest, Warning } from '../../../canonical/request.ts';
import type { Traits } from '../../../canonical/traits.ts';
import { fitToolId, fitToolName } from '../../shared/tool-names.ts';
import { refuse } from './envelope.ts';

const MAX_TOOL_NAME = 64;

export interface EncodeContext {
  readonly request: GenerationRequest;
  readonly traits: Traits;
  readonly warnings: Warning[];
  /** Names on the wire -> the client's, where they differ. */
  readonly toolNames: Map<string, string>;
  /** Each effect on a field is told once for each of its reasons, however many parts it meets. */
  warn(effect: Warning['effect'], field: Warning['field'], detail: string): void;
  toolName(name: string): string;
  toolId(id: string): string;
  /** Puts fields of this protocol back where they stood; others go as their own protocol said when it was decoded. */
  natives(fields: readonly NativeField[] | undefined, into: JsonObject, prefix?: string): void;
}

export function createEncodeContext(request: GenerationRequest, traits: Traits): EncodeContext {
  const warnings: Warning[] = [];
  const told = new Set<string>();
  let last: Warning | undefined;
  const toolNames = new Map<string, string>();
  const encoding: EncodeContext = {
    request,
    traits,
    warnings,
    toolNames,
    warn(effect, field, detail) {
      // The same mark on each of a thousand parts: no name is made for what was told just before.
      if (field === last?.field && effect === last.effect && detail === last.detail) return;
      const key = `${effect} ${typeof field === 'string' ? field : `:${field.path}`} ${detail}`;
      last = { effect, field, detail };
      if (told.has(key)) return;
      told.add(key);
      warnings.push(last);
    },
    toolName(name) {
      const fitted = fitToolName(name, MAX_TOOL_NAME);
      if (fitted !== name) toolNames.set(fitted, name);
      return fitted;
    },
    toolId: (id) => fitToolId(id, traits.toolIds),
    natives(fields, into, prefix = '') {
      for (const field of fields ?? []) {
        if (field.protocol === 'chat') {
          // What stood inside a list has no place of its own any more.
          if (!field.path.slice(prefix.length).includes('['))
            setPath(into, field.path.slice(prefix.length), field);
        } else leaveOut(field, encoding);
      }
    },
  };
  return encoding;
}

function leaveOut(field: NativeField, encoding: EncodeContext): void {
  if (field.fate === 'reject') {
    throw refuse(field.path, field.message ?? 'cannot be carried to this provider', field.details);
  }
  const effect = field.fate === 'report' ? 'dropped' : 'quiet';
  encoding.warn(effect, { path: field.path }, 'unknown to the chat protocol');
}

function setPath(into: JsonObject, path: string, field: NativeField): void {
  const dot = path.indexOf('.');
  if (dot === -1) {
    into[path] ??= field.value;
    return;
  }
  const name = path.slice(0, dot);
  const inner = into[name];
  const next: JsonObject = typeof inner === 'object' && inner !== null && !Array.isArray(inner) ? inner : {};
  into[name] = next;
  setPath(next, path.slice(dot + 1), field);
}

/** Google's word for a call whose signature was lost or never was: https://ai.google.dev/gemini-api/docs/thought-signatures */
const UNSIGNED: JsonObject = { google: { thought_signature: 'skip_thought_signature_validator' } };

/** The members beside a call of a history; `at`: its place among the calls of its turn, of which only the first is signed. */
export function signedExtra(extra: JsonObject | undefined, at: number, encoding: EncodeContext): JsonObject {
  const own = encoding.request.protocol === 'chat' ? (extra ?? {}) : chatExtra(extra);
  if (!encoding.traits.thoughtSignatures || at > 0 || own.extra_content !== undefined) return own;
  return { ...own, extra_content: UNSIGNED };
}

/** Of a call's further members the chat wire knows Gemini's alone; other protocols' mean nothing here. */
export function chatExtra(extra: JsonObject | undefined): JsonObject {
  return extra?.extra_content === undefined ? {} : { extra_content: extra.extra_content };
}
