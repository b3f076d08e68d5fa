// A client of the responses protocol over a WebSocket: it sends messages, and reads the events of each answer up to its end.
import { once } from 'node:events';
import { onTestFinished } from 'vitest';
import { WebSocket, type ClientOptions } from 'ws';

export type Event = Record<string, unknown> & { type: string };

export interface SocketClient {
  ws: WebSocket;
  /** All that came so far. */
  events: Event[];
  /** Sends a `response.create`, and gives the events of its answer. */
  create(body: object): Promise<Event[]>;
  /** The events of the answer that ends next. */
  answer(): Promise<Event[]>;
  /** Fulfilled when an event of this type came. */
  until(type: string): Promise<Event>;
  /** The code and the reason of the close. */
  closed: Promise<[code: number, reason: string]>;
}

const LAST: ReadonlySet<string> = new Set([
  'error',
  'response.completed',
  'response.incomplete',
  'response.failed',
]);

/** Ends by itself when the test is over. */
export async function socketClient(
  { url, key }: { url: string; key: string },
  options: ClientOptions = {},
): Promise<SocketClient> {
  const ws = new WebSocket(`${url.replace('http', 'ws')}/v1/responses`, {
    ...options,
    headers: { authorization: `Bearer ${key}`, ...options.headers },
  });
  onTestFinished(() => ws.terminate());
  const events: Event[] = [];
  let read = 0;
  let looks: (() => boolean)[] = [];
  const closed = new Promise<[number, string]>((resolve) => {
    ws.on('close', (code, reason) => resolve([code, reason.toString()]));
  });
  ws.on('message', (data: Buffer) => {
    events.push(JSON.parse(data.toString()) as Event);
    looks = looks.filter((look) => !look());
  });
  ws.on('error', () => undefined);

  function when<Value>(find: () => Value | undefined): Promise<Value> {
    return new Promise((resolve, reject) => {
      const look = (): boolean => {
        const found = find();
        if (found !== undefined) resolve(found);
        return found !== undefined;
      };
      if (look()) return;
      looks.push(look);
      void closed.then(([code]) =>
        reject(new Error(`closed with ${code}: ${JSON.stringify(events.at(-1))}`)),
      );
    });
  }
  function answer(): Promise<Event[]> {
    return when(() => {
      const end = events.findIndex(({ type }, at) => at >= read && LAST.has(type));
      if (end < 0) return undefined;
      const own = events.slice(read, end + 1);
      read = end + 1;
      return own;
    });
  }

  await once(ws, 'open');
  return {
    ws,
    events,
    closed,
    answer,
    create(body) {
      ws.send(JSON.stringify({ type: 'response.create', ...body }));
      return answer();
    },
    until: (type) => when(() => events.find((event) => event.type === type)),
  };
}

/** The text of a finished answer. */
export function textOf(events: readonly Event[]): string {
  const { response } = events.at(-1) as unknown as {
    response: { output: { content?: { text?: string }[] }[] };
  };
  return response.output.flatMap(({ content = [] }) => content.map(({ text = '' }) => text)).join('');
}

export function idOf(events: readonly Event[]): string {
  return (events.at(-1)?.['response'] as { id: string }).id;
}
