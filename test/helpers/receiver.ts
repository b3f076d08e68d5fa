// A receiver of alerts that answers as it is told, and keeps what it got.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface Received {
  authorization: string | undefined;
  contentType: string | undefined;
  body: unknown;
}

/** `answers`: statuses, the last one again and again; `silent` answers nothing. */
export async function receiver(answers: readonly (number | 'silent')[] = [204]) {
  const received: Received[] = [];
  const waiting: (() => void)[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      const answer = answers[Math.min(received.length, answers.length - 1)];
      const { authorization, 'content-type': contentType } = request.headers;
      received.push({ authorization, contentType, body: JSON.parse(text) as unknown });
      for (const resolve of waiting.splice(0)) resolve();
      if (typeof answer === 'number') response.writeHead(answer, { location: '/elsewhere' }).end('thanks');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook/T0P-SECRET`,
    received,
    /** Resolves when it has got so many. */
    got: async (count: number): Promise<void> => {
      while (received.length < count) await new Promise<void>((resolve) => waiting.push(resolve));
    },
  };
}
