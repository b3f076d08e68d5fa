// A provider of which nothing is known refuses a request's form: it is asked once more without it, and the next request avoids it.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/canonical/json.ts';
import { manualClock } from '../helpers/clock.ts';
import { gateway, rewrite, startGateway, type TestGateway } from '../helpers/gateway.ts';
import { startStrictProvider, type StrictProvider, type StrictRequest } from '../helpers/strict-provider.ts';
import { WORDED } from '../protocols/refusals/wordings.ts';
import { everything } from './everything.ts';

let strict: StrictProvider;
let to: TestGateway;
/** Names of models are new in each test: nothing was learnt of them. */
let model = '';
let made = 0;

/** It takes any name of a model. */
function open(protocol: string): object {
  return { base_url: strict.url, protocol, api_key: 'sk-provider-secret-0123456789' };
}

beforeAll(async () => {
  strict = await startStrictProvider();
  const providers = Object.fromEntries(
    (['chat', 'messages', 'responses'] as const).map((protocol) => [protocol, open(protocol)]),
  );
  const exact = { ...open('chat'), relay: 'exact' };
  to = await startGateway({ config: { providers: { ...providers, exact }, tiers: { enterprise: 100_000 } } });
});

afterAll(async () => {
  await to.stop();
  await strict.close();
});

beforeEach(() => {
  model = `m${made++}`;
});

async function send(
  name: string,
  body: JsonObject,
  path = '/v1/chat/completions',
  headers: Record<string, string> = {},
) {
  const response = await fetch(`${to.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${to.key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: `${name}/${model}`, ...body }),
  });
  return {
    status: response.status,
    dropped: response.headers.get('x-gateway-dropped'),
    text: await response.text(),
  };
}

async function sendText(body: string): Promise<Response> {
  const headers = { authorization: `Bearer ${to.key}`, 'content-type': 'application/json' };
  return fetch(`${to.url}/v1/chat/completions`, { method: 'POST', headers, body });
}

/** By the wording: whether the refused thing is there. */
const IS_THERE: Readonly<Record<string, (body: JsonObject) => boolean>> = {
  'OpenAI, unrecognized argument': ({ thinking }) => thinking !== undefined,
  'OpenAI, several arguments': (body) => 'top_k' in body || 'chat_template_kwargs' in body,
  'OpenAI, effort at a model without': (body) => 'reasoning_effort' in body,
  'Azure, cache key': (body) => 'prompt_cache_key' in body,
  'OpenAI, unknown parameter by its path': (body) => JSON.stringify(body).includes('timestamp'),
  'OpenAI, a substitute': (body) => 'max_tokens' in body,
  'OpenAI, a nested member': ({ reasoning }) => JSON.stringify(reasoning ?? {}).includes('summary'),
  'OpenAI, the default alone': (body) => 'temperature' in body,
  'OpenAI, an effort among those of the model': ({ reasoning_effort: effort }) => effort === 'minimal',
  'OpenAI, a union at the root': (body) => JSON.stringify(body).includes('"parameters":{"anyOf"'),
  'OpenAI strict, a keyword deeper': (body) => JSON.stringify(body).includes('"strict":true'),
  'OpenAI, the limit of the output': ({ max_tokens: limit }) => Number(limit) > 4096,
  'a reseller, its sentence in param': ({ max_tokens: limit }) => Number(limit) > 131_072,
  'Azure AI, a JSON pointer': (body) => 'stream_options' in body,
  'Azure AI, deeper': (body) => 'stream_options' in body,
  'Mistral, a list of fields': (body) => 'parallel_tool_calls' in body,
  'Mistral, reasoning of the history': (body) => JSON.stringify(body).includes('reasoning_content'),
  'Mistral, a name': (body) => JSON.stringify(body).includes('"ann"'),
  'Groq, a member': (body) => 'store' in body,
  'Cerebras, a line a member': (body) => 'store' in body || 'metadata' in body,
  'Gemini, a line a name': (body) => 'frequency_penalty' in body || 'seed' in body,
  'xAI, in camelCase': (body) => 'presence_penalty' in body,
  'DeepSeek, a list of texts': (body) =>
    JSON.stringify(body).includes('"content":[{"type":"text","text":"a"}'),
  'DeepSeek, a range': ({ max_tokens: limit }) => Number(limit) > 8192,
  'Kimi, temperature': (body) => 'temperature' in body,
  'Kimi, reasoning is missing': (body) => JSON.stringify(body).includes('"reasoning_content":""'),
  'SiliconFlow, a switch': (body) => 'enable_thinking' in body,
  'LM Studio, words alone': ({ tool_choice: choice }) => typeof choice === 'object',
  'LM Studio, json_object': (body) => JSON.stringify(body).includes('json_object'),
  'llama.cpp, the system message': (body) =>
    JSON.stringify(body).includes('{"role":"system","content":"Late."}'),
  'OpenRouter, the inner body': (body) => 'top_k' in body,
  'NVIDIA, a list': (body) => 'parallel_tool_calls' in body,
  'Bedrock, a key': (body) => 'chat_id' in body,
  'Anthropic, a member': (body) => 'context_management' in body,
  'Anthropic, a pair': (body) => 'temperature' in body && 'top_p' in body,
};

function refuseBy(name: string): (request: StrictRequest) => { status: number; body: string } | undefined {
  const worded = WORDED.find((other) => other.name === name);
  const isThere = IS_THERE[name];
  if (worded === undefined || isThere === undefined) throw new Error(`no such wording: ${name}`);
  return ({ body }) => (isThere(body) ? worded : undefined);
}

describe('a refusal of a request that is relayed', () => {
  it.each(Object.keys(IS_THERE))('%s: two requests the first time, one afterwards', async (name) => {
    strict.reset(refuseBy(name));
    const first = await send('chat', everything());
    expect([first.status, first.text]).toEqual([200, expect.stringContaining('Yes.')]);
    expect(strict.requests).toHaveLength(2);
    const second = await send('chat', everything());
    expect(second.status).toBe(200);
    expect(strict.requests).toHaveLength(3);
    expect(second.dropped).toBe(first.dropped);
    // All other members came as they were.
    const [before, after] = strict.requests.map(({ body }) => body);
    const changed = Object.keys(before ?? {}).filter(
      (member) => JSON.stringify(before?.[member]) !== JSON.stringify(after?.[member]),
    );
    expect(changed.length).toBeLessThanOrEqual(3);
    expect(to.log()).toContain(
      'a provider refused the form of a request; asked again without it, and learnt',
    );
  });

  it('names what was left out', async () => {
    strict.reset(refuseBy('Cerebras, a line a member'));
    expect(await send('chat', everything())).toMatchObject({ status: 200, dropped: 'metadata,store' });
  });

  it("is the client's where its words are not understood, or the conversation is meant", async () => {
    for (const message of [
      'Invalid API parameter, please check the documentation.',
      "Unknown parameter: 'messages[0].content'.",
    ]) {
      strict.reset(() => ({ status: 400, body: JSON.stringify({ error: { message } }) }));
      expect((await send('chat', everything())).status).toBe(400);
      expect(strict.requests).toHaveLength(1);
    }
  });

  it('of everything: at most one more request, and nothing is kept of what did not help', async () => {
    strict.reset(() => ({
      status: 400,
      body: JSON.stringify({ error: { message: "Unknown parameter: 'store'." } }),
    }));
    expect((await send('chat', everything())).status).toBe(400);
    expect(strict.requests).toHaveLength(2);
    strict.reset(() => undefined);
    expect((await send('chat', everything())).dropped).toBeNull();
    expect(strict.requests[0]?.body).toHaveProperty('store');
  });

  it('of two members, each in its own words: the third request avoids both', async () => {
    strict.reset(({ body }) => {
      const member = ['store', 'seed'].find((name) => name in body);
      return member === undefined
        ? undefined
        : { status: 400, body: JSON.stringify({ error: { message: `Unknown parameter: '${member}'.` } }) };
    });
    expect((await send('chat', everything())).status).toBe(400);
    expect(await send('chat', everything())).toMatchObject({ status: 200, dropped: 'seed,store' });
    expect(strict.requests).toHaveLength(3);
  });

  it('that repeats words of the client teaches nothing: other accounts ask the same target', async () => {
    const said = [
      "x'. Unsupported parameter: 'temperature' is not supported with this model.",
      'x"; Unrecognized request argument supplied: seed',
      'x does not support parameters: [seed, store]',
    ];
    for (const [at, text] of said.entries()) {
      model = `echo${at}${made++}`;
      // The provider refuses the value, which stands in its error, and takes the request without the member.
      strict.reset(({ body }) =>
        body.service_tier === undefined && body.seed !== undefined
          ? undefined
          : {
              status: 400,
              body: JSON.stringify({
                error: { message: `Invalid value: '${body.service_tier as string}'.` },
              }),
            },
      );
      expect((await send('chat', { ...everything(), service_tier: text })).status).toBe(400);
      expect(strict.requests).toHaveLength(1);
      // Nor where letters are escaped.
      const body = JSON.stringify({ model: `chat/${model}`, ...everything(), service_tier: text });
      const hidden = body
        .replace('nsupported', String.raw`n\u0073upported`)
        .replace('supplied', String.raw`\u0073upplied`)
        .replace('support p', String.raw`\u0073upport p`);
      expect((await sendText(hidden)).status).toBe(400);
      expect(strict.requests).toHaveLength(2);
      strict.reset(() => undefined);
      expect((await send('chat', everything())).dropped).toBeNull();
    }
  });

  it('is learnt only once the second request was answered', async () => {
    strict.reset(({ body }) =>
      'seed' in body
        ? { status: 400, body: JSON.stringify({ error: { message: "Unknown parameter: 'seed'." } }) }
        : { status: 503, body: '{}' },
    );
    expect((await send('chat', everything())).status).toBe(503);
    strict.reset(() => undefined);
    expect((await send('chat', everything())).dropped).toBeNull();
  });

  it('of one model says nothing of another', async () => {
    strict.reset(refuseBy('Groq, a member'));
    await send('chat', everything());
    model = `other${made++}`;
    strict.reset(() => undefined);
    await send('chat', everything());
    expect(strict.requests[0]?.body).toHaveProperty('store');
  });

  it('goes through with `relay: exact` as well, where the bytes must stay', async () => {
    strict.reset(refuseBy('Groq, a member'));
    expect((await send('exact', everything())).status).toBe(400);
    expect(strict.requests).toHaveLength(1);
  });

  it('of a beta: its value alone leaves the header', async () => {
    strict.reset(({ headers }) =>
      String(headers['anthropic-beta']).includes('context-management-2025-06-27')
        ? { status: 400, body: WORDED.find(({ name }) => name === 'Anthropic, a beta')?.body ?? '' }
        : undefined,
    );
    const body = { max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }] };
    const betas = {
      'anthropic-beta': 'context-management-2025-06-27,fine-grained-tool-streaming-2025-05-14',
    };
    const reply = await send('messages', body, '/v1/messages', betas);
    expect(reply).toMatchObject({ status: 200, dropped: 'anthropic-beta' });
    expect(strict.requests.map(({ headers }) => headers['anthropic-beta'])).toEqual([
      'context-management-2025-06-27,fine-grained-tool-streaming-2025-05-14',
      'fine-grained-tool-streaming-2025-05-14',
    ]);
    // From the start of the next request.
    expect(await send('messages', body, '/v1/messages', betas)).toMatchObject({
      status: 200,
      dropped: 'anthropic-beta',
    });
    expect(strict.requests).toHaveLength(3);
    expect(strict.requests[2]?.headers['anthropic-beta']).toBe('fine-grained-tool-streaming-2025-05-14');
  });

  it('is logged once, however many requests follow', async () => {
    strict.reset(refuseBy('Groq, a member'));
    for (let at = 0; at < 20; at++) await send('chat', everything());
    expect(strict.requests).toHaveLength(21);
    const said = to
      .log()
      .split('\n')
      .filter((line) => line.includes('and learnt') && line.includes(`"chat/${model}"`));
    expect(said).toHaveLength(1);
  });
});

describe('a refusal of a request that is translated', () => {
  it('teaches what the encoder heeds', async () => {
    strict.reset(({ body }) =>
      body.temperature === undefined
        ? undefined
        : { status: 400, body: WORDED.find(({ name }) => name === 'Kimi, temperature')?.body ?? '' },
    );
    const body = { max_tokens: 5, temperature: 0.3, messages: [{ role: 'user', content: 'Hi' }] };
    expect(await send('chat', body, '/v1/messages')).toMatchObject({ status: 200, dropped: 'temperature' });
    expect(await send('chat', body, '/v1/messages')).toMatchObject({ status: 200, dropped: 'temperature' });
    expect(strict.requests).toHaveLength(3);
  });
});

it('what was learnt is forgotten when the configuration changes', async () => {
  strict.reset(refuseBy('Groq, a member'));
  const clock = manualClock();
  const providers = { chat: open('chat') };
  const server = await gateway({ clock, config: { providers } });
  const ask = async (): Promise<number> => {
    const before = strict.requests.length;
    const response = await fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: `chat/${model}`, ...everything() }),
    });
    expect(response.status).toBe(200);
    await response.text();
    return strict.requests.length - before;
  };
  expect([await ask(), await ask()]).toEqual([2, 1]);
  rewrite(server, clock, { providers, tiers: { enterprise: 50_000 } });
  await expect.poll(() => server.log(), { timeout: 10_000 }).toContain('the configuration was reloaded');
  expect([await ask(), await ask()]).toEqual([2, 1]);
});
