// Requests of the smallest client that reads all protocols: what it sees of an answer, whole or streamed, good or bad.
import type { ProtocolName } from '../../src/canonical/request.ts';

export interface Question {
  protocol?: ProtocolName;
  model?: string;
  stream?: boolean;
  /** Further members of the body. */
  body?: object;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

export interface Seen {
  status: number;
  headers: Headers;
  text: string;
  /** Of a whole answer or an error status: its body; of a stream: undefined. */
  json: Record<string, unknown> | undefined;
  /** The frames of a stream that have data. */
  frames: SeenFrame[];
  /** Text of the answer. */
  content: string;
  /** Of the body, or of the error event. */
  error: SeenError | undefined;
  /** The connection broke before the body's end. */
  broken: boolean;
}

export interface SeenFrame {
  event: string;
  data: string;
}

export interface SeenError {
  type: string;
  code?: string | null;
  message: string;
  param?: string | null;
}

export const PATHS: Record<ProtocolName, string> = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
};

export function send(to: { url: string; key: string }, question: Question): Promise<Response> {
  const { protocol = 'chat', model = 'sim/echo', stream = false, body, headers, signal } = question;
  return fetch(to.url + PATHS[protocol], {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${to.key}`, ...headers },
    body: JSON.stringify({
      model,
      [protocol === 'responses' ? 'input' : 'messages']: [{ role: 'user', content: 'hello' }],
      ...(protocol === 'messages' && { max_tokens: 100 }),
      ...(stream && { stream }),
      ...body,
    }),
    signal,
  });
}

/** Sends a body as it is written. */
export function post(
  to: { url: string; key: string },
  path: string,
  body: string,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(to.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers, authorization: `Bearer ${to.key}` },
    body,
  });
}

export async function ask(to: { url: string; key: string }, question: Question): Promise<Seen> {
  const response = await send(to, question);
  const { text, broken } = await readAll(response);
  return {
    ...seen(response.headers.get('content-type') ?? '', text),
    text,
    broken,
    ...head(response),
  };
}

function head({ status, headers }: Response): { status: number; headers: Headers } {
  return { status, headers };
}

/** Of a body that may end before its end. */
export async function readAll(response: Response): Promise<{ text: string; broken: boolean }> {
  const decoder = new TextDecoder();
  let text = '';
  try {
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk as Uint8Array, { stream: true });
    }
    return { text, broken: false };
  } catch {
    return { text, broken: true };
  }
}

function seen(type: string, text: string): Pick<Seen, 'json' | 'frames' | 'content' | 'error'> {
  if (!type.includes('event-stream')) {
    const json = parsed(text);
    return { json, frames: [], content: contentOf(json), error: errorIn(json) };
  }
  const frames = framesOf(text);
  const values = frames.map(({ data }) => parsed(data));
  const error = values.map(errorIn).find((found) => found !== undefined);
  return { json: undefined, frames, content: values.map(contentOf).join(''), error };
}

export function framesOf(text: string): SeenFrame[] {
  return text
    .split('\n\n')
    .map((block) => {
      const member = (name: string): string =>
        block
          .split('\n')
          .filter((line) => line.startsWith(`${name}:`))
          .map((line) => line.slice(name.length + 1).replace(/^ /, ''))
          .join('\n');
      return { event: member('event'), data: member('data') };
    })
    .filter(({ data }) => data !== '');
}

/** The frame after which a reader takes the answer for whole. */
export function isWhole({ frames }: Pick<Seen, 'frames'>): boolean {
  const last = frames.findLast(({ data }, index) => data !== '[DONE]' || index === 0);
  if (last?.event.startsWith('response.')) return /\.(completed|incomplete)$/.test(last.event);
  return frames.at(-1)?.data === '[DONE]' || last?.event === 'message_stop';
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

function errorIn(value: Record<string, unknown> | undefined): SeenError | undefined {
  return value?.error as SeenError | undefined;
}

interface AnyAnswer {
  choices?: { message?: { content?: string }; delta?: { content?: string } }[];
  content?: { text?: string }[];
  output?: { content?: { text?: string }[] }[];
  delta?: string | { text?: string };
}

function contentOf(value: object | undefined): string {
  const { choices, content, output, delta } = (value ?? {}) as AnyAnswer;
  const choice = choices?.[0];
  if (choice !== undefined) return choice.message?.content ?? choice.delta?.content ?? '';
  if (Array.isArray(content)) return content.map(({ text }) => text ?? '').join('');
  if (Array.isArray(output)) return output.map(contentOf).join('');
  return (typeof delta === 'string' ? delta : delta?.text) ?? '';
}
