// The answer of a server of chat completions, whole or as a stream whose text comes in small pieces.
import type { ServerResponse } from 'node:http';

export interface Message {
  content: string | null;
  tool_calls?: { id: string; type: 'function'; function: { name: string; arguments: string } }[];
  /** Default: `tool_calls` beside calls, else `stop`. */
  finish?: string;
}

export function writeChatAnswer(
  response: ServerResponse,
  stream: boolean,
  { content, tool_calls: calls, finish }: Message,
): void {
  const reason = finish ?? (calls === undefined ? 'stop' : 'tool_calls');
  const head = { id: 'chatcmpl-1', created: 1, model: 'm' };
  if (!stream) {
    const message = { role: 'assistant', content, ...(calls && { tool_calls: calls }) };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({
        ...head,
        object: 'chat.completion',
        choices: [{ index: 0, message, finish_reason: reason }],
        usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
      }),
    );
    return;
  }
  const pieces = (content ?? '').match(/[^]{1,7}/g) ?? [];
  const deltas = [
    { role: 'assistant', content: '' },
    ...pieces.map((piece) => ({ content: piece })),
    ...(calls ?? []).map((call, index) => ({ tool_calls: [{ index, ...call }] })),
  ];
  const choices = [
    ...deltas.map((delta) => ({ index: 0, delta, finish_reason: null })),
    { index: 0, delta: {}, finish_reason: reason },
  ];
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const choice of choices)
    response.write(
      `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [choice] })}\n\n`,
    );
  response.end('data: [DONE]\n\n');
}
