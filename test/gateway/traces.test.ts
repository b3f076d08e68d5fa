// `otlp`: a request becomes spans at a collector, and its W3C context goes on to the provider; without it nothing does.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ProtocolName } from '../../src/canonical/request.ts';
import { ask, post, type Question } from '../helpers/ask.ts';
import { gateway, provider, PROVIDER_KEY } from '../helpers/gateway.ts';
import { CUT, type Script, scriptedProvider } from '../helpers/scripted-provider.ts';
import { beginSpans } from '../../src/gateway/outbound/trace-context.ts';
import { content, START, streamOf, wholeOf } from './wire.ts';

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
      bodies
        .flatMap((body) => (JSON.parse(body) as Exported).resourceSpans)
        .flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
    resources: () =>
      bodies
        .flatMap((body) => (JSON.parse(body) as Exported).resourceSpans)
        .map(({ resource }) => attributesOf(resource)),
  };
}

interface Exported {
  resourceSpans: { resource: Pick<Span, 'attributes'>; scopeSpans: { spans: Span[] }[] }[];
}

function attributesOf({ attributes }: Pick<Span, 'attributes'>): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, valueOf(value)]));
}

/** Of OTLP's JSON. */
function valueOf(value: Record<string, unknown>): unknown {
  if ('arrayValue' in value) {
    const { values } = value.arrayValue as { values: Record<string, unknown>[] };
    return values.map(valueOf);
  }
  return Object.values(value)[0];
}

async function traced(more: Record<string, unknown> = {}, env: Record<string, string> = {}) {
  const [sink, first, second] = await Promise.all([collector(), scriptedProvider(), scriptedProvider()]);
  first.playAlways({ body: wholeOf('chat', 'the reply of the model') });
  second.playAlways({ body: wholeOf('chat', 'the reply of the model') });
  const providers = {
    first: provider(`${first.url}/v1`, 'chat', [{ id: 'm', upstream: 'maker-m' }]),
    second: provider(`${second.url}/v1`, 'chat', ['m']),
  };
  const config = { providers, routes: { both: ['first/m', 'second/m'] }, otlp: sink.url, ...more };
  return { sink, first, second, server: await gateway({ config, env }) };
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
      'gen_ai.response.model': 'm',
      'gen_ai.provider.name': 'first',
      'gateway.provider': 'first',
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

/** The provider's words for a normal end. */
const ENDINGS = { chat: 'stop', messages: 'end_turn', responses: 'completed' } as const;
const IDS = { chat: 'chatcmpl-1', messages: 'msg_1', responses: 'resp_1' } as const;
const PROTOCOLS = ['chat', 'messages', 'responses'] as const;

describe('an answer', () => {
  async function answered(to: ProtocolName, script: Script, question: Question) {
    const [sink, upstream] = await Promise.all([collector(), scriptedProvider()]);
    upstream.play(script);
    const providers = { mistral: provider(`${upstream.url}/v1`, to, [{ id: 'm', upstream: 'maker-m' }]) };
    const server = await gateway({ config: { providers, otlp: sink.url } });
    const seen = await ask(server, { model: 'm', ...question });
    await server.stop();
    const [request, contact] = sink
      .spans()
      .sort((a, b) => a.kind - b.kind)
      .map((span) => attributesOf(span));
    return { seen, request, contact };
  }

  const rows = PROTOCOLS.flatMap((from) =>
    PROTOCOLS.flatMap((to) => [true, false].map((stream) => ({ from, to, stream }))),
  );
  it.each(rows)(
    "has the provider's id and why it ended: $from clients, $to provider, streamed: $stream",
    async ({ from, to, stream }) => {
      const script = stream ? { steps: [streamOf(to, 'hello')] } : { body: wholeOf(to, 'hello') };
      const { seen, request, contact } = await answered(to, script, { protocol: from, stream });
      expect(seen.content).toBe('hello');
      expect(contact).toMatchObject({
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'mistral_ai',
        'gateway.provider': 'mistral',
        'gen_ai.request.model': 'maker-m',
        'gen_ai.response.model': 'm',
        'gen_ai.response.id': IDS[to],
        'gen_ai.response.finish_reasons': [ENDINGS[to]],
      });
      expect(contact?.['gen_ai.request.stream']).toBe(stream ? true : undefined);
      const first = contact?.['gen_ai.response.time_to_first_chunk'];
      expect(first).toEqual(stream ? expect.any(Number) : undefined);
      // What the client can look for.
      const id = request?.['gen_ai.response.id'];
      expect(typeof id).toBe('string');
      expect(seen.text).toContain(`"${String(id)}"`);
      expect(request?.['gen_ai.response.finish_reasons']).toEqual([ENDINGS[to]]);
    },
  );

  it('of several choices has the reason of each, in their order', async () => {
    const choices = (members: object[]) => ({
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: members,
    });
    const message = { role: 'assistant', content: 'hello' };
    const whole = choices([
      { index: 1, message, finish_reason: 'length' },
      { index: 0, message, finish_reason: 'stop' },
    ]);
    const of = async (script: Script, stream: boolean) =>
      (await answered('chat', script, { stream, body: { n: 2 } })).contact?.[
        'gen_ai.response.finish_reasons'
      ];
    expect(await of({ body: whole }, false)).toEqual(['stop', 'length']);
    const chunk = (choice: object): string => `data: ${JSON.stringify(choices([choice]))}\n\n`;
    const steps = [
      chunk({ index: 0, delta: { content: 'a' }, finish_reason: null }),
      chunk({ index: 1, delta: { content: 'b' }, finish_reason: null }),
      chunk({ index: 1, delta: {}, finish_reason: 'length' }),
      chunk({ index: 0, delta: {}, finish_reason: 'tool_calls' }),
      'data: [DONE]\n\n',
    ];
    expect(await of({ steps }, true)).toEqual(['tool_calls', 'length']);
  });

  it.each(PROTOCOLS)('that broke off has its id, and an error as its end: %s', async (to) => {
    for (const from of PROTOCOLS) {
      const script: Script = { steps: [START[to] + content(to, 'a'), CUT] };
      const { contact } = await answered(to, script, { protocol: from, stream: true });
      expect(contact).toMatchObject({
        'gen_ai.response.id': IDS[to],
        'gen_ai.response.finish_reasons': ['error'],
      });
      expect(contact?.['error.type']).toEqual(expect.any(String));
    }
  });

  it('whose words hold a secret or a book is shortened and without the secret', async () => {
    const reason = `${PROVIDER_KEY} ${'long '.repeat(100)}`;
    const body = { ...wholeOf('messages', 'hello'), id: reason, stop_reason: reason };
    const { contact } = await answered('messages', { body }, { protocol: 'messages' });
    for (const name of ['gen_ai.response.id', 'gen_ai.response.finish_reasons']) {
      const text = String(contact?.[name]);
      expect(text.length).toBeGreaterThan(10);
      expect(text.length).toBeLessThanOrEqual(100);
      expect(text).not.toContain(PROVIDER_KEY);
    }
  });

  it.each([
    ['/v1/embeddings', 'embeddings', { input: 'a' }],
    ['/v1/completions', 'text_completion', { prompt: 'a' }],
  ])('of %s is named after what the model does', async (path, operation, more) => {
    const [sink, upstream] = await Promise.all([collector(), scriptedProvider()]);
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    const choices = [{ index: 0, text: 'b', finish_reason: 'stop' }];
    upstream.play({ body: { id: 'cmpl-1', model: 'm', data: [{ embedding: [1] }], choices, usage } });
    const providers = { mistral: provider(`${upstream.url}/v1`, 'chat', ['m']) };
    const server = await gateway({ config: { providers, otlp: sink.url } });
    expect((await post(server, path, JSON.stringify({ model: 'm', ...more }))).status).toBe(200);
    await server.stop();
    const spans = sink.spans();
    expect(spans.find(({ kind }) => kind === 3)?.name).toBe(`${operation} m`);
    const operations = spans.map((span) => attributesOf(span)['gen_ai.operation.name']);
    expect(operations).toEqual([operation, operation]);
  });
});

describe('the resource', () => {
  it.each([
    ['', '', { 'service.name': 'local-llm-gateway', 'service.version': '1.2.3' }],
    ['', 'mine', { 'service.name': 'mine', 'service.version': '1.2.3' }],
    ['service.name=a,service.version=9', '', { 'service.name': 'a', 'service.version': '9' }],
    ['service.name=a', 'mine', { 'service.name': 'mine', 'service.version': '1.2.3' }],
    [
      ' team = a%2Cb , deployment.environment.name=%C3%BC=',
      '',
      { 'service.name': 'local-llm-gateway', 'service.version': '1.2.3' },
    ],
    [
      ' team = a%2Cb%3D , deployment.environment.name=%C3%BC,empty=,',
      '',
      {
        'service.name': 'local-llm-gateway',
        'service.version': '1.2.3',
        team: 'a,b=',
        'deployment.environment.name': 'ü',
        empty: '',
      },
    ],
  ])('OTEL_RESOURCE_ATTRIBUTES=%s OTEL_SERVICE_NAME=%s', async (attributes, name, expected) => {
    const env = { OTEL_RESOURCE_ATTRIBUTES: attributes, OTEL_SERVICE_NAME: name };
    const { sink, server } = await traced({}, env);
    await ask(server, { model: 'first/m' });
    await server.stop();
    expect(sink.resources()).toEqual([expected]);
  });

  it.each([
    ['a', 'its attribute 2 is not written as name=value'],
    ['a=b,c=d=e', 'its attribute 3 is not written as name=value'],
    ['=b', 'its attribute 2 has no name'],
    ['a=%', 'its attribute 2 is not percent-encoded'],
    ['a=%C3', 'its attribute 2 is not percent-encoded'],
    [`a=${'b'.repeat(256)}`, 'its attribute 2 is longer than 255 characters'],
  ])('ignores %s as a whole, and the log says why', async (attributes, why) => {
    const { sink, server } = await traced({}, { OTEL_RESOURCE_ATTRIBUTES: `good=x,${attributes}` });
    await ask(server, { model: 'first/m' });
    await server.stop();
    expect(sink.resources()).toEqual([{ 'service.name': 'local-llm-gateway', 'service.version': '1.2.3' }]);
    const line = `OTEL_RESOURCE_ATTRIBUTES is ignored: ${why}`;
    expect(server.log().split(line).length - 1).toBe(1);
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
