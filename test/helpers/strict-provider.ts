// A provider that refuses what a rule refuses, in its words, and answers everything else: over a real socket, in all three protocols.
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JsonObject } from '../../src/canonical/json.ts';

export interface StrictRequest {
  /** Below the version: `/chat/completions`. */
  path: string;
  headers: IncomingHttpHeaders;
  body: JsonObject;
}

/** A status and a body; undefined: the request is taken. */
export type Refuse = (
  request: StrictRequest,
) => { status: number; body: string; headers?: Record<string, string> } | undefined;

export interface StrictProvider {
  /** With a version. */
  url: string;
  /** Since the last `reset`. */
  requests: StrictRequest[];
  reset(refuse: Refuse): void;
  close(): Promise<void>;
}

export async function startStrictProvider(): Promise<StrictProvider> {
  const requests: StrictRequest[] = [];
  let refuse: Refuse = () => undefined;
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const path = (incoming.url ?? '').replace(/^\/v1/, '').replace(/\?.*$/, '');
      const body = JSON.parse(Buffer.concat(chunks).toString('utf8') || '{}') as JsonObject;
      const request = { path, headers: incoming.headers, body };
      if (incoming.method === 'POST') requests.push(request);
      const refused = refuse(request);
      response.writeHead(refused?.status ?? 200, { 'content-type': 'application/json', ...refused?.headers });
      response.end(refused?.body ?? JSON.stringify(ANSWERS[path] ?? { data: [] }));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    reset(next) {
      requests.length = 0;
      refuse = next;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const ANSWERS: Readonly<Record<string, object>> = {
  '/chat/completions': {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  },
  '/messages': {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [{ type: 'text', text: 'Yes.' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  },
  '/responses': {
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    model: 'm',
    status: 'completed',
    output: [
      {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'Yes.', annotations: [] }],
      },
    ],
    usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
  },
};
