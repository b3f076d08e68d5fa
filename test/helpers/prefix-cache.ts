// A provider with a true prompt cache, in each protocol. Messages: prefixes that marks end, found again up to 20 blocks before a later
// mark. Chat and responses: prefixes of 128 tokens, by key. From 1,024 tokens on, and for as long as the clock says.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../../src/clock.ts';
import type { JsonObject, JsonValue } from '../../src/canonical/json.ts';

export interface PrefixCache {
  url: string;
  /** Forgets all prompts. */
  evict(): void;
  /** So many requests get this status first. */
  fail(status: number, times?: number): void;
  close(): Promise<void>;
}

const LEAST_TOKENS = 1024;
const LOOK_BACK = 20;
const CHUNK = 128;
const MINUTES_5 = 300_000;
const HOUR = 3_600_000;
const ATTRIBUTION = /^x-anthropic-billing-header[^\n]*\n?/;

interface Block {
  text: string;
  tokens: number;
  mark?: JsonObject;
}

interface Entry {
  until: number;
  life: number;
}

interface Read {
  read: number;
  written: number;
  input: number;
}

export async function startPrefixCache(clock: Clock): Promise<PrefixCache> {
  const entries = new Map<string, Entry>();
  let failures: { status: number; times: number } | undefined;

  const isAlive = (hash: string): boolean => (entries.get(hash)?.until ?? 0) >= clock.now();
  const touch = (hash: string, life: number): void => {
    const longest = Math.max(life, entries.get(hash)?.life ?? 0);
    entries.set(hash, { until: clock.now() + longest, life: longest });
  };

  function readMarked(blocks: readonly Block[], scope: string): Read {
    const prefixes = prefixesOf(blocks, scope);
    const total = prefixes.at(-1)?.tokens ?? 0;
    const marks = blocks.flatMap((block, index) => (block.mark === undefined ? [] : [index]));
    let found = -1;
    for (const mark of [...marks].reverse()) {
      for (let at = mark; at > mark - LOOK_BACK && at >= 0 && found < 0; at--) {
        const prefix = prefixes[at];
        if (prefix !== undefined && isAlive(prefix.hash)) found = at;
      }
      if (found >= 0) break;
    }
    const read = prefixes[found]?.tokens ?? 0;
    if (found >= 0) touch(prefixes[found]?.hash ?? '', 0);
    for (const mark of marks) {
      const prefix = prefixes[mark];
      if (prefix === undefined || prefix.tokens < LEAST_TOKENS) continue;
      touch(prefix.hash, blocks[mark]?.mark?.ttl === '1h' ? HOUR : MINUTES_5);
    }
    const last = prefixes[marks.at(-1) ?? -1]?.tokens ?? 0;
    const written = last < LEAST_TOKENS ? 0 : Math.max(0, last - read);
    return { read, written, input: total - read - written };
  }

  function readAlways(text: string, scope: string, life: number): Read {
    const bytes = Buffer.from(text);
    const hash = createHash('sha1').update(scope);
    const total = Math.ceil(bytes.length / 4);
    let read = 0;
    for (let tokens = CHUNK; tokens <= total; tokens += CHUNK) {
      hash.update(bytes.subarray((tokens - CHUNK) * 4, tokens * 4));
      if (tokens < LEAST_TOKENS) continue;
      const id = hash.copy().digest('hex');
      if (isAlive(id) && (read === 0 || read === tokens - CHUNK)) read = tokens;
      touch(id, life);
    }
    return { read, written: 0, input: total - read };
  }

  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      if (failures !== undefined && failures.times-- > 0) {
        response.writeHead(failures.status, { 'content-type': 'application/json' }).end('{}');
        return;
      }
      const secret = String(request.headers.authorization ?? request.headers['x-api-key']);
      const { answer, sse } = answerTo(request.url ?? '', body, secret);
      const text = body.stream === true ? sse : JSON.stringify(answer);
      response.writeHead(200, {
        'content-type': body.stream === true ? 'text/event-stream' : 'application/json',
      });
      response.end(text);
    });
  });

  function answerTo(path: string, body: JsonObject, secret: string): { answer: JsonObject; sse: string } {
    if (path.includes('/messages'))
      return messagesAnswer(readMarked(messagesBlocks(body), JSON.stringify([secret, body.model])));
    const kept = body.prompt_cache_retention === '24h' ? 24 * HOUR : MINUTES_5;
    const scope = JSON.stringify([secret, body.model, body.prompt_cache_key]);
    const { tools, messages, input, instructions, reasoning, reasoning_effort: effort, text } = body;
    const prompt = JSON.stringify([effort, reasoning, text, tools, instructions, messages ?? input]);
    const read = readAlways(prompt, scope, kept);
    return path.includes('/responses') ? responsesAnswer(read) : chatAnswer(read);
  }

  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    evict: () => entries.clear(),
    fail: (status, times = 1) => (failures = { status, times }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function bodyOf(request: IncomingMessage): Promise<JsonObject> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString()) as JsonObject;
}

/** Of each prefix its hash and its tokens. */
function prefixesOf(blocks: readonly Block[], scope: string): { hash: string; tokens: number }[] {
  const hash = createHash('sha1').update(scope);
  let tokens = 0;
  return blocks.map((block) => {
    hash.update(`\0${block.text}`);
    tokens += block.tokens;
    return { hash: hash.copy().digest('hex'), tokens };
  });
}

function blockOf(kind: string, given: JsonObject): Block {
  const { cache_control: mark, ...rest } = given;
  const told = typeof rest.text === 'string' ? { ...rest, text: rest.text.replace(ATTRIBUTION, '') } : rest;
  const text = `${kind} ${JSON.stringify(told)}`;
  return {
    text,
    tokens: Math.ceil(text.length / 4),
    ...(mark === undefined ? {} : { mark: mark as JsonObject }),
  };
}

function messagesBlocks({
  tools,
  system,
  messages,
  thinking,
  output_config: output,
  tool_choice: choice,
}: JsonObject): Block[] {
  const list = (value: JsonValue | undefined): JsonObject[] => {
    if (typeof value === 'string') return [{ type: 'text', text: value }];
    return (value ?? []) as JsonObject[];
  };
  const settings = blockOf('settings', { thinking, output, choice });
  return [
    ...list(tools).map((tool) => blockOf('tool', tool)),
    ...list(system).map((block) => blockOf('system', block)),
    settings,
    ...list(messages).flatMap(({ role, content }) =>
      list(content).map((block) => blockOf(JSON.stringify(role), block)),
    ),
  ];
}

function messagesAnswer({ read, written, input }: Read): { answer: JsonObject; sse: string } {
  const usage = {
    input_tokens: input,
    cache_read_input_tokens: read,
    cache_creation_input_tokens: written,
    output_tokens: 5,
  };
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_sequence: null };
  const event = (type: string, data: JsonObject): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
  return {
    answer: { ...message, content: [{ type: 'text', text: 'fine' }], stop_reason: 'end_turn', usage },
    sse:
      event('message_start', { message: { ...message, content: [], stop_reason: null, usage } }) +
      event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }) +
      event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'fine' } }) +
      event('content_block_stop', { index: 0 }) +
      event('message_delta', {
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: { output_tokens: 5 },
      }) +
      event('message_stop', {}),
  };
}

function chatAnswer({ read, input }: Read): { answer: JsonObject; sse: string } {
  const usage = {
    prompt_tokens: input + read,
    completion_tokens: 5,
    total_tokens: input + read + 5,
    prompt_tokens_details: { cached_tokens: read },
  };
  const head = { id: 'c', created: 1, model: 'm' };
  const chunk = (data: JsonObject): string =>
    `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...data })}\n\n`;
  return {
    answer: {
      ...head,
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', content: 'fine' }, finish_reason: 'stop' }],
      usage,
    },
    sse:
      chunk({ choices: [{ index: 0, delta: { role: 'assistant', content: 'fine' }, finish_reason: null }] }) +
      chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }) +
      chunk({ choices: [], usage }) +
      'data: [DONE]\n\n',
  };
}

function responsesAnswer({ read, input }: Read): { answer: JsonObject; sse: string } {
  const answer: JsonObject = {
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    model: 'm',
    output: [
      {
        type: 'message',
        id: 'msg_1',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'fine', annotations: [] }],
      },
    ],
    usage: {
      input_tokens: input + read,
      input_tokens_details: { cached_tokens: read },
      output_tokens: 5,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: input + read + 5,
    },
  };
  return {
    answer,
    sse: `event: response.completed\ndata: ${JSON.stringify({ type: 'response.completed', response: answer })}\n\n`,
  };
}
