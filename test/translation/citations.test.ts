// Sources of an answer: pages cross to chat with their places in the whole text; what the other side has no form for stays out,
// and nothing reaches a client in a shape of the other protocol.
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/canonical/json.ts';
import { createLosses } from '../../src/gateway/reply/losses.ts';
import { bodyOf } from '../../src/protocols/json/body.ts';
import { protocols } from '../../src/protocols/registry.ts';
import { chunks, completion, crossed, crossedStream, events, message } from './answers.ts';
import { collected, context, eventsIn } from './pipeline.ts';

const page = (url: string, title: string | null): JsonObject => ({
  type: 'web_search_result_location',
  url,
  title,
  cited_text: '…',
  encrypted_index: 'x',
});
const place: JsonObject = {
  type: 'char_location',
  cited_text: '…',
  document_index: 0,
  document_title: 'Notes',
  start_char_index: 0,
  end_char_index: 3,
  file_id: null,
};
const ANSWER: JsonObject[] = [
  { type: 'text', text: 'One, ' },
  { type: 'text', text: 'two', citations: [page('https://a.example', 'A'), place] },
  { type: 'text', text: ' and three', citations: [page('https://b.example', null)] },
];
const annotation = (start_index: number, end_index: number, url: string, title: string): JsonObject => ({
  type: 'url_citation',
  url_citation: { start_index, end_index, url, title },
});
const ANNOTATIONS = [annotation(5, 8, 'https://a.example', 'A'), annotation(8, 18, 'https://b.example', '')];

it('pages of a messages provider are annotations of a chat client, whole and streamed', () => {
  expect(crossed('chat', 'messages', message(ANSWER, 'end_turn'))).toHaveProperty('choices.0.message', {
    role: 'assistant',
    content: 'One, two and three',
    refusal: null,
    annotations: ANNOTATIONS,
  });
  const streamed = crossedStream('chat', 'messages', events(ANSWER, 'end_turn')).flatMap(({ choices }) =>
    (choices as { delta: { annotations?: JsonObject[] } }[]).flatMap(({ delta }) => delta.annotations ?? []),
  );
  expect(streamed).toEqual(ANNOTATIONS);
});

it('a search result that a client gave is an annotation where its source is a page', () => {
  const result = (source: string): JsonObject => ({
    type: 'search_result_location',
    cited_text: '…',
    source,
    title: 'T',
    search_result_index: 0,
    start_block_index: 0,
    end_block_index: 1,
  });
  const citations = [result('https://a.example'), result('notes/today.md')];
  const answer = message([{ type: 'text', text: 'two', citations }], 'end_turn');
  expect(crossed('chat', 'messages', answer)).toHaveProperty('choices.0.message.annotations', [
    annotation(0, 3, 'https://a.example', 'T'),
  ]);
  expect(crossed('messages', 'messages', answer).content).toEqual([{ type: 'text', text: 'two', citations }]);
});

it.each([
  ['One.', 'Two.', 'One.\n\nTwo.'],
  ['One.\n', 'Two.', 'One.\n\nTwo.'],
  ['One.', '\n\nTwo.', 'One.\n\nTwo.'],
  ['One.\n', '\n\nTwo.', 'One.\n\n\nTwo.'],
  ['', 'Two.', 'Two.'],
])('%j and %j on two sides of a server tool are two paragraphs', (before, after, whole) => {
  const answer: JsonObject[] = [
    { type: 'text', text: before },
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'x' } },
    { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] },
    { type: 'text', text: after, citations: [page('https://a.example', 'A')] },
    { type: 'text', text: ' Three.' },
  ];
  const annotations = [annotation(whole.length - after.length, whole.length, 'https://a.example', 'A')];
  expect(crossed('chat', 'messages', message(answer, 'end_turn'))).toHaveProperty('choices.0.message', {
    role: 'assistant',
    content: `${whole} Three.`,
    refusal: null,
    annotations,
  });
  const deltas = crossedStream('chat', 'messages', events(answer, 'end_turn')).flatMap(({ choices }) =>
    (choices as { delta: { content?: string; annotations?: JsonObject[] } }[]).map(({ delta }) => delta),
  );
  expect(deltas.map(({ content = '' }) => content).join('')).toBe(`${whole} Three.`);
  expect(deltas.flatMap((delta) => delta.annotations ?? [])).toEqual(annotations);
});

it('an answer without sources has no annotations', () => {
  const plain = message([{ type: 'text', text: 'hi', citations: [place] }], 'end_turn');
  expect(crossed('chat', 'messages', plain)).not.toHaveProperty('choices.0.message.annotations');
});

it('annotations of a chat provider come through chat as they came, whole and streamed', () => {
  const said = { content: 'One, two and three', annotations: ANNOTATIONS };
  expect(crossed('chat', 'chat', completion(said, 'stop'))).toHaveProperty(
    'choices.0.message.annotations',
    ANNOTATIONS,
  );
  expect(JSON.stringify(crossedStream('chat', 'chat', chunks(said, 'stop')))).toContain(
    JSON.stringify(ANNOTATIONS),
  );
});

describe('a messages client reads behind the text', () => {
  const LIST = '\n\nSources:\n[1] A: https://a.example\n[2] https://b.example';
  const [a, b] = ['https://a.example', 'https://b.example'];
  const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } };
  const results = [{ url: a, title: 'A', date: null }, { url: b }];

  const texts = (blocks: unknown): unknown[] =>
    (blocks as JsonObject[]).filter(({ type }) => type === 'text').map(({ text }) => text);
  const streamed = (said: JsonObject, over: JsonObject): string =>
    crossedStream('messages', 'chat', chunks(said, 'stop', over))
      .map(({ delta }) => (delta as { text?: string } | undefined)?.text ?? '')
      .join('');

  it.each<[name: string, said: JsonObject, over: JsonObject]>([
    ['annotations', { annotations: ANNOTATIONS }, {}],
    ['annotations of one page in two places', { annotations: [...ANNOTATIONS, ...ANNOTATIONS] }, {}],
    ['citations and results beside the choices', {}, { citations: [a, b], search_results: results }],
    ['citations in the message', { citations: [{ url: a, title: 'A' }, b] }, {}],
    ['results alone', {}, { search_results: results }],
    ['annotations, and a further page', { annotations: ANNOTATIONS.slice(0, 1) }, { citations: [a, b] }],
    ['pages beside a call', { tool_calls: [call] }, { citations: [a, b], search_results: results }],
  ])('the pages of %s', (_, members, over) => {
    const said = { content: 'One, two and three', ...members };
    const whole = crossed('messages', 'chat', completion(said, 'stop', over));
    expect(texts(whole.content)).toEqual([said.content + LIST]);
    expect(streamed(said, over)).toBe(said.content + LIST);
    expect(JSON.stringify(whole)).not.toContain('citation"');
  });

  it('none in JSON that was asked for', () => {
    const said = { content: '{"a":1}', annotations: ANNOTATIONS };
    const asked = protocols.messages.client.readAsked(
      bodyOf({ output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } }),
    );
    expect(asked.responseFormat).toBeDefined();
    expect(texts(crossed('messages', 'chat', completion(said, 'stop'), asked).content)).toEqual(['{"a":1}']);
    const losses = createLosses(protocols.messages.client, String, asked);
    losses.reply(protocols.chat.provider.decodeReply(completion(said, 'stop')));
    expect(losses.list()).toEqual(['a citation']);
  });

  it('none where there is no text', () => {
    const whole = crossed(
      'messages',
      'chat',
      completion({ tool_calls: [call] }, 'tool_calls', { citations: [a] }),
    );
    expect(texts(whole.content)).toEqual([]);
  });
});

it('pages beside the choices are annotations of an answer that is put together', () => {
  const said = chunks({ content: 'two' }, 'stop', { citations: ['https://a.example'] });
  const [choice] = protocols.chat.client.encodeReply(collected(eventsIn('chat', said)), context('chat'))
    .choices as JsonObject[];
  expect(choice).toHaveProperty('message.annotations', [annotation(0, 3, 'https://a.example', '')]);
});

it('citations of a messages provider reach a messages client as they came', () => {
  expect(crossed('messages', 'messages', message(ANSWER, 'end_turn')).content).toEqual(ANSWER);
  const streamed = crossedStream('messages', 'messages', events(ANSWER, 'end_turn')).flatMap(({ delta }) => {
    const citation = (delta as JsonObject | undefined)?.citation;
    return citation === undefined ? [] : [citation];
  });
  expect(streamed).toEqual(ANSWER.flatMap(({ citations }) => citations ?? []));
});

it('the title of a cited document is its title', () => {
  const value = message([{ type: 'text', text: 'hi', citations: [place] }], 'end_turn');
  const [part] = protocols.messages.provider.decodeReply(value).parts;
  expect(part).toHaveProperty('citations.0.title', 'Notes');
});

it('a place in the whole text is one in its block', () => {
  const chunk = (delta: JsonObject): string =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`;
  const late = { content: 'two', annotations: [annotation(5, 8, 'https://a.example', 'A')] };
  const stream = [{ content: 'One, ' }, { reasoning_content: 'hm' }, late].map(chunk).join('');
  const [found] = eventsIn('chat', stream).filter(({ type }) => type === 'citation');
  expect(found).toMatchObject({ citation: { start: 0, end: 3 } });
});

describe('pages that a stream names before its first text', () => {
  const chunk = (delta: JsonObject, finish: string | null = null): string =>
    `data: ${JSON.stringify({ id: 'c', model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  const whole = { url_citation: { url: 'https://b.example', title: 'B' }, type: 'url_citation' };
  const PAGES = [annotation(5, 8, 'https://a.example', 'A'), whole];
  const first: [string, JsonObject[]][] = [
    ['in a chunk of their own', [{ role: 'assistant', content: '', annotations: PAGES }]],
    ['one by one', PAGES.map((page) => ({ annotations: [page] }))],
    ['while the model thinks', [{ reasoning: 'hm' }, { annotations: PAGES }, { reasoning: 'so' }]],
  ];

  it.each(first)('are cited by the text that follows, %s', (_, deltas) => {
    const said = [...deltas, { content: 'One, ' }, { content: 'two' }].map((delta) => chunk(delta));
    const stream = `${said.join('')}${chunk({}, 'stop')}data: [DONE]\n\n`;
    const found = eventsIn('chat', stream);
    expect(found.some(({ type }) => type === 'native')).toBe(false);
    const { content } = collectedAs('messages', stream);
    expect(JSON.stringify(content)).toContain('https://a.example');
    const { output } = collectedAs('responses', stream);
    expect((output as JsonObject[]).at(-1)).toHaveProperty('content.0.annotations', [
      { type: 'url_citation', start_index: 5, end_index: 8, url: 'https://a.example', title: 'A' },
      { type: 'url_citation', start_index: 0, end_index: 8, url: 'https://b.example', title: 'B' },
    ]);
    const last = crossedStream('responses', 'chat', stream).at(-1);
    expect((last?.response as { output: JsonObject[] }).output.at(-1)).toHaveProperty(
      'content.0.annotations.length',
      2,
    );
  });

  it('are reported as lost if no text follows', () => {
    const stream = `${chunk({ annotations: PAGES })}data: [DONE]\n\n`;
    const events = eventsIn('chat', stream);
    expect(events.map(({ type }) => type)).toEqual(['start', 'native', 'end']);
    const losses = createLosses(protocols.messages.client, String);
    for (const event of events) losses.event(event);
    expect(losses.list()).toHaveLength(1);
  });

  const collectedAs = (client: 'messages' | 'responses', stream: string): JsonObject =>
    protocols[client].client.encodeReply(collected(eventsIn('chat', stream)), context(client));
});

it('what is left out is reported', () => {
  const said = { content: 'One, two and three', annotations: ANNOTATIONS };
  const rows = [
    ['chat', 'messages', message(ANSWER, 'end_turn'), events(ANSWER, 'end_turn'), ['a citation']],
    [
      'chat',
      'messages',
      message([ANSWER[2] ?? {}], 'end_turn'),
      events([ANSWER[2] ?? {}], 'end_turn'),
      undefined,
    ],
    ['messages', 'chat', completion(said, 'stop'), chunks(said, 'stop'), undefined],
    ['chat', 'chat', completion(said, 'stop'), chunks(said, 'stop'), undefined],
  ] as const;
  for (const [client, provider, whole, stream, lost] of rows) {
    const ofWhole = createLosses(protocols[client].client, String);
    ofWhole.reply(protocols[provider].provider.decodeReply(whole));
    expect(ofWhole.list()).toEqual(lost);
    const ofStream = createLosses(protocols[client].client, String);
    for (const event of eventsIn(provider, stream)) ofStream.event(event);
    expect(ofStream.list()).toEqual(lost);
  }
});

it.each(['chat', 'messages'] as const)('a stop reason that %s has no word for is reported', (client) => {
  const provider = client === 'chat' ? 'messages' : 'chat';
  const [whole, stream] =
    provider === 'chat'
      ? [completion({ content: 'hi' }, 'new_word'), chunks({ content: 'hi' }, 'new_word')]
      : [
          message([{ type: 'text', text: 'hi' }], 'new_word'),
          events([{ type: 'text', text: 'hi' }], 'new_word'),
        ];
  const losses = createLosses(protocols[client].client, String);
  losses.reply(protocols[provider].provider.decodeReply(whole));
  expect(losses.list()).toEqual(['the stop reason new_word']);
  const ofStream = createLosses(protocols[client].client, String);
  for (const event of eventsIn(provider, stream)) ofStream.event(event);
  expect(ofStream.list()).toEqual(['the stop reason new_word']);
});

it('the category of a refusal, which chat has no place for, is reported', () => {
  const over = { stop_details: { type: 'refusal', category: 'bio', explanation: null } };
  const losses = createLosses(protocols.chat.client, String);
  losses.reply(protocols.messages.provider.decodeReply(message([], 'refusal', over)));
  expect(losses.list()).toEqual(['the category bio']);
});

describe('the responses protocol', () => {
  const text = 'One, two and three';
  const flat = ANNOTATIONS.map(({ url_citation: place }) => ({
    type: 'url_citation',
    ...(place as JsonObject),
  }));
  const item = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text, annotations: flat, logprobs: [] }],
  };
  const answer = { id: 'resp_1', object: 'response', status: 'completed', model: 'm', output: [item] };
  const at = { item_id: 'msg_1', output_index: 0, content_index: 0 };
  const stream = [
    { type: 'response.created', response: { ...answer, status: 'in_progress', output: [] } },
    { type: 'response.output_item.added', output_index: 0, item: { ...item, content: [] } },
    { type: 'response.output_text.delta', ...at, delta: text },
    ...flat.map((annotation, annotation_index) => ({
      type: 'response.output_text.annotation.added',
      ...at,
      annotation_index,
      annotation,
    })),
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: answer },
  ]
    .map((value) => `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`)
    .join('');

  it.each([
    ['messages', message(ANSWER, 'end_turn'), events(ANSWER, 'end_turn')],
    [
      'chat',
      completion({ content: text, annotations: ANNOTATIONS }, 'stop'),
      chunks({ content: text, annotations: ANNOTATIONS }, 'stop'),
    ],
  ] as const)('its clients get the pages of a %s provider as annotations', (provider, whole, streamed) => {
    expect(crossed('responses', provider, whole)).toHaveProperty('output.0.content', [
      { type: 'output_text', text, annotations: flat, logprobs: [] },
    ]);
    const got = crossedStream('responses', provider, streamed);
    expect(got.at(-1)).toHaveProperty('response.output.0.content.0.annotations', flat);
    const added = got.filter(({ type }) => type === 'response.output_text.annotation.added');
    expect(added.map(({ annotation }) => annotation)).toEqual(flat);
  });

  it('its annotations are those of a chat client, and a list behind the text of a messages client', () => {
    expect(crossed('chat', 'responses', answer)).toHaveProperty('choices.0.message.annotations', ANNOTATIONS);
    expect(JSON.stringify(crossedStream('chat', 'responses', stream))).toContain(JSON.stringify(ANNOTATIONS));
    const list = `${text}\n\nSources:\n[1] A: https://a.example\n[2] https://b.example`;
    expect(crossed('messages', 'responses', answer).content).toEqual([{ type: 'text', text: list }]);
    const pieces = crossedStream('messages', 'responses', stream).map(
      ({ delta }) => (delta as { text?: string } | undefined)?.text ?? '',
    );
    expect(pieces.join('')).toBe(list);
  });
});
