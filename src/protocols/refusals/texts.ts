// The sentences of an error body, and the places that it names beside them. Servers agree on no shape: the words stand in `message`,
// `error`, `detail`, `msg`, `param` or `raw`, in a list, in JSON inside of a text, or in a Python list that became a text.
import { isObject } from '../../canonical/json.ts';
import { pathOfSteps } from './paths.ts';

export interface Said {
  text: string;
  /** What stands beside the sentence as the place: `param`, `loc`. */
  path?: string;
}

/** Bounds over all texts of a body. */
const MOST_TEXTS = 20;
const MOST_CHARACTERS = 8000;
const MOST_LEVELS = 10;
const NAMED: readonly string[] = [
  'message',
  'error',
  'detail',
  'msg',
  'details',
  'errors',
  'fieldViolations',
  'description',
  'metadata',
  'raw',
  'title',
];
const PYTHON = /'loc': \(([^()]{1,300})\)[^{}]{0,200}?'msg': (?:'([^']{1,300})'|"([^"]{1,300})")/g;

export function textsOf(body: string): readonly Said[] {
  const found: Said[] = [];
  gather(parse(body) ?? body, undefined, 0, found);
  return found;
}

function gather(value: unknown, path: string | undefined, level: number, found: Said[]): void {
  if (level > MOST_LEVELS || found.length >= MOST_TEXTS) return;
  if (typeof value === 'string') {
    const text = value.slice(0, MOST_CHARACTERS);
    const inner = /^\s*[[{]/.test(text) ? parse(text) : undefined;
    if (inner !== undefined) return gather(inner, path, level + 1, found);
    for (const [, steps = '', single, double] of text.matchAll(PYTHON)) {
      found.push({ text: single ?? double ?? '', path: pathOfSteps(steps.split(/,\s*/)) });
    }
    if (text.trim() !== '') found.push(path === undefined ? { text } : { text, path });
  } else if (Array.isArray(value)) {
    for (const item of value.slice(0, MOST_TEXTS)) gather(item, path, level + 1, found);
  } else if (isObject(value)) {
    const place = placeOf(value) ?? path;
    for (const name of NAMED) {
      if (value[name] !== undefined) gather(value[name], place, level + 1, found);
    }
    // A server that puts its sentence into `param`.
    if (typeof value.param === 'string' && value.param.includes(' '))
      gather(value.param, path, level + 1, found);
  }
}

function placeOf(value: Record<string, unknown>): string | undefined {
  const { loc, param } = value;
  if (Array.isArray(loc))
    return pathOfSteps(loc.filter((step) => typeof step === 'string' || typeof step === 'number'));
  if (typeof param !== 'string' || param.includes(' ')) return undefined;
  return pathOfSteps(param.split(/[.[\]/]+/));
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
