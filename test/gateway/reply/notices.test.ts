// Keep-alives and errors of a protocol whose own frames depend on those before them: the machine of the stream writes them.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readAll } from '../../helpers/ask.ts';
import { expect, it, onTestFinished } from 'vitest';
import { GatewayError } from '../../../src/errors.ts';
import type { BuiltRequest } from '../../../src/gateway/outbound/build-request.ts';
import { noticesOf } from '../../../src/gateway/reply/silence.ts';
import type { FrameWriter } from '../../../src/gateway/reply/pump.ts';
import { createRelay } from '../../../src/gateway/reply/relay.ts';
import { createTranslation } from '../../../src/gateway/reply/translate.ts';
import type { ClientSide } from '../../../src/protocols/interface/protocol.ts';
import type { StreamNotices } from '../../../src/protocols/interface/stream.ts';
import { protocols } from '../../../src/protocols/registry.ts';
import { ClientResponse } from '../../../src/server/respond.ts';
import { manualClock } from '../../helpers/clock.ts';
import { context, NOTHING } from '../../translation/pipeline.ts';

const ERROR = new GatewayError('upstream', 'no');
const OWN: StreamNotices = {
  keepAlive: () => 'event: still\n\n',
  fail: ({ message }, requestId) => `event: failed ${message} ${requestId}\n\n`,
};

function writers(notices: StreamNotices): FrameWriter[] {
  const { client, provider, relay } = protocols.chat;
  const classifier = Object.assign(relay.createClassifier({ usageAsked: true }), notices);
  const side: ClientSide = {
    ...client,
    createStreamEncoder: (given) => Object.assign(client.createStreamEncoder(given), notices),
  };
  const decoder = provider.createStreamDecoder({ ids: { random: () => 'x' }, traits: {} as never });
  const request = { restore: NOTHING, target: { traits: {} } } as BuiltRequest;
  const opening = { kind: 'translated' as const, decoder, events: [], rest: [] };
  return [
    createRelay({ kind: 'relayed', classifier, held: [], finished: false, rest: [] }, client),
    createTranslation(opening, request, side, context('chat')),
  ];
}

it('relayed and translated, a stream writes its own notices if it has some', () => {
  for (const writer of writers(OWN)) {
    expect(writer.keepAlive()).toBe('event: still\n\n');
    expect(writer.fail(ERROR, 'r', 0)).toBe('event: failed no r\n\n');
  }
});

it('without notices of its own it writes those of its protocol', () => {
  const { client } = protocols.chat;
  for (const writer of writers({})) {
    expect(writer.keepAlive()).toBe(client.keepAlive);
    expect(writer.fail(ERROR, 'r', 0)).toBe(client.encodeStreamError(ERROR, 'r', 0));
  }
});

it('an open stream has the notices of the answer as soon as there is one', async () => {
  const clock = manualClock();
  const server = createServer((_, response) => {
    const sink = new ClientResponse(response, { requestId: 'r', clock, closing: () => false });
    sink.open([], noticesOf(protocols.messages.client));
    clock.advance(10_000);
    sink.open([], { keepAlive: () => 'event: still\n\n', fail: () => 'event: failed\n\n' });
    clock.advance(10_000);
    sink.fail(ERROR, protocols.messages);
  });
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}/`);
  expect(await readAll(response)).toEqual({
    text: `${protocols.messages.client.keepAlive}event: still\n\nevent: failed\n\n`,
    broken: true,
  });
});
