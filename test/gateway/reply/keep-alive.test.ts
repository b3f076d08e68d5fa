// A responses stream that opens before its provider answered is one answer to its readers: one id, one beginning, rising numbers,
// whatever the provider then sends.
import OpenAI from 'openai';
import { expect, it } from 'vitest';
import type { JsonObject } from '../../../src/canonical/json.ts';
import { manualClock } from '../../helpers/clock.ts';
import { gateway, provider } from '../../helpers/gateway.ts';
import { CUT, gate, scriptedProvider, type Script } from '../../helpers/scripted-provider.ts';
import { STREAM, WHOLE } from '../../e2e/replies.ts';

const SILENCE_MS = 10_000;

async function place(store: 'on' | 'off' = 'on') {
  const upstream = await scriptedProvider();
  const clock = manualClock();
  const one = (protocol: 'chat' | 'messages' | 'responses') =>
    provider(`${upstream.url}/v1`, protocol, ['m']);
  const server = await gateway({
    clock,
    config: {
      providers: { chat: one('chat'), messages: one('messages'), responses: one('responses') },
      responses: { store },
    },
  });
  const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: server.key, maxRetries: 0 });
  return { upstream, clock, client };
}

/** What the official SDK makes of an answer before which the provider is silent for `silences` times ten seconds. */
async function heardOf(
  { upstream, clock, client }: Awaited<ReturnType<typeof place>>,
  model: string,
  script: Script,
  silences = 2,
) {
  const answer = gate();
  upstream.play({ ...script, steps: [answer.opened, ...(script.steps ?? [])] });
  const events: JsonObject[] = [];
  const stream = client.responses.stream({ model, input: 'hi' });
  const opened = gate();
  stream.on('event', (event) => {
    events.push(event as unknown as JsonObject);
    opened.open();
  });
  const final = stream.finalResponse();
  final.catch(() => undefined);
  await upstream.next();
  for (let count = 0; count < silences; count++) clock.advance(SILENCE_MS);
  await opened.opened;
  answer.open();
  return { events, final: await final.catch((error: unknown) => error as Error) };
}

function numbersOf(events: readonly JsonObject[]): unknown[] {
  return events.map(({ sequence_number: number }) => number);
}

function typesOf(events: readonly JsonObject[]): string[] {
  return events.map(({ type }) => type as string);
}

function idsOf(events: readonly JsonObject[]): Set<unknown> {
  return new Set(events.flatMap(({ response }) => (response ? [(response as JsonObject).id] : [])));
}

it.each<[string, string, Script]>([
  ['a chat stream', 'chat/m', { steps: [STREAM.chat] }],
  ['a messages stream', 'messages/m', { steps: [STREAM.messages] }],
  ['a relayed stream', 'responses/m', { steps: [STREAM.responses] }],
  ['a relayed stream in pieces', 'responses/m', { steps: STREAM.responses.split(/(?<=\n\n)/) }],
  [
    'a whole answer',
    'responses/m',
    { headers: { 'content-type': 'application/json' }, steps: [WHOLE.responses] },
  ],
])('%s goes on with what opened', async (_, model, script) => {
  const { events, final } = await heardOf(await place(), model, script);
  const types = typesOf(events);
  expect(types.slice(0, 3)).toEqual(['response.created', 'response.in_progress', 'response.in_progress']);
  expect(types.filter((type) => type === 'response.created')).toHaveLength(1);
  expect((events[0]?.response as JsonObject).model).toBe(model);
  expect(idsOf(events).size).toBe(1);
  expect(numbersOf(events)).toEqual(events.map((__, at) => at));
  expect(final).toMatchObject({ output_text: 'grüß 😀 dich', model: 'served-by-7', status: 'completed' });
});

const WITHOUT_OUTPUT = STREAM.responses.replace(
  /("type":"response\.completed".*?"output":)\[.*\](,"(?:parallel_tool_calls|usage)")/,
  '$1[]$2',
);

it.each([
  ['is stored under the id that its reader has', STREAM.responses],
  ['whose last event has no output is stored with its items', WITHOUT_OUTPUT],
])('a relayed answer %s', async (_, stream) => {
  const at = await place();
  const { events } = await heardOf(at, 'responses/m', { steps: [stream] });
  const [id] = idsOf(events);
  at.upstream.play({ body: WHOLE.responses });
  await at.client.responses.create({ model: 'responses/m', input: 'more', previous_response_id: String(id) });
  const asked = at.upstream.requests.at(-1)?.json;
  expect(asked?.previous_response_id).toBeUndefined();
  expect(JSON.stringify(asked?.input)).toContain('grüß 😀 dich');
});

it('a relayed answer that is not stored has the id by which its provider knows it', async () => {
  const { final } = await heardOf(await place('off'), 'responses/m', { steps: [STREAM.responses] });
  expect(final).toMatchObject({ id: 'resp_7', output_text: 'grüß 😀 dich' });
});

it.each<[string, string, Script, string[]]>([
  ['a stream that no target answers', 'chat/m', { steps: [CUT] }, []],
  [
    'a relayed stream that breaks off',
    'responses/m',
    { steps: [...STREAM.responses.split(/(?<=\n\n)/).slice(0, 4), CUT] },
    ['in_progress', 'output_item.added', 'content_part.added'],
  ],
])('%s fails as the answer that it is', async (_, model, { steps = [] }, types) => {
  const { upstream, clock, client } = await place();
  const fail = gate();
  upstream.play({ steps: [fail.opened, ...steps] });
  const asking = client.responses
    .create({ model, input: 'hi', stream: true })
    .asResponse()
    .then((response) => response.text());
  await upstream.next();
  clock.advance(SILENCE_MS);
  fail.open();
  const text = await asking;
  const names = ['created', 'in_progress', ...types].map((type) => `event: response.${type}`);
  expect(text.match(/^event: .*$/gm)).toEqual([...names, 'event: error', 'event: response.failed']);
  const numbers = [...text.matchAll(/"sequence_number":(\d+)/g)].map(([, number]) => Number(number));
  expect(numbers).toEqual([...names, '', ''].map((__, at) => at));
  expect(new Set(text.match(/resp_[A-Za-z0-9]+/g)).size).toBe(1);
  expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
});
