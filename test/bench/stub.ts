// The stub provider: a process that answers with prepared bytes. Run as `node stub.js PORT`.
import { createServer, type Socket } from 'node:net';
import { createMessageParser } from './http-message.ts';
import { clockMicros, stamped } from './marks.ts';
import { KINDS, PACES, streamWrites, WIRES, wholeReply, type Kind, type Wire } from './replies.ts';

const WHOLE: Record<Wire, Buffer> = {
  chat: wholeReply('chat'),
  messages: wholeReply('messages'),
  responses: wholeReply('responses'),
};

/** Keyed by wire, kind and whether usage was asked for. */
const STREAMS = new Map<string, Buffer[]>();
for (const wire of WIRES) {
  for (const kind of KINDS) {
    if (kind === 'whole') continue;
    for (const usage of [true, false]) {
      STREAMS.set(`${wire} ${kind} ${String(usage)}`, streamWrites(wire, kind, usage));
    }
  }
}

const NOT_FOUND = Buffer.from('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n');
/** Prefixes of a model's name (`provider/`) are not the stub's business. */
const MODEL = /"model" ?: ?"(?:[^"]*\/)?([a-z]+)"/;
const MODEL_MARK = '"model"';
const MODEL_SPAN = 120;

createServer({ noDelay: true }, serve).listen(Number(process.argv[2]), '127.0.0.1');

function serve(socket: Socket): void {
  let head = '';
  let body: Buffer[] = [];
  let timer: NodeJS.Timeout | undefined;
  const parse = createMessageParser({
    head(text) {
      head = text;
      body = [];
    },
    body: (bytes) => void body.push(bytes),
    end() {
      timer = answer(socket, head, Buffer.concat(body));
      body = [];
    },
  });
  socket.on('data', parse);
  socket.on('close', () => clearInterval(timer));
  socket.on('error', () => undefined);
}

function answer(socket: Socket, head: string, body: Buffer): NodeJS.Timeout | undefined {
  const wire = WIRES.find((known) => head.includes(`/${known}`)) ?? 'chat';
  const kind = kindOf(body);
  if (!head.startsWith('POST') || kind === undefined) {
    socket.write(NOT_FOUND);
    return undefined;
  }
  if (kind === 'whole') {
    socket.write(WHOLE[wire]);
    return undefined;
  }
  const usage = wire === 'chat' && body.includes('"include_usage":true');
  const writes = STREAMS.get(`${wire} ${kind} ${String(usage)}`) ?? [];
  const cameAt = clockMicros();
  let next = 0;
  const timer = setInterval(() => {
    const bytes = writes[next];
    const times = next === 0 ? [cameAt, clockMicros()] : [clockMicros()];
    next += 1;
    if (bytes !== undefined) socket.write(kind === 'tokens' ? stamped(bytes, times) : bytes);
    if (next >= writes.length) clearInterval(timer);
  }, PACES[kind].everyMs);
  return timer;
}

function kindOf(body: Buffer): Kind | undefined {
  for (let at = body.indexOf(MODEL_MARK); at >= 0; at = body.indexOf(MODEL_MARK, at + 1)) {
    const name = MODEL.exec(body.toString('latin1', at, at + MODEL_SPAN))?.[1];
    const kind = KINDS.find((known) => known === name);
    if (kind !== undefined) return kind;
  }
  return undefined;
}
