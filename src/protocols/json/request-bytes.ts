// The bytes of a request: a translated body written, or the client's own with what differs for a target spliced in.
import { wellFormedJson, isObject, type JsonObject } from '../../canonical/json.ts';
import { rawJson } from './raw-json.ts';
import { scanMembers, splice, type Edit, type Members } from './splice.ts';
import type { RelayedBody, RelayTarget, RewrittenBody } from '../protocol.ts';

// A long conversation is written piece by piece: a string of more than 128 KiB has memory pages of its own, which are mapped,
// cleared and given back for every request.
const LONG = 131_072;
/** Characters of one piece, roughly: large enough that the beginnings of JSON.stringify don't count. */
const PIECE = 65_536;
const COMMA = 0x2c;

/** Messages were repaired before (canonical/history): halves of surrogate pairs are in tools, schemas, stop sequences, names. */
function stringify(value: JsonObject): string {
  return wellFormedJson(rawJson(value));
}

/** The bytes of `rawJson(body)`. `about`: how many they are, roughly. */
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

/** Each list is written over the bracket that closes the one before; its own opening bracket makes the comma. */
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
 * A body for a provider of the same protocol. `cleaned`: the bytes without what no provider takes back. `ask`: what the gateway
 * itself adds. `thinks`: thinking stays on where that of earlier turns is left out.
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
  // A turn that begins without thinking can't go on with it, where it can be switched off.
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

/** Whether it asks for thinking that can be switched off: some models take that only up to an effort, some never. */
function asksForThinking({ thinking, output_config: output }: JsonObject, { traits }: RelayTarget): boolean {
  if (!isObject(thinking) || thinking.type === 'disabled') return false;
  if (traits.thinkingOff !== 'up_to_high') return traits.thinkingOff === 'always';
  return !isObject(output) || (output.effort !== 'xhigh' && output.effort !== 'max');
}
