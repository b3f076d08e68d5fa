// `otlp`: a request becomes spans at a collector, and its W3C context goes on to the provider; without it nothing does.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { ask } from '../helpers/ask.ts';
import { gateway, provider, PROVIDER_KEY } from '../helpers/gateway.ts';
import { scriptedProvider } from '../helpers/scripted-provider.ts';
import { beginSpans } from '../../src/gateway/outbound/trace-context.ts';
import { streamOf, wholeOf } from './wire.ts';

interface Span {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  traceState?: string;
  attributes: { key: string; value: Record<string, unknown> }[];
  status: { code: number };
}

/** A collector of OTLP as JSON over HTTP. */
async function collector() {
  const bodies: string[] = [];
  const paths: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      bodies.push(Buffer.concat(chunks).toString('utf8'));
      paths.push(`${request.method} ${request.url} ${request.headers['content-type']}`);
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    paths,
    text: () => bodies.join('\n'),
    spans: (): Span[] =>
      bodies.flatMap((body) => {
        const { resourceSpans } = JSON.parse(body) as {
          resourceSpans: { scopeSpans: { spans: Span[] }[] }[];
        };
        return resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));
      }),
  };
}

function attributesOf({ attributes }: Span): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}

async function traced(more: Record<string, unknown> = {}) {
  const [sink, first, second] = await Promise.all([collector(), scriptedProvider(), scriptedProvider()]);
  first.playAlways({ body: wholeOf('chat', 'the reply of the model') });
  second.playAlways({ body: wholeOf('chat', 'the reply of the model') });
  const providers = {
    first: provider(`${first.url}/v1`, 'chat', [{ id: 'm', upstream: 'maker-m' }]),
    second: provider(`${second.url}/v1`, 'chat', ['m']),
  };
  const config = { providers, routes: { both: ['first/m', 'second/m'] }, otlp: sink.url, ...more };
  return { sink, first, second, server: await gateway({ config }) };
}

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';

describe('a request', () => {
  it('is one span, and one for its contact; the provider gets the context of the contact', async () => {
    const { sink, first, server } = await traced();
    const headers = { traceparent: `00-${TRACE_ID}-${PARENT}-01`, tracestate: 'vendor=1,other=2' };
    expect((await ask(server, { model: 'first/m', headers })).status).toBe(200);
    await server.stop();
    const [request, contact, ...rest] = sink.spans().sort((a, b) => a.kind - b.kind);
    expect(sink.paths).toEqual(['POST /v1/traces application/json']);
    expect(rest).toEqual([]);
    expect(request).toMatchObject({
      traceId: TRACE_ID,
      parentSpanId: PARENT,
      name: 'POST /v1/chat/completions',
      kind: 2,
      traceState: headers.tracestate,
    });
    expect(contact).toMatchObject({
      traceId: TRACE_ID,
      parentSpanId: request?.spanId,
      name: 'chat maker-m',
      kind: 3,
    });
    expect(first.requests[0]?.headers).toMatchObject({
      traceparent: `00-${TRACE_ID}-${contact?.spanId}-01`,
      tracestate: headers.tracestate,
    });
    expect(request && attributesOf(request)).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'first/m',
      'gen_ai.response.model': 'maker-m',
      'gen_ai.provider.name': 'first',
      'gen_ai.usage.input_tokens': 5,
      'gen_ai.usage.output_tokens': 2,
      'http.response.status_code': 200,
    });
    expect(contact && attributesOf(contact)).toMatchObject({
      'server.address': '127.0.0.1',
      'server.port': Number(new URL(first.url).port),
    });
    const [from, to] = [BigInt(request?.startTimeUnixNano ?? 0), BigInt(request?.endTimeUnixNano ?? 0)];
    expect(to > from).toBe(true);
    expect(BigInt(contact?.startTimeUnixNano ?? 0) >= from).toBe(true);
    expect(BigInt(contact?.endTimeUnixNano ?? 0) <= to).toBe(true);
    expect(Math.abs(Number(to / 1_000_000n) - Date.now())).toBeLessThan(60_000);
  });

  it('has a span for each target that it contacted, with why the first gave no answer', async () => {
    const { sink, first, second, server } = await traced();
    first.playAlways({ status: 500, body: { error: { message: 'no' } } });
    second.playAlways({ steps: [streamOf('chat', 'hello')] });
    expect((await ask(server, { model: 'both', stream: true })).content).toBe('hello');
    await server.stop();
    const contacts = sink.spans().filter(({ kind }) => kind === 3);
    const seen = contacts.map((span) => attributesOf(span));
    expect(seen.map((attributes) => attributes['error.type'])).toEqual(['failed', undefined]);
    expect(seen[0]?.['http.response.status_code']).toBe(500);
    expect(contacts[0]?.status.code).toBe(2);
    const sent = [first, second].map(({ requests }) => requests[0]?.headers['traceparent']);
    const { traceId } = contacts[0] ?? { traceId: '' };
    expect(sent).toEqual(contacts.map(({ spanId }) => `00-${traceId}-${spanId}-03`));
  });

  it('says nothing of a body, an account or a key', async () => {
    const { sink, server } = await traced();
    await ask(server, { model: 'first/m', body: { messages: [{ role: 'user', content: 'a secret' }] } });
    await server.stop();
    expect(sink.spans()).toHaveLength(2);
    expect(sink.text()).not.toMatch(/a secret|the reply|sk-gw|key_|"test"/);
    expect(sink.text()).not.toContain(PROVIDER_KEY);
  });

  it('that the client does not sample is not exported, and its context goes on', async () => {
    const { sink, first, server } = await traced();
    await ask(server, { model: 'first/m', headers: { traceparent: `00-${TRACE_ID}-${PARENT}-00` } });
    await server.stop();
    expect(sink.spans()).toEqual([]);
    expect(first.requests[0]?.headers['traceparent']).toMatch(new RegExp(`^00-${TRACE_ID}-[0-9a-f]{16}-00$`));
  });
});

it('without otlp no context goes on to the provider', async () => {
  const { first, server } = await traced({ otlp: undefined });
  await ask(server, { model: 'first/m', headers: { traceparent: `00-${TRACE_ID}-${PARENT}-01` } });
  expect(first.requests[0]?.headers).not.toHaveProperty('traceparent');
});

it('a collector that is away costs no request, and the log says it once', async () => {
  const { server } = await traced({ otlp: 'http://127.0.0.1:9' });
  const answers = await Promise.all(Array.from({ length: 20 }, () => ask(server, { model: 'first/m' })));
  expect(answers.every(({ status }) => status === 200)).toBe(true);
  await server.stop();
  const said = server.log().split('the collector takes no spans').length - 1;
  expect(said).toBeLessThanOrEqual(1);
  await vi.waitFor(() => expect(server.log()).toContain('the collector takes no spans'), { timeout: 15_000 });
});

describe('a traceparent', () => {
  it.each([
    ['of this version', `00-${TRACE_ID}-${PARENT}-01`, true],
    ['of a later version, with more', `01-${TRACE_ID}-${PARENT}-01-more`, true],
    ['of this version, with more', `00-${TRACE_ID}-${PARENT}-01-more`, false],
    ['of the forbidden version', `ff-${TRACE_ID}-${PARENT}-01`, false],
    ['with a trace ID of zeros', `00-${'0'.repeat(32)}-${PARENT}-01`, false],
    ['with a span ID of zeros', `00-${TRACE_ID}-${'0'.repeat(16)}-01`, false],
    ['in upper case', `00-${TRACE_ID.toUpperCase()}-${PARENT}-01`, false],
    ['twice', `00-${TRACE_ID}-${PARENT}-01, 00-${TRACE_ID}-${PARENT}-01`, false],
  ])('%s', (_, traceparent, isValid) => {
    const spans = beginSpans({ traceparent, tracestate: 'a=1' });
    expect(spans.traceId === TRACE_ID).toBe(isValid);
    expect(spans.parentSpanId).toBe(isValid ? PARENT : undefined);
    expect(spans.traceState).toBe(isValid ? 'a=1' : '');
    expect(spans.traceId).toMatch(/^[0-9a-f]{32}$/);
    expect(spans.spanId).toMatch(/^[0-9a-f]{16}$/);
  });
});
