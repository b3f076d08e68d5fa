// What the stub provider answers: bytes made once, in each protocol, chosen by the model's name.
import { MARK } from './marks.ts';

export const WIRES = ['chat', 'messages', 'responses'] as const;
export type Wire = (typeof WIRES)[number];
/** Also the names of the stub's models. */
export const KINDS = ['whole', 'paced', 'burst', 'slow', 'tokens'] as const;
export type Kind = (typeof KINDS)[number];

/** How a stream's frames leave: `frames` a write, `everyMs` apart. */
export interface Pace {
  /** Text frames of one stream. */
  chunks: number;
  frames: number;
  everyMs: number;
}

export const PACES: Record<Exclude<Kind, 'whole'>, Pace> = {
  paced: { chunks: 100, frames: 1, everyMs: 4 },
  // What arrives together when a fast model's tokens share a TCP segment.
  burst: { chunks: 400, frames: 8, everyMs: 4 },
  slow: { chunks: 10, frames: 1, everyMs: 500 },
  // The pace at which public benchmarks of gateways measure the delay of a token. Its frames hold the stub's clock.
  tokens: { chunks: 8, frames: 1, everyMs: 20 },
};

/** The last word of every answer; what a load client looks for. */
export const LAST_WORD = 'fin-of-the-answer';

const WORDS = ' the quick brown fox jumps over one lazy dog while every token is carried'.split(/(?= )/);
const CREATED = 1_763_000_000;
const USAGE = { input: 42, output: 128 };

/** The pieces of an answer: one text frame each. The first of `tokens` has marks for when the request came and when it was written. */
export function pieces(kind: Kind): string[] {
  const count = kind === 'whole' ? 60 : PACES[kind].chunks;
  const words = Array.from({ length: count - 1 }, (_, index) => WORDS[index % WORDS.length] ?? '');
  const all = [...words, ` ${LAST_WORD}`];
  return kind === 'tokens' ? all.map((word, index) => word + (index === 0 ? MARK + MARK : MARK)) : all;
}

export function textOf(kind: Kind): string {
  return pieces(kind).join('');
}

export function wholeReply(wire: Wire): Buffer {
  const text = textOf('whole');
  const body = JSON.stringify(WHOLE[wire](text));
  return Buffer.from(
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

export const STREAM_HEAD = Buffer.from(
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n',
);
export const STREAM_END = Buffer.from('0\r\n\r\n');

/** The writes of a stream, in order, framed as HTTP chunks; the first bears the head. */
export function streamWrites(wire: Wire, kind: Exclude<Kind, 'whole'>, withUsage: boolean): Buffer[] {
  const { before, text, after } = FRAMES[wire](kind, withUsage);
  const size = PACES[kind].frames;
  const writes: string[][] = [];
  for (let at = 0; at < text.length; at += size) writes.push(text.slice(at, at + size));
  const first = writes[0];
  const last = writes.at(-1);
  first?.unshift(...before);
  last?.push(...after);
  const framed = writes.map((frames) => chunk(frames.join('')));
  return framed.map((bytes, index) => {
    const parts = [bytes];
    if (index === 0) parts.unshift(STREAM_HEAD);
    if (index === framed.length - 1) parts.push(STREAM_END);
    return Buffer.concat(parts);
  });
}

interface Frames {
  before: string[];
  text: string[];
  after: string[];
}

function chatFrames(kind: Kind, withUsage: boolean): Frames {
  const frame = (choices: unknown[], more: object = {}): string =>
    `data: ${JSON.stringify({
      id: 'chatcmpl-bench',
      object: 'chat.completion.chunk',
      created: CREATED,
      model: kind,
      choices,
      ...more,
    })}\n\n`;
  const choice = (delta: object, finish: string | null = null): unknown[] => [
    { index: 0, delta, finish_reason: finish },
  ];
  const after = [frame(choice({}, 'stop'))];
  if (withUsage) after.push(frame([], { usage: chatUsage() }));
  return {
    before: [frame(choice({ role: 'assistant', content: '' }))],
    text: pieces(kind).map((content) => frame(choice({ content }))),
    after: [...after, 'data: [DONE]\n\n'],
  };
}

function messageFrames(kind: Kind): Frames {
  const frame = (value: { type: string; [key: string]: unknown }): string =>
    `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`;
  const message = { ...wholeMessage(''), model: kind, content: [], stop_reason: null };
  return {
    before: [
      frame({ type: 'message_start', message }),
      frame({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
      frame({ type: 'ping' }),
    ],
    text: pieces(kind).map((text) =>
      frame({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
    ),
    after: [
      frame({ type: 'content_block_stop', index: 0 }),
      frame({
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: { output_tokens: USAGE.output },
      }),
      frame({ type: 'message_stop' }),
    ],
  };
}

function responsesFrames(kind: Kind): Frames {
  let sequence_number = 0;
  const frame = (type: string, members: object): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence_number++, ...members })}\n\n`;
  const begun = { ...wholeResponse(''), model: kind, status: 'in_progress', output: [], usage: null };
  const whole = { ...wholeResponse(textOf(kind)), model: kind };
  const at = { item_id: RESPONSE_ITEM, output_index: 0, content_index: 0 };
  const open = { ...outputItem(''), status: 'in_progress', content: [] };
  return {
    before: [
      frame('response.created', { response: begun }),
      frame('response.in_progress', { response: begun }),
      frame('response.output_item.added', { output_index: 0, item: open }),
      frame('response.content_part.added', { ...at, part: outputText('') }),
    ],
    text: pieces(kind).map((delta) => frame('response.output_text.delta', { ...at, delta, logprobs: [] })),
    after: [
      frame('response.output_text.done', { ...at, text: textOf(kind), logprobs: [] }),
      frame('response.content_part.done', { ...at, part: outputText(textOf(kind)) }),
      frame('response.output_item.done', { output_index: 0, item: outputItem(textOf(kind)) }),
      frame('response.completed', { response: whole }),
    ],
  };
}

const FRAMES: Record<Wire, (kind: Kind, withUsage: boolean) => Frames> = {
  chat: chatFrames,
  messages: messageFrames,
  responses: responsesFrames,
};

function wholeChat(content: string): object {
  return {
    id: 'chatcmpl-bench',
    object: 'chat.completion',
    created: CREATED,
    model: 'whole',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    usage: chatUsage(),
  };
}

function wholeMessage(text: string): object {
  return {
    id: 'msg_bench',
    type: 'message',
    role: 'assistant',
    model: 'whole',
    content: [{ type: 'text', text }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: USAGE.input, output_tokens: USAGE.output },
  };
}

const RESPONSE_ITEM = 'msg_bench';

function outputText(text: string): object {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

function outputItem(text: string): object {
  return {
    id: RESPONSE_ITEM,
    type: 'message',
    status: 'completed',
    role: 'assistant',
    content: [outputText(text)],
  };
}

function wholeResponse(text: string): object {
  return {
    id: 'resp_bench',
    object: 'response',
    created_at: CREATED,
    status: 'completed',
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: 256,
    model: 'whole',
    output: [outputItem(text)],
    parallel_tool_calls: true,
    previous_response_id: null,
    temperature: 0.5,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_p: 1,
    truncation: 'disabled',
    usage: {
      input_tokens: USAGE.input,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: USAGE.output,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: USAGE.input + USAGE.output,
    },
    metadata: {},
  };
}

const WHOLE: Record<Wire, (text: string) => object> = {
  chat: wholeChat,
  messages: wholeMessage,
  responses: wholeResponse,
};

function chatUsage(): object {
  return {
    prompt_tokens: USAGE.input,
    completion_tokens: USAGE.output,
    total_tokens: USAGE.input + USAGE.output,
  };
}

function chunk(text: string): Buffer {
  return Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
}
