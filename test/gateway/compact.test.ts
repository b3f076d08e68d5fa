// POST /v1/responses/compact: only a provider of this protocol can shorten a conversation into something that it reads itself.
import { describe, expect, it } from 'vitest';
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
        native: provider(native.url, 'responses', ['m']),
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

  it('is a 404 without such a target, and not counted', async () => {
    const { other, request } = await place();
    const built = await request('/responses/compact', { model: 'sim/echo', input: 'a long story' });
    expect(built.status).toBe(404);
    const response = await request('/responses/compact', { model: 'c', input: 'a long story' });
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({
      error: { type: 'invalid_request_error', code: 'not_found' },
    });
    expect(other.requests).toHaveLength(0);
    const after = await request('/responses', { model: 'm', input: 'hi' });
    expect(after.headers.get('x-ratelimit-remaining-requests')).toBe('299');
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
