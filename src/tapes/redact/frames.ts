// The frames of a stream without secrets. A model writes a secret in several pieces, each in the JSON of another frame: the texts that
// stand at one place of the frames are read as one text.
import { isObject, type JsonValue } from '../../canonical/json.ts';
import { jsonOf } from '../json.ts';
import type { Redactor } from './redactor.ts';

/** `data` of each frame, JSON or not. */
export function redactFrames(data: readonly string[], redactor: Redactor): string[] {
  const values = data.map(jsonOf);
  const lanes = new Map<string, Place[]>();
  for (const [frame, value] of values.entries()) if (isObject(value)) collect(value, { frame, lanes });
  const touched = new Set<number>();
  for (const places of lanes.values()) {
    const texts = places.map(({ text }) => text);
    // Ids and names are repeated whole.
    if (texts.every((text) => text === texts[0])) continue;
    const clean = redactor.pieces(texts);
    for (const [at, { frame, text, set }] of places.entries()) {
      const own = clean[at];
      if (own === undefined || own === text) continue;
      set(own);
      touched.add(frame);
    }
  }
  return data.map((text, frame) => redactor.text(touched.has(frame) ? JSON.stringify(values[frame]) : text));
}

interface Place {
  frame: number;
  text: string;
  set: (text: string) => void;
}

interface Collecting {
  frame: number;
  lanes: Map<string, Place[]>;
}

/** What tells the parts of one answer apart. */
const INDEXES = ['index', 'output_index', 'content_index', 'summary_index'];
const MOST_LEVELS = 12;

function collect(
  value: JsonValue[] | Record<string, JsonValue | undefined>,
  to: Collecting,
  path = '',
): void {
  if (path.length > MOST_LEVELS * 40) return;
  const own = Array.isArray(value)
    ? ''
    : INDEXES.flatMap((name) =>
        typeof value[name] === 'number' ? [`${name}${String(value[name])}`] : [],
      ).join();
  const members = value as Record<string, JsonValue | undefined>;
  for (const name of Object.keys(members)) {
    const member = members[name];
    const at = `${path}${own}.${name}`;
    if (typeof member === 'string') {
      const place = { frame: to.frame, text: member, set: (text: string) => void (members[name] = text) };
      const lane = to.lanes.get(at);
      if (lane === undefined) to.lanes.set(at, [place]);
      else lane.push(place);
    } else if (typeof member === 'object' && member !== null) {
      collect(member, to, at);
    }
  }
}
