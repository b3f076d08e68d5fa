// Reads an answer as a client would, in its protocol, to see that every word came.
import type { Wire } from './replies.ts';

/** Throws where the body is not a complete answer of the protocol. */
export function answerText(wire: Wire, streamed: boolean, body: string): string {
  if (!streamed) return WHOLE[wire](body);
  return STREAMED[wire](body.split('\n\n').filter((frame) => frame !== ''));
}

/** What a stream's last frame holds. */
export const TERMINAL: Record<Wire, string> = {
  chat: 'data: [DONE]',
  messages: 'event: message_stop',
  responses: 'event: response.completed',
};

function wholeChat(body: string): string {
  const { choices } = JSON.parse(body) as { choices: { message: { content: string } }[] };
  return choices[0]?.message.content ?? '';
}

function wholeMessage(body: string): string {
  const { content } = JSON.parse(body) as { content: { type: string; text?: string }[] };
  return content.map(({ text = '' }) => text).join('');
}

function streamedChat(frames: string[]): string {
  if (frames.at(-1) !== TERMINAL.chat) throw new Error('the stream has no [DONE]');
  return frames
    .slice(0, -1)
    .map(dataOf)
    .map((value) => (value as { choices?: { delta?: { content?: string | null } }[] }).choices)
    .map((choices) => choices?.[0]?.delta?.content ?? '')
    .join('');
}

function streamedMessage(frames: string[]): string {
  if (frames.at(-1)?.startsWith(TERMINAL.messages) !== true)
    throw new Error('the stream has no message_stop');
  return frames
    .map(dataOf)
    .map((value) => (value as { delta?: { text?: string } }).delta?.text ?? '')
    .join('');
}

function wholeResponse(body: string): string {
  const { output } = JSON.parse(body) as { output: { content?: { text?: string }[] }[] };
  return output.flatMap(({ content = [] }) => content.map(({ text = '' }) => text)).join('');
}

function streamedResponse(frames: string[]): string {
  const last = frames.findLast((frame) => frame !== TERMINAL.chat);
  if (last?.startsWith(TERMINAL.responses) !== true) {
    throw new Error('the stream has no response.completed');
  }
  return frames
    .filter((frame) => frame !== TERMINAL.chat)
    .map(dataOf)
    .map((value) => value as { type?: string; delta?: string })
    .map(({ type, delta = '' }) => (type === 'response.output_text.delta' ? delta : ''))
    .join('');
}

const WHOLE: Record<Wire, (body: string) => string> = {
  chat: wholeChat,
  messages: wholeMessage,
  responses: wholeResponse,
};
const STREAMED: Record<Wire, (frames: string[]) => string> = {
  chat: streamedChat,
  messages: streamedMessage,
  responses: streamedResponse,
};

function dataOf(frame: string): unknown {
  const line = frame.split('\n').find((text) => text.startsWith('data:'));
  return line === undefined ? {} : JSON.parse(line.slice('data:'.length));
}
