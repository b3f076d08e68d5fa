// POST /v1/responses/compact: relayed where a target speaks the protocol, else any model writes a summary, which is sealed for the account.
import { describe, expect, it } from 'vitest';
import { wholeOf } from './wire.ts';
import { gateway, provider } from '../helpers/gateway.ts';
import { scriptedProvider } from '../helpers/scripted-provider.ts';

const COMPACTED = {
  id: 'resp_9',
  object: 'response.compaction',
  created_at: 1,
  output: [
    { type: 'message', id: 'msg_1', role: 'user', content: [{ type: 'input_text', text: 'Go.' }] },
    { type: 'compaction', id: 'cmp_1', encrypted_content: 'short' },
  ],
  usage: { input_tokens: 5, output_tokens: 2, total_tokens: 7 },
};

async function place() {
  const [native, other] = [await scriptedProvider(), await scriptedProvider()];
  native.playAlways({ body: COMPACTED });
  const server = await gateway({
    config: {
      providers: {
        native: { ...provider(native.url, 'responses', ['m']), flags: { compaction: true } },
        other: provider(other.url, 'chat', ['c']),
      },
      routes: { both: ['other/c', 'native/m'] },
    },
  });
  const request = (path: string, body?: object): Promise<Response> =>
    fetch(`${server.url}/v1${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${server.key}` },
      body: body === undefined ? null : JSON.stringify(body),
    });
  return { native, other, server, request };
}

describe('a request to compact', () => {
  it('is relayed, counted, and answered with what the provider says', async () => {
    const { native, request } = await place();
    const response = await request('/responses/compact', { model: 'm', input: 'a long story', extra: 1 });
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual(COMPACTED);
    expect(response.headers.get('x-gateway-provider')).toBe('native');
    expect(response.headers.get('x-ratelimit-remaining-requests')).toBe('299');
    expect(native.requests).toMatchObject([
      { path: '/v1/responses/compact', json: { model: 'm', input: 'a long story', extra: 1 } },
    ]);
  });

  it('goes to the targets of a route that speak the protocol alone', async () => {
    const { other, request } = await place();
    const response = await request('/responses/compact', { model: 'both', input: 'a long story' });
    expect(await response.json()).toEqual(COMPACTED);
    expect(other.requests).toHaveLength(0);
  });

  it('is refused where it asks for a stream, which nobody could read', async () => {
    const { native, request } = await place();
    const response = await request('/responses/compact', { model: 'm', input: 'x', stream: true });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { param: 'stream' } });
    expect(native.requests).toHaveLength(0);
  });

  it('is not an answer that could be read again', async () => {
    const { request } = await place();
    await request('/responses/compact', { model: 'm', input: 'a long story' });
    expect((await request('/responses/resp_9')).status).toBe(404);
  });

  it('has no other method', async () => {
    const { request } = await place();
    const response = await request('/responses/compact');
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('POST');
  });
});

// A server that speaks responses does not have every endpoint of it.
describe.each(['chat', 'messages', 'responses'] as const)(
  'a summary by a model at a provider of %s',
  (protocol) => {
    async function summarised(more: object = {}) {
      const upstream = await scriptedProvider();
      const price = { input: 1, output: 1 };
      const server = await gateway({
        config: {
          providers: { p: provider(upstream.url, protocol, [{ id: 'm', price }]) },
          tiers: { two: 2, enterprise: 100 },
        },
      });
      const post = async (path: string, body: object, key = server.key) => {
        const response = await fetch(`${server.url}/v1${path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
          body: JSON.stringify({ model: 'm', ...body }),
        });
        const json = (await response.json()) as { output: Record<string, unknown>[] } & Record<
          string,
          unknown
        >;
        return { status: response.status, headers: response.headers, json };
      };
      upstream.play({ body: wholeOf(protocol, 'They launch on Tuesday.') });
      const conversation = [
        { type: 'message', role: 'user', content: 'We launch on Tuesday.' },
        { type: 'message', role: 'assistant', content: 'Understood.' },
      ];
      const compacted = await post('/responses/compact', { input: conversation, ...more });
      return { upstream, server, post, compacted };
    }

    it('is sealed, priced and counted, and the words of the user stay', async () => {
      const { upstream, server, compacted } = await summarised();
      expect(compacted).toMatchObject({
        status: 200,
        json: {
          id: expect.stringMatching(/^resp_/) as string,
          object: 'response.compaction',
          created_at: expect.any(Number) as number,
          usage: { input_tokens: 5, output_tokens: 2, total_tokens: 7 },
          output: [
            {
              type: 'message',
              role: 'user',
              status: 'completed',
              content: [{ type: 'input_text', text: 'We launch on Tuesday.' }],
            },
            { type: 'compaction', id: expect.stringMatching(/^cmp_/) as string },
          ],
        },
      });
      expect(compacted.json.output).toHaveLength(2);
      expect(JSON.stringify(compacted.json)).not.toContain('They launch');
      expect(compacted.headers.get('x-ratelimit-remaining-requests')).toBe('99');
      expect(compacted.headers.get('x-gateway-provider')).toBe('p');
      expect(upstream.requests).toHaveLength(1);
      const asked = JSON.stringify(upstream.requests[0]?.json);
      expect(asked).toMatch(/We launch on Tuesday.*Understood.*summary/);
      await expect
        .poll(async () =>
          (await server.store.listRequests({ limit: 9 })).map(({ output, costUsd }) => [output, costUsd]),
        )
        .toEqual([[2, 7e-6]]);
    });

    it('stands in a later input in place of what it was made of', async () => {
      const { upstream, post, compacted } = await summarised();
      upstream.play({ body: wholeOf(protocol, 'On Tuesday.') });
      const next = { type: 'message', role: 'user', content: 'When do we launch?' };
      const answer = await post('/responses', { input: [...compacted.json.output, next] });
      expect(answer.status).toBe(200);
      expect(JSON.stringify(upstream.requests[1]?.json)).toMatch(
        /We launch on Tuesday.*replaced by a summary.*They launch on Tuesday.*When do we launch/,
      );
    });

    it('can be made short again, and is of use to its account alone', async () => {
      const { upstream, server, post, compacted } = await summarised();
      upstream.play({ body: wholeOf(protocol, 'Still Tuesday.') });
      const again = await post('/responses/compact', { input: compacted.json.output });
      expect(again.status).toBe(200);
      expect(JSON.stringify(upstream.requests[1]?.json)).toContain('They launch on Tuesday.');
      const other = await server.newKey({ account: 'other' });
      upstream.play({ body: wholeOf(protocol, 'What?') });
      const stolen = await post('/responses', { input: compacted.json.output }, other);
      if (protocol === 'responses') {
        // It may be another gateway, which sealed it itself.
        expect(JSON.stringify(upstream.requests[2]?.json)).not.toContain('They launch on Tuesday.');
        return;
      }
      expect(stolen).toMatchObject({ status: 400, json: { error: { param: 'input' } } });
      expect(upstream.requests).toHaveLength(2);
    });

    it('calls no tool, although the tools of the conversation are known', async () => {
      const tool = { type: 'function', name: 'look', parameters: { type: 'object', properties: {} } };
      const { upstream } = await summarised({ tools: [tool] });
      const asked = JSON.stringify(upstream.requests[0]?.json);
      expect(asked).toContain('look');
      expect(asked).toMatch(/"tool_choice":(?:"none"|\{"type":"none"\})/);
    });

    it('is a 502 where the model says nothing, and a 400 without a model', async () => {
      const { upstream, post } = await summarised();
      upstream.play({ body: wholeOf(protocol, '') });
      expect((await post('/responses/compact', { input: 'a long story' })).status).toBe(502);
      expect((await post('/responses/compact', { input: 'x', model: undefined })).status).toBe(400);
      expect((await post('/responses/compact', { input: 'x', stream: true })).status).toBe(400);
    });

    it('is refused when the hour is used up, and without a key before the body is read', async () => {
      const { upstream, server, post } = await summarised();
      const key = await server.newKey({ account: 'two', tier: 'two' });
      upstream.playAlways({ body: wholeOf(protocol, 'Short.') });
      for (const status of [200, 200, 429])
        expect((await post('/responses/compact', { input: 'x' }, key)).status).toBe(status);
      expect((await post('/responses/compact', { input: 'x' }, 'none')).status).toBe(401);
    });
  },
);

it('a summary by one model goes on at a provider of the protocol as a message', async () => {
  const { native, other, request } = await place();
  other.playAlways({ body: wholeOf('chat', 'In short.') });
  const compacted = (await (
    await request('/responses/compact', { model: 'c', input: 'a long story' })
  ).json()) as { output: object[] };
  native.playAlways({ body: wholeOf('responses', 'Yes.') });
  const next = await request('/responses', { model: 'm', input: compacted.output });
  expect(next.status).toBe(200);
  const asked = JSON.stringify(native.requests[0]?.json);
  expect(asked).toContain('In short.');
  expect(asked).not.toContain('gw1.');
});

it('a request to compact that is sent again with its Idempotency-Key is answered again', async () => {
  const { other, server } = await place();
  other.playAlways({ body: wholeOf('chat', 'In short.') });
  const post = async () => {
    const response = await fetch(`${server.url}/v1/responses/compact`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${server.key}`,
        'idempotency-key': 'once',
      },
      body: JSON.stringify({ model: 'c', input: 'a long story' }),
    });
    return (await response.json()) as object;
  };
  expect(await post()).toEqual(await post());
  expect(other.requests).toHaveLength(1);
});
