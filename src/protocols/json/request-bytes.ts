// The bytes of a request to a provider: a translated body is serialised; in a relayed body only the changed members are replaced.
import { wellFormedJson, isObject, type JsonObject } from '../../canonical/json.ts';
import { rawJson } from './raw-json.ts';
import { scanMembers, splice, type Edit, type Members } from './splice.ts';
import type { RelayedBody, RelayTarget, RewrittenBody } from '../protocol.ts';

// A long conversation is serialised in pieces: a string of more than 128 KiB gets memory pages of its own, which are mapped, cleared
// and unmapped for every request.
const LONG = 131_072;
/** Approximate characters of one piece: large enough that the fixed cost of each JSON.stringify does not matter. */
const PIECE = 65_536;
const COMMA = 0x2c;

/** Messages are repaired before (canonical/history): halves of surrogate pairs may still be in tools, schemas, stop sequences, names. */
function stringify(value: JsonObject): string {
  return wellFormedJson(rawJson(value));
}

/** The bytes of `rawJson(body)`. `about`: their approximate number. */
export function requestBytes(body: JsonObject, about: number): Buffer {
  const name = body.input === undefined ? 'messages' : 'input';
  const messages = body[name];
  if (about < LONG || !Array.isArray(messages) || messages.length === 0) {
    return Buffer.from(stringify(body));
  }
  const step = Math.ceil((messages.length * PIECE) / about);
  const lists: string[] = [];
  for (let at = 0; at < messages.length; at += step) {
    lists.push(rawJson(messages.slice(at, at + step)));
  }
  const members = Object.entries(body);
  const place = members.findIndex(([member]) => member === name);
  const head = stringify(Object.fromEntries(members.slice(0, place))).slice(0, -1);
  const tail = stringify(Object.fromEntries(members.slice(place + 1))).slice(1);
  return joined(`${head}${head === '{' ? '' : ','}"${name}":`, lists, tail === '}' ? tail : `,${tail}`);
}

/** Each list overwrites the closing bracket of the list before it, and its own opening bracket becomes the comma. */
function joined(head: string, lists: readonly string[], tail: string): Buffer {
  let length = Buffer.byteLength(head) + Buffer.byteLength(tail) + 1;
  for (const list of lists) length += Buffer.byteLength(list) - 1;
  const bytes = Buffer.allocUnsafeSlow(length);
  let at = bytes.write(head);
  for (const [index, list] of lists.entries()) {
    if (index > 0) at--;
    const written = bytes.write(list, at);
    if (index > 0) bytes[at] = COMMA;
    at += written;
  }
  bytes.write(tail, at);
  return bytes;
}

/**
 * A body for a provider of the same protocol. `cleaned`: the bytes without parts that no provider accepts. `ask`: a member that the
 * gateway adds. `thinks`: thinking stays on although that of earlier turns is left out.
 */
export function rewriteBody(
  { bytes, members, value }: RelayedBody,
  target: RelayTarget,
  {
    cleaned = bytes,
    ask,
    thinks = false,
  }: { cleaned?: Buffer; ask?: (members: Members) => Edit | undefined; thinks?: boolean },
): RewrittenBody {
  const withoutThinking = target.withoutThinking !== undefined;
  const places = cleaned === bytes ? members : scanMembers(cleaned, Infinity);
  const edits: Edit[] = [];
  const model = places.get('model');
  if (model !== undefined && value.model !== target.upstream) {
    edits.push({ start: model.start, end: model.end, text: JSON.stringify(target.upstream) });
  }
  const question = ask?.(places);
  if (question !== undefined) edits.push(question);
  // A tool turn that starts without thinking cannot continue with it, so it is switched off if the model allows that.
  const switchedOff = withoutThinking && !thinks && asksForThinking(value, target);
  const thinking = switchedOff ? places.get('thinking') : undefined;
  if (thinking !== undefined) {
    edits.push({ start: thinking.start, end: thinking.end, text: '{"type":"disabled"}' });
  }
  return {
    bytes: edits.length === 0 ? cleaned : splice(cleaned, edits),
    thinkingCut: thinking !== undefined || (withoutThinking && cleaned !== bytes),
  };
}

/** Whether the request turns on thinking that can be switched off: some models allow that only up to an effort, some never. */
function asksForThinking({ thinking, output_config: output }: JsonObject, { traits }: RelayTarget): boolean {
  if (!isObject(thinking) || thinking.type === 'disabled') return false;
  if (traits.thinkingOff !== 'up_to_high') return traits.thinkingOff === 'always';
  return !isObject(output) || (output.effort !== 'xhigh' && output.effort !== 'max');
}
