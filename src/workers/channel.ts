// Calls and event streams between the supervisor and a worker, over the channel that Node gives to a child process: both sides
// call and answer. Here are the shapes of their values, too.
import { ControlError } from '../control/calls.ts';
import type { SharedTopic } from '../app/parts.ts';
import type { Config } from '../config/config.ts';
import type { Served } from '../app/parts.ts';
import { messageOf } from '../errors.ts';

/** The answer to a worker's first call. */
export interface Hello {
  number: number;
  count: number;
  leads: boolean;
  /** The worker writes JSON lines to stderr, which the supervisor adds to the log; false: there is no log. */
  log: boolean;
  /** Address and database of the gateway: all workers use these, even if the file has changed. */
  place: Pick<Config, 'database' | 'listen'>;
  shared: readonly Shared[];
}

/** Sent when a worker serves. */
export type Ready = Served;

/** Sent when a worker cannot serve: the lines of its error. */
export interface Failed {
  lines: string[];
  exitCode: number;
}

export interface Shared {
  topic: SharedTopic;
  key: string;
  value: unknown;
}

/** Sent when a worker has ended its requests. */
export interface Stopped {
  /** Usage rows that could not be written. */
  unwritten: number;
  /** Its last page of metrics; empty if metrics are off. */
  metrics: string;
}

/** Sends and receives messages: for the supervisor a child process, for a worker its own process. */
export interface Wire {
  send(message: object): void;
  onMessage(listener: (message: unknown) => void): void;
}

export type Calls = Readonly<Record<string, (body: unknown) => unknown>>;
/** Each stream calls `send` until the returned function is called. */
export type Streams = Readonly<Record<string, (send: (event: unknown) => void) => () => void>>;

export interface Channel {
  /** Rejects with ControlError if the other side refuses, with ChannelEnd if it has ended. */
  call(name: string, body?: unknown): Promise<unknown>;
  /** The returned function ends the stream. */
  stream(name: string, onEvent: (event: unknown) => void): () => void;
  /** To be called when the other side has ended: waiting calls fail. */
  close(): void;
}

class ChannelEnd extends Error {
  override readonly name = 'ChannelEnd';
  constructor() {
    super('the other process is gone');
  }
}

type Message =
  | { kind: 'call'; id: number; name: string; body: unknown }
  | { kind: 'result'; id: number; value: unknown }
  | { kind: 'fault'; id: number; status: number; message: string }
  | { kind: 'open'; id: number; name: string }
  | { kind: 'event'; id: number; value: unknown }
  | { kind: 'close'; id: number };

interface Waiting {
  resolve: (value: unknown) => void;
  reject: (error: Error) => void;
}

async function answerOf(call: Message & { kind: 'call' }, calls: Calls): Promise<Message> {
  const { id, name, body } = call;
  try {
    const handle = calls[name];
    if (handle === undefined) throw new ControlError(404, `there is no ${name}`);
    return { kind: 'result', id, value: await handle(body) };
  } catch (error) {
    const status = error instanceof ControlError ? error.status : 500;
    return { kind: 'fault', id, status, message: messageOf(error) };
  }
}

export function createChannel(wire: Wire, calls: Calls, streams: Streams = {}): Channel {
  const waiting = new Map<number, Waiting>();
  const listeners = new Map<number, (event: unknown) => void>();
  const opened = new Map<number, () => void>();
  let lastId = 0;
  let ended = false;

  const send = (message: Message): void => {
    if (!ended) wire.send(message);
  };

  function settle(id: number): Waiting | undefined {
    const found = waiting.get(id);
    waiting.delete(id);
    return found;
  }

  function receive(message: Message): void {
    switch (message.kind) {
      case 'call':
        void answerOf(message, calls).then(send);
        break;
      case 'result':
        settle(message.id)?.resolve(message.value);
        break;
      case 'fault':
        settle(message.id)?.reject(new ControlError(message.status, message.message));
        break;
      case 'open': {
        const { id, name } = message;
        opened.set(id, streams[name]?.((value) => send({ kind: 'event', id, value })) ?? (() => undefined));
        break;
      }
      case 'event':
        listeners.get(message.id)?.(message.value);
        break;
      case 'close':
        opened.get(message.id)?.();
        opened.delete(message.id);
        break;
      default:
      // Another kind of message: Node sends some, and another version may send others.
    }
  }

  wire.onMessage((message) => {
    if (typeof message === 'object' && message !== null && 'kind' in message) receive(message as Message);
  });

  return {
    call(name, body) {
      if (ended) return Promise.reject(new ChannelEnd());
      const id = ++lastId;
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject });
        send({ kind: 'call', id, name, body });
      });
    },
    stream(name, onEvent) {
      const id = ++lastId;
      listeners.set(id, onEvent);
      send({ kind: 'open', id, name });
      return () => {
        if (listeners.delete(id)) send({ kind: 'close', id });
      };
    },
    close() {
      ended = true;
      for (const { reject } of waiting.values()) reject(new ChannelEnd());
      waiting.clear();
      for (const stop of opened.values()) stop();
      opened.clear();
    },
  };
}
