// What providers write, as bytes: good answers of both protocols in pieces, and HTTP around them by hand.
import type { ProtocolName } from '../../src/canonical/request.ts';

const chunk = (choice: object): string =>
  `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, finish_reason: null, ...choice }] })}\n\n`;

const event = (type: string, members: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;

const MESSAGE = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_sequence: null };

const RESPONSE = {
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  model: 'm',
  status: 'in_progress',
  output: [],
};
const PLACE = { item_id: 'msg_1', output_index: 0, content_index: 0 };
const ITEM = { type: 'message', id: 'msg_1', role: 'assistant' };
const RESPONSE_USAGE = { input_tokens: 5, output_tokens: 2, total_tokens: 7 };

/** What a stream begins with before there is content. */
export const START: Record<ProtocolName, string> = {
  chat: chunk({ delta: { role: 'assistant', content: '' } }),
  messages:
    event('message_start', {
      message: { ...MESSAGE, content: [], stop_reason: null, usage: { input_tokens: 5, output_tokens: 1 } },
    }) + event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
  responses:
    event('response.created', { response: RESPONSE }) + event('response.in_progress', { response: RESPONSE }),
};

export const PING: Record<ProtocolName, string> = {
  chat: ': processing\n\n',
  messages: event('ping'),
  responses: event('response.in_progress', { response: RESPONSE }),
};

export function content(protocol: ProtocolName, text: string): string {
  if (protocol === 'responses') return event('response.output_text.delta', { ...PLACE, delta: text });
  return protocol === 'chat'
    ? chunk({ delta: { content: text } })
    : event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } });
}

/** The finish, without the terminal frame. */
export const FINISH: Record<ProtocolName, string> = {
  chat: chunk({ delta: {}, finish_reason: 'stop' }),
  messages:
    event('content_block_stop', { index: 0 }) +
    event('message_delta', {
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: 2 },
    }),
  responses: event('response.output_item.done', {
    output_index: 0,
    item: { ...ITEM, status: 'completed', content: [{ type: 'output_text', text: '', annotations: [] }] },
  }),
};

export const TERMINAL: Record<ProtocolName, string> = {
  chat: 'data: [DONE]\n\n',
  messages: event('message_stop'),
  responses: event('response.completed', {
    response: { ...RESPONSE, status: 'completed', usage: RESPONSE_USAGE },
  }),
};

export function streamOf(protocol: ProtocolName, text: string): string {
  return START[protocol] + content(protocol, text) + FINISH[protocol] + TERMINAL[protocol];
}

export function wholeOf(protocol: ProtocolName, text: string): object {
  if (protocol === 'responses') {
    const content = [{ type: 'output_text', text, annotations: [] }];
    const output = [{ ...ITEM, status: 'completed', content }];
    return { ...RESPONSE, status: 'completed', output, usage: RESPONSE_USAGE };
  }
  return protocol === 'chat'
    ? {
        id: 'chatcmpl-1',
        object: 'chat.completion',
        created: 1,
        model: 'm',
        choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 },
      }
    : {
        ...MESSAGE,
        content: [{ type: 'text', text }],
        stop_reason: 'end_turn',
        usage: { input_tokens: 5, output_tokens: 2 },
      };
}

/** An error as each protocol writes it, as a body. */
export function errorBody(protocol: ProtocolName, type: string, message = 'the provider says so'): object {
  return protocol === 'messages'
    ? { type: 'error', error: { type, message } }
    : { error: { message, type, param: null, code: null } };
}

/** The same inside a stream. */
export function errorEvent(protocol: ProtocolName, type: string): string {
  const data = JSON.stringify(errorBody(protocol, type));
  return protocol === 'chat' ? `data: ${data}\n\n` : `event: error\ndata: ${data}\n\n`;
}

export function http(status: number, body: string, headers: Record<string, string> = {}): string {
  return head(status, { 'content-length': String(Buffer.byteLength(body)), ...headers }) + body;
}

export function json(status: number, value: unknown, headers: Record<string, string> = {}): string {
  return http(status, JSON.stringify(value), { 'content-type': 'application/json', ...headers });
}

/** A stream whose HTTP body has not ended yet. */
export function opened(text: string): string {
  const bytes = text === '' ? '' : `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
  return head(200, { 'content-type': 'text/event-stream', 'transfer-encoding': 'chunked' }) + bytes;
}

/** A stream whose HTTP body ends properly. */
export function closed(text: string): string {
  return `${opened(text)}0\r\n\r\n`;
}

function head(status: number, headers: Record<string, string>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} Word\r\n${lines.join('')}\r\n`;
}
