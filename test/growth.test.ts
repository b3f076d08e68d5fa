// Whoever sends a text that takes quadratic time stops the process for all others. Every regular expression of the folders that
// read what clients and providers write, and every function that goes over such a text, is measured here as the text grows.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path/posix';
import type TypeScript from 'typescript';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { estimateBody } from '../src/protocols/shared/hints.ts';
import { createCustomToolInput } from '../src/canonical/custom-tool-input.ts';
import { replay } from '../src/canonical/collect.ts';
import { wellFormedJson, type JsonObject } from '../src/canonical/json.ts';
import { createEventRestorer } from '../src/canonical/reverse-mapping.ts';
import { PROTOCOL_NAMES, type ClientProtocolName, type ProtocolName } from '../src/canonical/request.ts';
import { didYouMeanAll } from '../src/config/did-you-mean.ts';
import { GatewayError } from '../src/errors.ts';
import { errorOf } from '../src/gateway/outbound/fallback-error.ts';
import { headerList, headerText } from '../src/gateway/reply/response-headers.ts';
import { runAtEnd } from '../src/gateway/inbound/brakes/repeated-call.ts';
import { ownArrival, readRequest } from '../src/gateway/inbound/read-request.ts';
import { redact } from '../src/providers/redact.ts';
import { withoutKeys } from '../src/ids.ts';
import { pageTitle } from '../src/protocols/shared/failures/provider-error.ts';
import { rawJson } from '../src/protocols/json/raw-json.ts';
import { measureJson, rangesOf, scanMembers } from '../src/protocols/json/splice.ts';
import { PartialObject } from '../src/protocols/json/partial-object.ts';
import { CallInput } from '../src/protocols/messages/stream/encoder-blocks.ts';
import { cleanBody } from '../src/protocols/messages/relay.ts';
import { isOverflow, overflowTokens } from '../src/protocols/shared/failures/context-overflow.ts';
import { protocols } from '../src/protocols/registry.ts';
import { createSplitter } from '../src/protocols/sse/splitter.ts';
import { makeFrame } from '../src/protocols/sse/frame.ts';
import { argumentsToObject, fitToolName } from '../src/protocols/shared/tools/tool-names.ts';
import { mendArguments } from '../src/repair/damaged-arguments.ts';
import { fasterThanLinear, isDone } from './helpers/growth.ts';
import { BOTH, type OneOfBoth, context, mover, NOTHING, send } from './translation/pipeline.ts';
import { clientOf, cross, crossTo } from './translation/cross.ts';
import { provider } from './routing/fixtures.ts';
import { ts } from './helpers/typescript.ts';
import { bodyOf } from '../src/protocols/json/body.ts';

// Processor time is measured: where others load the machine, a test waits long for its own.
vi.setConfig({ testTimeout: 120_000 });

const SOURCE = join(import.meta.dirname, '..', 'src');
/** Folders and files that read what strangers wrote. */
const READERS = [
  'accounts',
  'canonical',
  'gateway',
  'protocols',
  'providers',
  'repair',
  'routing',
  'server',
  'log.ts',
];

function filesOf(path: string): string[] {
  if (path.endsWith('.ts')) return [path];
  return readdirSync(join(SOURCE, path), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(path, name));
}

/** Every literal once. */
function expressionsIn(path: string): string[] {
  const found: string[] = [];
  const visit = (node: TypeScript.Node): void => {
    if (ts.isRegularExpressionLiteral(node)) found.push(node.text);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(path, readFileSync(join(SOURCE, path), 'utf8'), ts.ScriptTarget.Latest));
  return found;
}

const EXPRESSIONS = [...new Set(READERS.flatMap(filesOf).flatMap(expressionsIn))];

function expression(literal: string): RegExp {
  const end = literal.lastIndexOf('/');
  return new RegExp(literal.slice(1, end), literal.slice(end + 1));
}

/** Characters, and pieces of what is looked for, which may all be the beginning of a match that never comes. */
const HOSTILE = [
  ...' aA0"\\[](){}<>:/-.;,=&?@_%+\n\'',
  'a.',
  'a:',
  '1.',
  '1_',
  '1,',
  ': ',
  '\\"',
  '{"',
  '"}',
];

function hostileTo(literal: string): string[] {
  const words = literal.match(/[\w"' ,:/@=-]{2,}/g) ?? [];
  return [...HOSTILE, ...new Set(words.flatMap((word) => [word, `${word} `, `${word}":`]))];
}

type Text = (characters: number) => string;

function textOf(piece: string, before = '', after = ''): Text {
  return (characters) => before + piece.repeat(Math.ceil(characters / piece.length)) + after;
}

function apply(pattern: RegExp, text: string): unknown {
  pattern.lastIndex = 0;
  return pattern.global ? text.replace(pattern, '') : pattern.exec(text);
}

/** Milliseconds: a hundred times as long as linear work takes at 10,000 characters. */
const SUSPECT = 100;

/**
 * The one that takes longest at 10,000 characters: what is quadratic takes a hundred times as long as what is not. Two suspects are
 * enough: all others may take as long as they do. Each text is worked on once before, shorter: the first calls of a function are slow.
 */
function worstOf(work: (text: string) => unknown, texts: readonly Text[]): Text | undefined {
  // Infinity: the work on it was ended.
  const timed: { text: Text; time: number }[] = [];
  isDone(() => {
    for (const text of texts) {
      const one = { text, time: Infinity };
      timed.push(one);
      work(text(100));
      one.time = 0;
    }
    for (const one of timed) {
      const given = one.text(10_000);
      one.time = Infinity;
      const before = performance.now();
      work(given);
      one.time = performance.now() - before;
      if (timed.filter(({ time }) => time > SUSPECT).length > 2) return;
    }
  });
  return timed.sort((a, b) => b.time - a.time)[0]?.text;
}

function expectLinear(work: (text: string) => unknown, texts: readonly Text[]): void {
  const text = worstOf(work, texts);
  if (text !== undefined) expectTextLinear(work, text);
}

function expectTextLinear(work: (text: string) => unknown, text: Text): void {
  const found = fasterThanLinear((characters) => {
    const given = text(characters);
    return () => work(given);
  });
  expect(found && [text(20), found]).toBeUndefined();
}

describe('what grows too fast is found at the first step that shows it', () => {
  it('quadratic work, after one try', () => {
    let spent = 0;
    const clock = vi.spyOn(process, 'cpuUsage').mockImplementation((before) => ({
      user: spent - (before?.user ?? 0),
      system: 0,
    }));
    onTestFinished(() => clock.mockRestore());
    const measured: number[] = [];
    const found = fasterThanLinear((characters) => () => {
      measured.push(characters);
      spent += 12_000 * (characters / 10_000) ** 2;
    });
    expect(found).toBe('100000 characters: 1200.0 ms, a tenth of them: 12.0 ms');
    expect(measured).toEqual([1000, 10_000, 100_000]);
  });

  it('an expression that never ends', () => {
    const found = fasterThanLinear((characters) => () => /^(a+)+$/.exec(`${'a'.repeat(characters)}b`), 100);
    expect(found).toBe('1000 characters: not done in 100 ms');
  });
});

describe('regular expressions', () => {
  it('are found', () => {
    expect(EXPRESSIONS.length).toBeGreaterThan(50);
  });

  it.each(EXPRESSIONS)('%s', (literal) => {
    const pattern = expression(literal);
    const texts = hostileTo(literal).flatMap((piece) => [textOf(piece), textOf(piece, '', '\u0000')]);
    expectLinear((text) => apply(pattern, text), texts);
  });
});

const OWNER = provider('p', ['m'], { apiKey: 'plainsecretvalue', headers: { 'x-team': 'teamsecret1' } });

/** The refusal of a provider as the client gets it. */
function refused(speaks: ProtocolName, error: JsonObject): unknown {
  const body = JSON.stringify({ error });
  const failure = protocols[speaks].provider.decodeError(400, new Map(), body);
  const target = { provider: OWNER, key: 'p/m', traits: {} } as never;
  return errorOf([{ target, failure }], { estimate: () => 1, coolingMs: () => undefined });
}

function many<T>(characters: number, each: number, make: (at: number) => T): T[] {
  return Array.from({ length: characters / each }, (_, at) => make(at));
}

/** The bytes of each size are made once. */
function remembered(make: (characters: number) => Buffer): (characters: number) => Buffer {
  const made = new Map<number, Buffer>();
  return (characters) => {
    const bytes = made.get(characters) ?? make(characters);
    made.set(characters, bytes);
    return bytes;
  };
}

/** A stream in chunks of 64 KB, as a client of the other protocol gets it. */
function translated(speaks: ProtocolName, bytes: Buffer, restore = NOTHING): () => unknown {
  const chunks = many(bytes.length + 65_536, 65_536, (at) => bytes.subarray(at * 65_536, (at + 1) * 65_536));
  const client = speaks === 'chat' ? 'messages' : 'chat';
  return () => send(chunks, mover(client, speaks, restore));
}

const chunk = (delta: JsonObject, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const event = (value: JsonObject & { type: string }): string =>
  `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`;
const called = (call: JsonObject): string => chunk({ tool_calls: [call] });
const CUSTOM = { ...NOTHING, customTools: new Set(['f']) };

/** Frames of some hundred bytes. */
const CHAT_STREAMS: Record<string, (at: number) => string> = {
  'calls, each whole': (at) =>
    called({ index: at, id: `c${at}`, function: { name: 'f', arguments: '{"a":1}' } }),
  'calls of one id': (at) => called({ index: at, id: 'c', function: { name: 'f', arguments: '{"a":1}' } }),
  'calls without index and id': () => called({ function: { name: 'f', arguments: '{"a":1}' } }),
  'arguments in pieces': (at) =>
    called({ index: 0, function: { name: at === 0 ? 'f' : '', arguments: at === 0 ? '{"a":"' : 'x' } }),
  'arguments of blanks': (at) =>
    called({ index: 0, function: { name: at === 0 ? 'f' : '', arguments: ' ' } }),
  text: () => chunk({ content: 'word ' }),
  'blank text': () => chunk({ content: ' ' }),
  'text between calls': (at) =>
    at % 2 === 0
      ? chunk({ content: 'a' })
      : called({ index: at, id: `c${at}`, function: { name: 'f', arguments: '{}' } }),
  'thoughts and text in turn': (at) => chunk(at % 2 === 0 ? { reasoning_content: 'a' } : { content: 'b' }),
  'thoughts with seals': (at) =>
    chunk({ reasoning_details: [{ type: 'reasoning.text', text: 'a', signature: `s${at}`, index: at }] }),
  comments: () => ': processing of a request that takes its time, so that connections stay open\n\n',
};

const MESSAGES_STREAMS: Record<string, (at: number) => string> = {
  'blocks of text': (index) =>
    event({ type: 'content_block_start', index, content_block: { type: 'text', text: '' } }) +
    event({ type: 'content_block_delta', index, delta: { type: 'text_delta', text: 'a' } }) +
    event({ type: 'content_block_stop', index }),
  'blocks that stay open': (index) =>
    event({
      type: 'content_block_start',
      index,
      content_block: { type: 'tool_use', id: `t${index}`, name: 'f', input: {} },
    }),
  'thinking in pieces': (at) =>
    at === 0
      ? event({ type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } })
      : event({ type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'a' } }),
};

const user = (content: JsonObject['']): JsonObject => ({ role: 'user', content: content ?? null });
const said = (content: JsonObject['']): JsonObject => ({ role: 'assistant', content: content ?? null });
const chatCall = (at: number, args = '{"a":1}'): JsonObject => ({
  id: `c${at}`,
  type: 'function',
  function: { name: 'f', arguments: args },
});

/** Members of requests of some hundred bytes an item. */
const CHAT_REQUESTS: Record<string, (items: number) => JsonObject> = {
  turns: (items) => ({
    messages: Array.from({ length: items }, (_, at) => (at % 2 === 0 ? user('a') : said('b'))),
  }),
  'system messages in between': (items) => ({
    messages: Array.from({ length: items }, (_, at) =>
      at % 2 === 0 ? user('a') : { role: 'system', content: 'b' },
    ),
  }),
  'parts of one message': (items) => ({
    messages: [user(Array.from({ length: items }, () => ({ type: 'text', text: 'a' })))],
  }),
  'calls and results': (items) => ({
    messages: Array.from({ length: items }, (_, at) => [
      { ...said(null), tool_calls: [chatCall(at)] },
      { role: 'tool', tool_call_id: `c${at}`, content: 'x' },
    ]).flat(),
  }),
  'calls of one turn, results in reverse': (items) => ({
    messages: [
      { ...said(null), tool_calls: Array.from({ length: items }, (_, at) => chatCall(at)) },
      ...Array.from({ length: items }, (_, at) => ({
        role: 'tool',
        tool_call_id: `c${items - at - 1}`,
        content: 'x',
      })),
    ],
  }),
  'results without calls': (items) => ({
    messages: Array.from({ length: items }, (_, at) => ({
      role: 'tool',
      tool_call_id: `c${at}`,
      content: 'x',
    })),
  }),
  'functions of old': (items) => ({
    messages: Array.from({ length: items }, (_, at) => [
      { ...said(null), function_call: { name: `f${at % 3}`, arguments: '{}' } },
      { role: 'function', name: `f${at % 3}`, content: 'x' },
    ]).flat(),
  }),
  tools: (items) => ({
    tools: Array.from({ length: items }, (_, at) => ({
      type: 'function',
      function: { name: `tool ${at}`, parameters: { type: 'object' } },
    })),
  }),
  'members that nobody knows': (items) =>
    Object.fromEntries(Array.from({ length: items }, (_, at) => [`unknown_${at}`, 1])),
};

const MESSAGES_REQUESTS: Record<string, (items: number) => JsonObject> = {
  turns: CHAT_REQUESTS.turns ?? (() => ({})),
  'blocks of one message': (items) => ({
    messages: [user(Array.from({ length: items }, () => ({ type: 'text', text: 'a' })))],
  }),
  'calls and results': (items) => ({
    messages: Array.from({ length: items }, (_, at) => [
      said([{ type: 'tool_use', id: `t${at}`, name: 'f', input: { 1: 1.5 } }]),
      user([{ type: 'tool_result', tool_use_id: `t${at}`, content: [{ type: 'text', text: 'x' }] }]),
    ]).flat(),
  }),
  'calls of one turn': (items) => ({
    messages: [
      said(
        Array.from({ length: items }, (_, at) => ({ type: 'tool_use', id: `t${at}`, name: 'f', input: {} })),
      ),
      user(
        Array.from({ length: items }, (_, at) => ({
          type: 'tool_result',
          tool_use_id: `t${at}`,
          content: 'x',
        })),
      ),
    ],
  }),
  'system blocks': (items) => ({
    system: Array.from({ length: items }, () => ({ type: 'text', text: 'a' })),
  }),
  tools: (items) => ({
    tools: Array.from({ length: items }, (_, at) => ({
      name: `tool ${at}`,
      input_schema: { type: 'object' },
    })),
  }),
  'thinking without a seal': (items) => ({
    messages: [
      user('a'),
      ...Array.from({ length: items }, () =>
        said([
          { type: 'thinking', thinking: 'a', signature: '' },
          { type: 'text', text: 'b' },
        ]),
      ),
      user('c'),
    ],
  }),
};

const WHOLE: Record<OneOfBoth, (items: number) => JsonObject> = {
  chat: (items) => ({
    id: 'c',
    choices: [
      {
        index: 0,
        finish_reason: 'tool_calls',
        message: {
          role: 'assistant',
          tool_calls: Array.from({ length: items }, (_, at) => chatCall(at, '{"a":1.0}')),
        },
      },
    ],
  }),
  messages: (items) => ({
    id: 'm',
    type: 'message',
    role: 'assistant',
    stop_reason: 'tool_use',
    content: Array.from({ length: items }, (_, at) => ({
      type: 'tool_use',
      id: `t${at}`,
      name: 'f',
      input: { 1: 1.5 },
    })),
  }),
};

function wholeAnswer(speaks: OneOfBoth, items: number): () => unknown {
  const source = Buffer.from(JSON.stringify(WHOLE[speaks](items)));
  const client = speaks === 'chat' ? 'messages' : 'chat';
  return () => {
    const reply = protocols[speaks].provider.decodeReply(JSON.parse(source.toString()), source);
    const encoder = protocols[client].client.createStreamEncoder(context(client));
    for (const value of replay(reply)) encoder.push(value);
    return rawJson(protocols[client].client.encodeReply(reply, context(client)));
  };
}

const CLIENT_NAMES: readonly ClientProtocolName[] = [...PROTOCOL_NAMES, 'ollama'];

/** A prompt, and two calls with equal arguments and results, of which each is the text. */
function historyWith(name: ClientProtocolName, text: string): JsonObject {
  const calls = [0, 1].flatMap((at): JsonObject[] => {
    if (name === 'responses')
      return [
        { ...responsesCall(at), arguments: text },
        { ...responsesResult(at), output: text },
      ];
    if (name === 'messages')
      return [
        said([{ type: 'tool_use', id: `t${at}`, name: 'f', input: { a: text } }]),
        user([{ type: 'tool_result', tool_use_id: `t${at}`, content: text }]),
      ];
    return [
      { ...said(null), tool_calls: [chatCall(at, text)] },
      { role: 'tool', tool_call_id: `c${at}`, content: text },
    ];
  });
  const history = [user(text), ...calls];
  return name === 'responses' ? { input: history } : { messages: history };
}

/** As far as it goes: some are refused. */
function crossed(members: JsonObject): unknown {
  try {
    return cross('chat', members);
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
}

/** Texts that a function sees in one piece. */
const ON_TEXT: Record<string, (text: string) => unknown> = {
  scrub: (text) => redact(text, OWNER),
  'a name in a header': headerText,
  'names in a header': (text) => headerList(text.split(' ')),
  'the redaction of keys': withoutKeys,
  'the title of a page': (text) => pageTitle(`<title>${text}`),
  'counts of tokens': (text) => [overflowTokens(text, text), isOverflow({ message: text }, 400)],
  'halves of pairs': wellFormedJson,
  'the name of a tool': (text) => fitToolName(text, 64),
  'the text of a custom tool': (text) => createCustomToolInput().push(`{"input":"${text}`),
  'an object in pieces': (text) => new PartialObject().push(`{"a":"${text}`),
  'arguments that break off': (text) => {
    const input = new CallInput();
    input.push(`{"a":"${text}`);
    return input.rest();
  },
  'damaged arguments of the history': (text) => [mendArguments(text), mendArguments(`x{"a":"${text}`)],
  'arguments as an object': (text) => argumentsToObject(`{"a": 1.0, "b":${JSON.stringify(text)}}`),
  'a data URL': (text) =>
    crossed({ messages: [user([{ type: 'image_url', image_url: { url: `data:${text}` } }])] }),
  'a data URL of text': (text) =>
    crossed({
      messages: [user([{ type: 'image_url', image_url: { url: `data:text/plain,${text}` } }])],
    }),
  'a file': (text) =>
    crossed({ messages: [user([{ type: 'file', file: { file_data: `data:x;${text}` } }])] }),
  'an estimate': (text) => estimateBody({ messages: [user(text)] }),
  'the run at the end of a history, with a text in each place': (text) =>
    CLIENT_NAMES.map((name) => runAtEnd(clientOf(name).hints.steps(historyWith(name, text)), 2)),
  'members of a body': (text) => {
    const bytes = Buffer.from(`{"a":${JSON.stringify(text)},"b":"${text}`);
    return [scanMembers(bytes, 512), measureJson(bytes, 512), rangesOf(bytes, 0, bytes.length)];
  },
  'a body': (text) => {
    try {
      return readRequest(ownArrival(protocols.chat), Buffer.from(`{"messages":${text}`));
    } catch (error) {
      return error;
    }
  },
  'events of a stream': (text) =>
    createSplitter({ maxFrame: 1 << 26 }).push(Buffer.from(`data: ${text}\n\n`)),
  'data of an event': (text) =>
    createSplitter({ maxFrame: 1 << 26 }).push(Buffer.from(`data: ${text}\r\n\r\n`))[0]?.data,
  'an error event': (text) =>
    BOTH.map((speaks) =>
      protocols[speaks].provider
        .createStreamDecoder({ ids: { random: () => 'x' }, traits: {} as never })
        .push(makeFrame('error', text)),
    ),
  'a refusal': (text) =>
    BOTH.map((speaks) =>
      refused(speaks, { message: text, param: text, code: text, type: 'x', details: { a: text } }),
    ),
  'a refusal that is no JSON': (text) =>
    BOTH.map((speaks) => protocols[speaks].provider.decodeError(400, new Map(), `<html>${text}`)),
  'frames of a stream that are looked at': (text) =>
    BOTH.map((speaks) =>
      protocols[speaks].relay.createClassifier({ usageAsked: true }).isQuiet(`data: {"a":"${text}`),
    ),
};

describe('a text in one piece', () => {
  it.each(Object.entries(ON_TEXT))('%s', (_, work) => {
    const pieces = [
      ...'[<0":\\ ;&/\n',
      '\\"',
      'a.',
      '1,',
      'http://',
      '[:',
      '<title',
      'max_tokens 1',
      '"n_ctx" ',
      '&key',
      '\\ud',
      '{"',
      '[{',
      '<system-reminder>',
      '<environment_details></environment_context>',
      'Wall time: 1',
    ];
    expectLinear(
      work,
      pieces.map((piece) => textOf(piece)),
    );
  });
});

/** An expression that repeats a group needs stack for each repetition. */
describe('a text of megabytes in one piece', () => {
  const megabytes = 12_000_000;

  // A hundred thousand escapes were too many for one expression.
  it.each([
    { piece: 'n', length: megabytes },
    { piece: '\\n', length: 400_000 },
    { piece: '\\u0041', length: 1_200_000 },
  ])('of a custom tool, of $piece', ({ piece, length }) => {
    const text = createCustomToolInput();
    const json = `{"input":"${textOf(piece)(length)}"}`;
    expect(text.push(json)).toBe((JSON.parse(json) as { input: string }).input);
    expect(text.finish()).toBe('');
  });

  it.each([';', ';a', 'a', ' '])('in the head of a data URL, of %j', (piece) => {
    const url = `data:image/png${textOf(piece)(megabytes)};base64,AAAA`;
    expect(() => crossed({ messages: [user([{ type: 'image_url', image_url: { url } }])] })).not.toThrow();
  });

  it.each([';', 'a'])('in the body of a data URL, of %j', (piece) => {
    const url = `data:image/png;base64,${textOf(piece)(megabytes)}`;
    expect(() => crossed({ messages: [user([{ type: 'image_url', image_url: { url } }])] })).not.toThrow();
  });
});

describe('a text in pieces', () => {
  it.each([
    ['of blanks, of a custom tool', ' ', createCustomToolInput],
    [
      'of blanks behind a brace, of a custom tool',
      ' ',
      () => {
        const text = createCustomToolInput();
        text.push('{');
        return text;
      },
    ],
    [
      'of escapes, of a custom tool',
      '\\',
      () => {
        const text = createCustomToolInput();
        text.push('{"input":"');
        return text;
      },
    ],
    ['of another form, of a custom tool', '[', createCustomToolInput],
    ['of arguments', ' ', () => new CallInput()],
  ])('%s', (_, piece, make: () => { push(piece: string): string }) => {
    const found = fasterThanLinear((characters) => () => {
      const reader = make();
      for (let at = 0; at < characters; at++) reader.push(piece);
    });
    expect(found).toBeUndefined();
  });

  it('that may be the beginning of a long stop sequence', () => {
    const found = fasterThanLinear((characters) => () => {
      const restorer = createEventRestorer({ ...NOTHING, stop: [`${'ab'.repeat(characters / 4)}c`] });
      for (let at = 0; at < characters / 100; at++) {
        restorer.push({ type: 'text_delta', index: 0, text: 'ab'.repeat(50) });
      }
    });
    expect(found).toBeUndefined();
  });

  it('in chunks of few bytes', () => {
    const found = fasterThanLinear((characters) => () => {
      const splitter = createSplitter({ maxFrame: 1 << 26 });
      for (let at = 0; at < characters / 4; at++) splitter.push(Buffer.from('data'));
    });
    expect(found).toBeUndefined();
  });
});

describe('a stream that is translated', () => {
  it.each(Object.entries(CHAT_STREAMS))('of %s', (_, frame) => {
    // Custom tools change what is done with the pieces of calls alone.
    const bytes = remembered((characters) =>
      Buffer.from([...many(characters, 100, frame), chunk({}, 'stop'), 'data: [DONE]\n\n'].join('')),
    );
    for (const restore of frame(0).includes('tool_calls') ? [NOTHING, CUSTOM] : [NOTHING]) {
      const found = fasterThanLinear((characters) => translated('chat', bytes(characters), restore));
      expect(found).toBeUndefined();
    }
  });

  it.each(Object.entries(MESSAGES_STREAMS))('of %s', (_, frame) => {
    const start = event({ type: 'message_start', message: { id: 'm', content: [], usage: {} } });
    const found = fasterThanLinear((characters) =>
      translated(
        'messages',
        Buffer.from([start, ...many(characters, 100, frame), event({ type: 'message_stop' })].join('')),
      ),
    );
    expect(found).toBeUndefined();
  });
});

/** A call of a function takes 125,000 arguments: they are on the stack. When most of it is full, it takes fewer. */
const MOST_ARGUMENTS = 25_000;

function withLittleStack(work: () => unknown): unknown {
  return Reflect.apply(work, undefined, new Array(105_000));
}

describe('a whole answer that is translated', () => {
  it.each(BOTH)('of many calls, from %s', (speaks) => {
    expect(fasterThanLinear((characters) => wholeAnswer(speaks, characters / 100))).toBeUndefined();
  });

  it.each(BOTH)('of more calls than a call of a function can take arguments, from %s', (speaks) => {
    const work = wholeAnswer(speaks, MOST_ARGUMENTS);
    expect(() => withLittleStack(() => Math.max(...new Array<number>(MOST_ARGUMENTS)))).toThrow(RangeError);
    expect(() => withLittleStack(work)).not.toThrow();
  });
});

const namedCall = (name: string): JsonObject => ({ function: { name, arguments: {} } });

/** Histories of Ollama's clients, whose calls have no ids as a rule. */
const OLLAMA_REQUESTS: Record<string, (items: number) => JsonObject> = {
  turns: CHAT_REQUESTS.turns ?? (() => ({})),
  'calls and results': (items) => ({
    messages: Array.from({ length: items }, (_, at) => [
      { ...said(''), tool_calls: [{ function: { name: 'f', arguments: { a: at } } }] },
      { role: 'tool', tool_name: 'f', content: 'x' },
    ]).flat(),
  }),
  'calls of one turn, by name in reverse': (items) => ({
    messages: [
      { ...said(''), tool_calls: Array.from({ length: items }, (_, at) => namedCall(`f${at}`)) },
      ...Array.from({ length: items }, (_, at) => ({
        role: 'tool',
        tool_name: `f${items - at - 1}`,
        content: 'x',
      })),
    ],
  }),
  'calls of one turn, by id in reverse': (items) => ({
    messages: [
      {
        ...said(''),
        tool_calls: Array.from({ length: items }, (_, at) => ({ id: `c${at}`, ...namedCall('f') })),
      },
      ...Array.from({ length: items }, (_, at) => ({
        role: 'tool',
        tool_call_id: `c${items - at - 1}`,
        content: 'x',
      })),
    ],
  }),
  'calls of one turn, results of none of them': (items) => ({
    messages: [
      { ...said(''), tool_calls: Array.from({ length: items }, () => namedCall('f')) },
      ...Array.from({ length: items }, () => ({ role: 'tool', tool_name: 'other', content: 'x' })),
    ],
  }),
  'results without calls': (items) => ({
    messages: Array.from({ length: items }, () => ({ role: 'tool', tool_name: 'f', content: 'x' })),
  }),
  images: (items) => ({
    messages: [{ ...user('a'), images: Array.from({ length: items }, () => 'iVBORw0KGgo=') }],
  }),
  tools: CHAT_REQUESTS.tools ?? (() => ({})),
  options: (items) => ({
    messages: [user('a')],
    options: Object.fromEntries(Array.from({ length: items }, (_, at) => [`unknown_${at}`, 1])),
  }),
};

describe("a request of Ollama's clients", () => {
  it.each(Object.entries(OLLAMA_REQUESTS))('of %s', (_, make) => {
    for (const speaks of PROTOCOL_NAMES) {
      const found = fasterThanLinear((characters) => {
        const members = make(characters / 100);
        return () => crossTo('ollama', speaks, members);
      });
      expect(found && [speaks, found]).toBeUndefined();
    }
  });
});

const responsesCall = (at: number): JsonObject => ({
  type: 'function_call',
  call_id: `c${at}`,
  name: 'f',
  arguments: '{"a":1}',
});
const responsesResult = (at: number): JsonObject => ({
  type: 'function_call_output',
  call_id: `c${at}`,
  output: 'x',
});

const RESPONSES_HISTORIES: Record<string, (items: number) => JsonObject> = {
  'calls and results': (items) => ({
    input: Array.from({ length: items }, (_, at) => [responsesCall(at), responsesResult(at)]).flat(),
  }),
  'calls of one turn, results in reverse': (items) => ({
    input: [
      ...Array.from({ length: items }, (_, at) => responsesCall(at)),
      ...Array.from({ length: items }, (_, at) => responsesResult(items - at - 1)),
    ],
  }),
  'calls of one id': (items) => ({
    input: Array.from({ length: items }, () => [responsesCall(0), responsesResult(0)]).flat(),
  }),
  'parts of one message': (items) => ({
    input: [user(Array.from({ length: items }, () => ({ type: 'input_text', text: 'a' })))],
  }),
};

/** Bodies that brakes look at, by protocol. */
const HISTORIES: readonly (readonly [ClientProtocolName, string, (items: number) => JsonObject])[] = [
  ...Object.entries(CHAT_REQUESTS).map(([name, make]) => ['chat', name, make] as const),
  ...Object.entries(MESSAGES_REQUESTS).map(([name, make]) => ['messages', name, make] as const),
  ...Object.entries(RESPONSES_HISTORIES).map(([name, make]) => ['responses', name, make] as const),
  ...Object.entries(OLLAMA_REQUESTS).map(([name, make]) => ['ollama', name, make] as const),
];

describe('the steps of a history, and the run at its end', () => {
  it.each(HISTORIES)('%s: %s', (from, _, make) => {
    const { hints } = clientOf(from);
    const found = fasterThanLinear((characters) => {
      const members = make(characters / 100);
      return () => runAtEnd(hints.steps(members), 3);
    });
    expect(found).toBeUndefined();
  });
});

describe('a request that is translated', () => {
  it.each([
    ...Object.entries(CHAT_REQUESTS).map(([name, make]) => ['chat', name, make] as const),
    ...Object.entries(MESSAGES_REQUESTS).map(([name, make]) => ['messages', name, make] as const),
  ])('%s: %s', (from, _, make) => {
    const found = fasterThanLinear((characters) => {
      const members = make(characters / 100);
      return () => cross(from, members);
    });
    expect(found).toBeUndefined();
  });

  it('thinking that nobody signed is taken out of bytes', () => {
    const found = fasterThanLinear((characters) => {
      const members = MESSAGES_REQUESTS['thinking without a seal']?.(characters / 100) ?? {};
      const value = { model: 'm', max_tokens: 1, ...members };
      const body = bodyOf(value);
      return () => cleanBody(body, 'unsigned');
    });
    expect(found).toBeUndefined();
  });
});

describe('the nearest names', () => {
  const names = (length: number): string[] =>
    Array.from({ length: 5000 }, (_, at) => `provider/${'model-name-'.repeat(30)}${at}`.slice(-length));

  it.each([20, 250])('among 5,000 of %s characters are found while nobody waits', (length) => {
    const all = names(length);
    const asked = `x${all[2500]?.slice(1) ?? ''}`.slice(0, length - 1);
    didYouMeanAll(asked, all, 3);
    const before = process.cpuUsage();
    didYouMeanAll(asked, all, 3);
    // A tenth of it on a quiet machine.
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(150);
  });

  it('among 100,000 are found in the time of some of them', () => {
    const all = Array.from({ length: 20 }, (_, part) => names(60).map((name) => `${part}${name}`)).flat();
    const asked = `x${all[100]?.slice(1) ?? ''}`;
    didYouMeanAll(asked, all, 3);
    const before = process.cpuUsage();
    expect(didYouMeanAll(asked, all, 3)[0]).toBe(all[100]);
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(300);
  });

  it('grow with the names, not with their length', () => {
    expect(
      fasterThanLinear(
        (characters) => () => didYouMeanAll('m'.repeat(characters), names(20).slice(0, 100), 3),
      ),
    ).toBeUndefined();
  });
});
