// What the parts of the request encoder share: the request, the target's traits, and the warnings that gather on the way.
import type { NativeField, ProtocolName, GenerationRequest, Warning } from '../../../canonical/request.ts';
import type { Traits } from '../../../canonical/traits.ts';
import { GatewayError } from '../../../errors.ts';
import { fitToolName } from '../../shared/tool-names.ts';

const MAX_TOOL_NAME = 64;

export interface EncodeContext {
  readonly request: GenerationRequest;
  readonly traits: Traits;
  readonly warnings: Warning[];
  /** Each effect on a field is told once for each of its reasons, however many blocks it meets. */
  warn(effect: Warning['effect'], field: Warning['field'], detail: string): void;
  /** A tool's name as the wire takes it; the change is kept, so that answers can be given back. */
  toolName(name: string): string;
  readonly toolNames: Map<string, string>;
}

export function createEncodeContext(request: GenerationRequest, traits: Traits): EncodeContext {
  const warnings: Warning[] = [];
  const seen = new Set<string>();
  let last: Warning | undefined;
  const toolNames = new Map<string, string>();
  return {
    request,
    traits,
    warnings,
    toolNames,
    warn(effect, field, detail) {
      // The same effect on each of a thousand blocks: no name is made for what was told just before.
      if (field === last?.field && effect === last.effect && detail === last.detail) return;
      const key = `${effect} ${typeof field === 'string' ? field : field.path} ${detail}`;
      last = { effect, field, detail };
      if (seen.has(key)) return;
      seen.add(key);
      warnings.push(last);
    },
    toolName(name) {
      const fitted = fitToolName(name, MAX_TOOL_NAME);
      if (fitted !== name) toolNames.set(fitted, name);
      return fitted;
    },
  };
}

/** Refuses what must not be left out. `field`: the wire path that the client sent. */
export function reject(field: string | undefined, problem: string): never {
  const message = field === undefined ? problem : `${field}: ${problem}`;
  throw new GatewayError('invalid_request', message, field === undefined ? {} : { param: field });
}

/** Fields of a foreign protocol have no place here: each goes as its own protocol said when it was decoded. */
export function leaveOut(fields: readonly NativeField[] | undefined, encoding: EncodeContext): void {
  for (const field of fields ?? []) {
    if (field.protocol === 'messages') continue;
    if (field.fate === 'reject') {
      const message = field.message ?? `${field.path}: cannot be carried to this provider`;
      throw new GatewayError('invalid_request', message, { param: field.path, details: field.details });
    }
    const effect = field.fate === 'report' ? 'dropped' : 'quiet';
    encoding.warn(effect, { path: field.path }, 'unknown to the messages protocol');
  }
}

/** The client's own name of an option that is refused here, for the error. */
export function clientPath(names: Record<ProtocolName, string>, encoding: EncodeContext): string {
  return names[encoding.request.protocol];
}
