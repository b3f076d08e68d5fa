// The operation with which the owner sends a whole request to a model as a key, and gets what the model says and calls: for a page that
// compares two of them. Through the same line as every request; nothing of it is kept but its row of usage.
import { z } from 'zod';
import { createCollector } from '../../../canonical/collect.ts';
import type { JsonObject } from '../../../canonical/json.ts';
import { contentOf, type Reply } from '../../../canonical/reply.ts';
import { PROTOCOL_NAMES, type ProtocolName, type Tool } from '../../../canonical/request.ts';
import { DEFAULT_TRAITS } from '../../../canonical/traits.ts';
import { FailureError, messageOf } from '../../../errors.ts';
import type { HeaderList, Sink } from '../../../gateway/exchange.ts';
import { withoutKeys, type Ids } from '../../../ids.ts';
import { protocolOfBody, protocols } from '../../../protocols/registry.ts';
import { createSplitter } from '../../../protocols/sse/splitter.ts';
import { operation, type Operation } from '../../operation.ts';
import { anyName, Request } from '../../schemas.ts';
import { KeyExchange } from './key-exchange.ts';
import { endedJson, findKey } from './try.ts';

const Ask = z.strictObject({
  model: z.string().min(1).max(256),
  request: z
    .record(z.string(), z.unknown())
    .meta({ description: 'The body as a client sends it, of any protocol; its model is replaced' }),
  protocol: z.enum(PROTOCOL_NAMES).optional().meta({ description: 'Default: the one that the body is of' }),
});

export const Asked = z.object({
  error: z.string().nullable().meta({ description: 'Why there is no answer; null: there is one' }),
  text: z.string(),
  calls: z.array(z.object({ name: z.string(), arguments: z.string() })),
  schemas: z
    .record(z.string(), z.unknown())
    .meta({ description: 'Of the arguments of the tools that are called' }),
  stop: z.string().nullable(),
  request: Request.nullable().meta({ description: 'As readRequest has it; null: it was not admitted' }),
});

/** Bytes of a recorded request with its whole history. */
const LARGEST = 8 * 1024 * 1024;

export const askOperations: readonly Operation[] = [
  operation({
    id: 'askKey',
    method: 'POST',
    path: '/keys/{id}/ask',
    tag: 'keys',
    summary:
      'Send a whole request to a model as a key, and get the text and the calls of its answer: admitted, counted and recorded as any request ' +
      'of it; neither request nor answer is kept',
    params: z.object({ id: anyName }),
    body: Ask,
    largest: LARGEST,
    unrecorded: ['request'],
    reply: Asked,
    problems: [404, 409],
    async run({ params, body: { model, request, protocol } }, parts, { exchange }) {
      const key = await findKey(params.id, parts);
      const value = { ...(request as JsonObject), model };
      const name = protocol ?? protocolOfBody(value).name;
      const sink = new WholeAnswer();
      const asked = new KeyExchange(exchange, { key, sink, path: protocols[name].client.path, body: value });
      let ended: z.input<typeof Request> | null = null;
      await parts.askAsKey(name, asked, (trace) => (ended = endedJson(trace)));
      const nothing = { text: '', calls: [], schemas: {}, stop: null, request: ended };
      if (asked.failure !== undefined) return { ...nothing, error: withoutKeys(asked.failure.message) };
      try {
        return { ...nothing, ...answerOf(sink.reply(name, parts.ids), toolsIn(value, name)), error: null };
      } catch (error) {
        return { ...nothing, error: withoutKeys(messageOf(error)) };
      }
    },
  }),
];

function answerOf({ parts, stop }: Reply, tools: readonly Tool[]) {
  const { text, calls } = contentOf(parts);
  const schemas = tools.flatMap((tool): [string, unknown][] => {
    const isCalled = tool.type === 'function' && calls.some(({ name }) => name === tool.name);
    return isCalled ? [[tool.name, tool.parameters]] : [];
  });
  return { text, calls, schemas: Object.fromEntries(schemas), stop: stop.reason };
}

/** A request of which no other protocol can take something has no tools that are known here. */
function toolsIn(value: JsonObject, name: ProtocolName): readonly Tool[] {
  try {
    return protocols[name].client.decodeRequest(value).tools ?? [];
  } catch {
    return [];
  }
}

/** Bytes of one event, and of an answer. */
const MOST_BYTES = 64 * 1024 * 1024;

/** Keeps what a client would get. */
class WholeAnswer implements Sink {
  opened = false;
  #isStream = false;
  #bytes = 0;
  readonly #pieces: Buffer[] = [];

  send(_status: number, _headers: HeaderList, body: Buffer | string): void {
    this.opened = true;
    this.write(body);
  }

  open(): void {
    this.opened = true;
    this.#isStream = true;
  }

  write(bytes: Buffer | string): boolean {
    const piece = Buffer.from(bytes);
    this.#bytes += piece.length;
    if (this.#bytes <= MOST_BYTES) this.#pieces.push(piece);
    return true;
  }

  onDrain(): void {
    // It takes all at once.
  }

  end(last: Buffer | string = ''): void {
    this.write(last);
  }

  breakOff(last: Buffer | string): void {
    this.end(last);
  }

  /** Throws FailureError if the answer is not whole. */
  reply(name: ProtocolName, ids: Ids): Reply {
    const { provider } = protocols[name];
    const body = Buffer.concat(this.#pieces);
    if (!this.#isStream) return provider.decodeReply(JSON.parse(body.toString()), body);
    const decoder = provider.createStreamDecoder({ ids, traits: DEFAULT_TRAITS });
    const splitter = createSplitter({ maxFrame: MOST_BYTES });
    const collector = createCollector();
    for (const frame of [...splitter.push(body), ...splitter.finish()])
      for (const event of decoder.push(frame)) collector.push(event);
    for (const event of decoder.finish(true)) collector.push(event);
    const result = collector.result();
    if ('failure' in result) throw new FailureError(result.failure);
    return result.reply;
  }
}
