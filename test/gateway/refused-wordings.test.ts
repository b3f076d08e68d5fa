// Every wording that was recorded, said by a provider of which nothing is known: two requests the first time, one afterwards.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/canonical/json.ts';
import { startGateway, type TestGateway } from '../helpers/gateway.ts';
import { startStrictProvider, type StrictProvider } from '../helpers/strict-provider.ts';
import { SILENT, WORDED, type Worded } from '../protocols/refusals/wordings.ts';
import { everything } from './everything.ts';

let strict: StrictProvider;
let to: TestGateway;
let made = 0;

beforeAll(async () => {
  strict = await startStrictProvider();
  const open = (protocol: string): object => ({
    base_url: strict.url,
    protocol,
    api_key: 'sk-secret-0123456789',
  });
  const providers = { chat: open('chat'), messages: open('messages'), responses: open('responses') };
  to = await startGateway({ config: { providers, tiers: { enterprise: 100_000 } } });
});

afterAll(async () => {
  await to.stop();
  await strict.close();
});

const PATHS = { chat: 'chat/completions', messages: 'messages', responses: 'responses' } as const;
type Door = keyof typeof PATHS;

function send(door: Door, model: string, body: JsonObject): Promise<Response> {
  return fetch(`${to.url}/v1/${PATHS[door]}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${to.key}`,
      'content-type': 'application/json',
      'anthropic-beta': 'context-management-2025-06-27',
    },
    body: JSON.stringify({ ...body, model: `${door}/${model}` }),
  });
}

/** Refuses the form that came first, whatever it was: only another one goes through. */
function refuseFirst(body: string): void {
  let first: string | undefined;
  strict.reset((request) => {
    const form = JSON.stringify([request.body, request.headers['anthropic-beta']]);
    first ??= form;
    return form === first ? { status: 400, body } : undefined;
  });
}

const SCHEMA = { anyOf: [{ type: 'object', properties: { a: {} } }] };

function messages(): JsonObject {
  return {
    max_tokens: 64_000,
    temperature: 0.2,
    top_p: 0.9,
    thinking: { type: 'enabled', budget_tokens: 40_000 },
    output_config: { effort: 'minimal' },
    context_management: {},
    messages: [
      { role: 'user', content: 'Hi' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'a', signature: 's', cache_control: { type: 'ephemeral' } },
          { type: 'tool_use', id: 'toolu_1', name: 'read', input: '{"a":1}' },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'b' }] },
      { role: 'assistant', content: 'It' },
    ],
    tools: [{ name: 'read', strict: true, eager_input_streaming: true, input_schema: SCHEMA }],
  };
}

function responses(): JsonObject {
  return {
    input: [
      { type: 'message', role: 'user', content: 'Hi' },
      { type: 'function_call', call_id: 'call_1', name: 'read', arguments: { a: 1 } },
      { type: 'function_call_output', call_id: 'call_1', output: 'b' },
      { type: 'additional_tools', role: 'developer', tools: [{ type: 'custom', name: 'patch' }] },
    ],
    tools: [
      { type: 'custom', name: 'patch' },
      { type: 'function', name: 'read', parameters: SCHEMA, strict: true },
    ],
    reasoning: { effort: 'minimal', summary: 'auto' },
    max_output_tokens: 2_000_000,
  };
}

const BODIES: Readonly<Record<Door, () => JsonObject>> = { chat: everything, messages, responses };

/** What such a server refuses, where the usual body has nothing of it. */
const REFUSED: Readonly<Record<string, JsonObject>> = {
  'SiliconFlow, the type of thinking': { thinking: { type: 'adaptive' } },
};

/** They are about the meaning of the client's own tools, which nothing but a translation can give in another form: on the relay the
 *  refusal stays the client's. */
const TRANSLATED_ALONE = new Set(['MiniMax, a tool of free text', 'a compatible server, tools on the way']);

/** What a wording says, as the door at which it is heard. */
async function replay({ name, body }: Worded, door: Door): Promise<object> {
  refuseFirst(body);
  const request = { ...BODIES[door](), ...REFUSED[name] };
  const model = `m${made++}`;
  const first = await send(door, model, request);
  await first.text();
  const asked = strict.requests.length;
  const second = await send(door, model, request);
  await second.text();
  const header = (response: Response): string | null => response.headers.get('x-gateway-dropped');
  const logged = to
    .log()
    .split('\n')
    .filter((line) => line.includes(`"${door}/${model}"`));
  const isNamed = header(first) !== null || logged.some((line) => line.includes('and learnt'));
  return {
    statuses: [first.status, second.status],
    asked: [asked, strict.requests.length - asked],
    isNamed,
    isSame: header(first) === header(second),
  };
}

const LEARNT = { statuses: [200, 200], asked: [2, 1], isNamed: true, isSame: true };

describe('a wording that was recorded', () => {
  const taught = WORDED.filter(({ name, says }) => says.length > 0 && !TRANSLATED_ALONE.has(name));

  it.each(taught)('$name', async (worded) => {
    const heard: object[] = [];
    for (const door of ['chat', 'messages', 'responses'] as const) {
      const found = await replay(worded, door);
      if (JSON.stringify(found) === JSON.stringify(LEARNT)) return;
      heard.push({ door, ...found });
    }
    expect(heard).toEqual([expect.objectContaining(LEARNT)]);
  });

  it.each([...TRANSLATED_ALONE])('%s stays the client’s on the relay', async (name) => {
    const worded = WORDED.find((other) => other.name === name);
    if (worded === undefined) throw new Error(`no such wording: ${name}`);
    for (const door of ['chat', 'messages', 'responses'] as const) {
      expect(await replay(worded, door)).toMatchObject({ asked: [1, 1], statuses: [400, 400] });
    }
  });

  it.each(WORDED.filter(({ says }) => says.length === 0))(
    '$name says nothing of the form',
    async ({ body }) => {
      refuseFirst(body);
      const response = await send('chat', `m${made++}`, everything());
      expect([response.status >= 400, strict.requests.length]).toEqual([true, 1]);
    },
  );

  it.each(SILENT)('none, and the error is the client’s: %s', async (body) => {
    refuseFirst(body);
    const response = await send('chat', `m${made++}`, everything());
    expect([response.status >= 400, strict.requests.length]).toEqual([true, 1]);
  });
});
