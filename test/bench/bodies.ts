// The requests that are sent: a small one, a coding agent's of 195 KB, one with an image of 1 MB; in each protocol.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Wire } from './replies.ts';

export type Size = 'small' | 'agent' | 'image';

const AGENT_BYTES = 195_000;
const IMAGE_BYTES = 1_000_000;
// The program runs at the root of the checkout, compiled or not.
const CORPORA = join(process.cwd(), 'test', 'fixtures', 'corpora');

interface Message {
  role: string;
  [key: string]: unknown;
}
interface Body {
  model: string;
  [key: string]: unknown;
}
interface Conversation extends Body {
  messages: Message[];
}

export function requestBody(wire: Wire, size: Size, model: string, stream: boolean): Buffer {
  const body = MAKERS[size](wire);
  const { model: _replaced, stream: _stream, stream_options: _options, ...rest } = body;
  return Buffer.from(JSON.stringify({ model, ...rest, ...(stream ? { stream } : {}) }));
}

const MAKERS: Record<Size, (wire: Wire) => Body> = { small, agent, image };

function small(wire: Wire): Body {
  const messages = [
    { role: 'user', content: 'Name three rivers that flow into the Black Sea, and their lengths.' },
  ];
  // Stored answers cost a database's writes, which no other row has.
  return wire === 'responses'
    ? { model: '', max_output_tokens: 256, temperature: 0.5, store: false, input: messages }
    : { model: '', max_tokens: 256, temperature: 0.5, messages };
}

function image(wire: Wire): Body {
  const bytes = Buffer.alloc(Math.floor((IMAGE_BYTES * 3) / 4));
  for (let index = 0; index < bytes.length; index += 1) bytes[index] = (index * 2_654_435_761) >>> 24;
  bytes.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const data = bytes.toString('base64');
  const part =
    wire === 'chat'
      ? { type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } }
      : { type: 'image', source: { type: 'base64', media_type: 'image/png', data } };
  return {
    model: '',
    max_tokens: 256,
    messages: [{ role: 'user', content: [{ type: 'text', text: 'What is shown?' }, part] }],
  };
}

const AGENTS: Partial<Record<Wire, string>> = { chat: 'opencode.jsonl', messages: 'claude-code.jsonl' };

/** A recorded request whose turns (a call and its result) are repeated, each with ids of its own. */
function agent(wire: Wire): Body {
  const file = AGENTS[wire];
  if (file === undefined) throw new Error(`no agent's request in ${wire} was recorded`);
  const lines = readFileSync(join(CORPORA, file), 'utf8').trim().split('\n');
  const recorded = lines.map((line) => (JSON.parse(line) as { body: Conversation }).body);
  const body = recorded.reduce((best, next) => (next.messages.length > best.messages.length ? next : best));
  const isCall = ({ role }: Message): boolean => role === 'assistant';
  const start = body.messages.findIndex(isCall);
  const opening = body.messages.slice(0, start);
  const turns = JSON.stringify(body.messages.slice(start).map(readable));
  const messages = [...opening];
  let bytes = Buffer.byteLength(JSON.stringify({ ...body, messages }));
  for (let turn = 0; bytes < AGENT_BYTES; turn += 1) {
    const renamed = turns.replaceAll(/"(call|toolu)_fake_\w+"/g, (id) => `${id.slice(0, -1)}_${turn}"`);
    messages.push(...(JSON.parse(renamed) as Message[]));
    bytes += renamed.length - 1;
  }
  return { ...body, messages };
}

/** The corpora's texts are made unreadable, and with them the arguments of calls, which are JSON in real traffic. */
function readable(message: Message): Message {
  const { tool_calls: calls } = message;
  if (!Array.isArray(calls)) return message;
  const mended = (calls as { function: { arguments: string } }[]).map((call) => ({
    ...call,
    function: { ...call.function, arguments: JSON.stringify({ text: call.function.arguments }) },
  }));
  return { ...message, tool_calls: mended };
}
