// The responses protocol over a WebSocket: a `response.create` is the body of a request, the events of its answer come back as messages.
// https://developers.openai.com/api/docs/guides/websocket-mode
import { isObject, stringOf, type JsonObject } from '../../../canonical/json.ts';
import type { SocketDialect, SocketRequest } from '../../interface/socket.ts';
import { MAX_LEVELS } from '../../json/raw-json.ts';
import { cutsOf, scanMembers, splice, type Member, type Members } from '../../json/splice.ts';
import { refuse } from '../../shared/client.ts';
import { isDone } from './decoder.ts';
import { encodeError, errorHead } from '../errors.ts';

const CREATE = 'response.create';
/** Codex says so when it has taken an answer over. */
const TOLD: ReadonlySet<unknown> = new Set(['response.processed']);

/** Members of a message that a body lacks, or that mean nothing here: every answer is a stream. */
const OF_THE_MESSAGE: ReadonlySet<string> = new Set([
  'type',
  'generate',
  'stream',
  'stream_options',
  'background',
]);

function read(message: Buffer): SocketRequest {
  const members = scanMembers(message, MAX_LEVELS);
  // The reader of bodies says what is wrong with it.
  if (members.tooDeep || members.close < 0) return { does: 'answer', body: message };
  const type = valueOf(message, members.get('type'));
  if (TOLD.has(type)) return { does: 'nothing' };
  if (type !== CREATE) refuse('type', `must be "${CREATE}"`);
  const generate = valueOf(message, members.get('generate'));
  if (generate !== undefined && generate !== null && typeof generate !== 'boolean') {
    refuse('generate', 'must be true or false');
  }
  return { does: generate === false ? 'prepare' : 'answer', body: bodyOf(message, members) };
}

/** Of a member that is a word; undefined for everything else. */
function valueOf(message: Buffer, member: Member | undefined): unknown {
  if (member === undefined || member.end - member.start > LONGEST_WORD) return undefined;
  try {
    return JSON.parse(message.toString('utf8', member.start, member.end));
  } catch {
    return undefined;
  }
}

const LONGEST_WORD = 64;
const STREAM = '"stream":true';

/** Every other byte stays as the client wrote it. */
function bodyOf(message: Buffer, { list, close }: Members): Buffer {
  const own = list.flatMap(({ name }, index) => (OF_THE_MESSAGE.has(name) ? [index] : []));
  if (own.length === list.length) return Buffer.from(`{${STREAM}}`);
  const spans = list.map(({ nameStart, end }) => ({ start: nameStart, end }));
  const cuts = cutsOf(spans, own).map((range) => ({ ...range, text: '' }));
  return splice(message, [...cuts, { start: close, end: close, text: `,${STREAM}` }]);
}

const TYPE = '"type"';

/** The stream's own error event has no place: the failed Response behind it says the same, and ends the answer once. */
const event: SocketDialect['event'] = (frame) => {
  const { data } = frame;
  if (data === '' || frame.event === 'error' || isDone(frame)) return undefined;
  // Some servers name the event beside its data alone.
  if (frame.event === '' || data.includes(TYPE)) return data;
  return isObject(frame.value) ? JSON.stringify({ type: frame.event, ...frame.value }) : undefined;
};

const WINDOW = /^x-codex-(primary|secondary)-(.*)$/;

/** The account's limits, for the status line of Codex. Other clients would take an event that they do not know for a fault. */
const head: SocketDialect['head'] = (headers, client) => {
  if (!stringOf(client.originator).startsWith('codex')) return undefined;
  const windows: Record<string, JsonObject> = {};
  for (let at = 0; at < headers.length; at += 2) {
    const [, place, member = ''] = WINDOW.exec(headers[at] ?? '') ?? [];
    if (place !== undefined)
      windows[place] = { ...windows[place], [member.replaceAll('-', '_')]: Number(headers[at + 1]) };
  }
  if (windows.primary === undefined) return undefined;
  return JSON.stringify({ type: 'codex.rate_limits', rate_limits: windows });
};

export const dialect: SocketDialect = {
  read,
  head,
  event,
  encodeError(error, requestId, headers) {
    const status = errorHead(error).status ?? error.status;
    const body: JsonObject = { type: 'error', status, ...encodeError(error, requestId) };
    const named: JsonObject = {};
    for (let at = 0; at < headers.length; at += 2) named[headers[at] ?? ''] = headers[at + 1] ?? '';
    return JSON.stringify({ ...body, headers: named });
  },
};
