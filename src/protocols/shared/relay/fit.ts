// Fits a relayed body to what its target is known to refuse: single members are changed, renamed or left out, in the bytes; all other
// bytes stay. Each protocol has its rules in relay-rules.ts.
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import type { Warning } from '../../../canonical/request.ts';
import type { Traits } from '../../../canonical/traits.ts';
import { editPaths, type PathEdit } from '../../json/path-edits.ts';
import { bodyIn } from '../../json/body.ts';
import type { RelayedBody } from '../../interface/bodies.ts';

type Path = readonly (string | number)[];

/** What a rule reads, and the list of changes that it adds to. */
export interface Fitting {
  readonly value: JsonObject;
  readonly traits: Traits;
  /** A well-known provider: there the defaults of traits are facts, elsewhere guesses. */
  readonly isKnown: boolean;
  /** Left out, and named as such. */
  readonly drop: (path: Path, why: string) => void;
  /** In place of the value at the path. */
  readonly set: (path: Path, value: JsonValue, why: string) => void;
  readonly rename: (path: Path, to: string, why: string) => void;
  /** A further element: at the beginning or the end of the list, or before the element at the path. */
  readonly add: (where: 'prepend' | 'append' | 'before', path: Path, value: JsonValue, why: string) => void;
  /** An element whose content stands in another one. */
  readonly joined: (path: Path, why: string) => void;
}

export type RelayRule = (fitting: Fitting) => void;

export interface FittedHeaders {
  /** Name, value, name, value. */
  headers: readonly string[];
  warning?: Warning;
}

interface FittedBody {
  body: RelayedBody;
  warnings: readonly Warning[];
}

/** Undefined if no rule applies: the body stays as it is. `passes`: rules of a later one see what those before it made. */
export function fitBody(
  body: RelayedBody,
  { traits, isKnown }: Pick<Fitting, 'traits' | 'isKnown'>,
  passes: readonly (readonly RelayRule[])[],
): FittedBody | undefined {
  let fitted: FittedBody | undefined;
  for (const rules of passes) {
    const before = fitted?.body ?? body;
    const fitting = createNotes(before.value, traits, isKnown);
    for (const rule of rules) rule(fitting);
    if (fitting.edits.length === 0) continue;
    fitted = {
      body: bodyIn(editPaths(before.bytes, fitting.edits)),
      warnings: [...(fitted?.warnings ?? []), ...fitting.warnings.values()],
    };
  }
  return fitted;
}

interface Notes extends Fitting {
  edits: PathEdit[];
  /** One for each path, effect and reason, however many elements it concerns. */
  warnings: Map<string, Warning>;
}

function createNotes(value: JsonObject, traits: Traits, isKnown: boolean): Notes {
  const edits: PathEdit[] = [];
  const warnings = new Map<string, Warning>();
  const warn = (effect: Warning['effect'], path: Path, detail: string): void => {
    const name = shown(path);
    const key = `${effect} ${name} ${detail}`;
    if (!warnings.has(key)) warnings.set(key, { effect, field: { path: name }, detail });
  };
  return {
    value,
    traits,
    isKnown,
    edits,
    warnings,
    drop(path, why) {
      edits.push({ path, does: 'remove' });
      warn('dropped', path, why);
    },
    set(path, next, why) {
      edits.push({ path, does: 'set', text: JSON.stringify(next) });
      warn('changed', path, why);
    },
    add(does, path, value, why) {
      edits.push({ path, does, text: JSON.stringify(value) });
      warn('changed', does === 'before' ? path.slice(0, -1) : path, why);
    },
    joined(path, why) {
      edits.push({ path, does: 'remove' });
      warn('changed', path, why);
    },
    rename(path, to, why) {
      edits.push({ path, does: 'rename', to });
      warn('changed', path, why);
    },
  };
}

/** `messages[].name`. */
function shown(path: Path): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[]`;
    return text === '' ? step : `${text}.${step}`;
  }, '');
}

/** The value at a path; undefined: it is not there. */
export function at(value: JsonValue | undefined, path: Path): JsonValue | undefined {
  let found = value;
  for (const step of path) {
    if (typeof step === 'number') found = Array.isArray(found) ? found[step] : undefined;
    else found = isObject(found) ? found[step] : undefined;
  }
  return found;
}

/** The objects of a list, with their indexes. */
export function objectsIn(list: JsonValue | undefined): [index: number, item: JsonObject][] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((item, index): [number, JsonObject][] => (isObject(item) ? [[index, item]] : []));
}
