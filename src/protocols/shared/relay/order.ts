// The order of a relayed conversation for servers that insist on one: messages are joined, or a word is put between them. These rules
// see the roles and contents that the others made.
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import { objectsIn, type Fitting, type RelayRule } from './fit.ts';

/** A wire's list of messages, and the messages that the gateway itself puts there. */
interface Conversation {
  list: 'messages' | 'input';
  isResult: (message: JsonObject) => boolean;
  hasCalls: (message: JsonObject) => boolean;
  merge: (first: JsonValue, second: JsonValue, message: JsonObject) => JsonValue;
  opening: JsonObject;
  bridge: JsonObject;
  ending: JsonObject;
}

export function orderRules(wire: Conversation): readonly RelayRule[] {
  return [alternation(wire), bridging(wire), endingWithUser(wire)];
}

/** Only of these roles may two messages be one: results of tools have ids. */
const JOINABLE: ReadonlySet<JsonValue | undefined> = new Set(['system', 'developer', 'user', 'assistant']);
const OF_SYSTEM: ReadonlySet<JsonValue | undefined> = new Set(['system', 'developer']);

const alternation =
  (wire: Conversation): RelayRule =>
  (fitting) => {
    if (!fitting.traits.strictAlternation) return;
    let last: Turn | undefined;
    for (const [index, message] of objectsIn(fitting.value[wire.list])) {
      if (last !== undefined && mayJoin(last.message, message, wire)) {
        join(last, { index, message }, wire, fitting);
        continue;
      }
      if (last !== undefined) write(last, wire, fitting);
      const opens = message.role === 'assistant' && (last === undefined || OF_SYSTEM.has(last.message.role));
      if (opens) fitting.add('before', [wire.list, index], wire.opening, 'the user speaks first');
      last = { index, message, added: {} };
    }
    if (last !== undefined) write(last, wire, fitting);
  };

interface Turn {
  index: number;
  message: JsonObject;
  /** Members that the messages joined to it give it. */
  added: JsonObject;
}

function mayJoin(last: JsonObject, next: JsonObject, { hasCalls }: Conversation): boolean {
  return last.role === next.role && JOINABLE.has(next.role) && !hasCalls(last) && !hasCalls(next);
}

function join(
  { message, added }: Turn,
  next: Pick<Turn, 'index' | 'message'>,
  { list, merge }: Conversation,
  { drop, joined }: Fitting,
): void {
  for (const [name, value] of Object.entries(next.message)) {
    if (value === undefined || value === null) continue;
    const before = added[name] ?? message[name] ?? undefined;
    if (before === undefined) added[name] = value;
    else if (MERGED.has(name)) added[name] = merge(before, value, message);
    else if (value !== before && !NAMELESS.has(name))
      drop([list, next.index, name], 'two messages became one');
  }
  joined([list, next.index], JOINED);
}

const JOINED = 'neighbours of one role were joined';
const MERGED: ReadonlySet<string> = new Set(['content', 'reasoning_content', 'reasoning']);
/** Of an item of the responses protocol. */
const NAMELESS: ReadonlySet<string> = new Set(['id', 'status']);

function write({ index, added }: Turn, { list }: Conversation, { set }: Fitting): void {
  for (const [name, value] of Object.entries(added)) {
    if (value !== undefined) set([list, index, name], value, JOINED);
  }
}

const bridging =
  ({ list, isResult, bridge }: Conversation): RelayRule =>
  ({ value, traits, add }) => {
    if (traits.userAfterTool) return;
    let afterResult = false;
    for (const [index, message] of objectsIn(value[list])) {
      if (message.role === 'user' && afterResult)
        add('before', [list, index], bridge, 'a word of the assistant was put between a tool and the user');
      afterResult = isResult(message);
    }
  };

const endingWithUser =
  ({ list, hasCalls, ending }: Conversation): RelayRule =>
  ({ value, traits, add }) => {
    if (traits.lastRole === 'any') return;
    const messages = value[list];
    const last = Array.isArray(messages) ? messages.at(-1) : undefined;
    if (!isObject(last) || last.role !== 'assistant' || last.prefix === true || hasCalls(last)) return;
    add('append', [list], ending, 'this model goes on only after the user');
  };
