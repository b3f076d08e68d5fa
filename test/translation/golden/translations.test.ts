// What each provider gets of what each client asks, byte for byte, in one file that shows every change of a translation. After a
// change that is meant, `npx vitest run test/translation/golden --update` writes it anew.
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { repairHistory } from '../../../src/canonical/history.ts';
import type { JsonObject } from '../../../src/canonical/json.ts';
import {
  PROTOCOL_NAMES,
  type ClientProtocolName,
  type ProtocolName,
  type Warning,
} from '../../../src/canonical/request.ts';
import type { ReverseMapping } from '../../../src/canonical/reverse-mapping.ts';
import { DEFAULT_TRAITS, type Traits } from '../../../src/canonical/traits.ts';
import { GatewayError } from '../../../src/errors.ts';
import { clientProtocols, protocols } from '../../../src/protocols/registry.ts';
import { CORPUS } from '../../fixtures/corpus.ts';
import { PATHS } from '../../helpers/ask.ts';
import { ASKED, BASE } from './asked.ts';

/** Models and servers that take much, little, and what lies between. */
const TARGETS: Readonly<Record<string, Partial<Traits>>> = {
  plain: {},
  rich: {
    topK: true,
    webSearchOptions: true,
    customTools: true,
    thoughtSignatures: true,
    replayReasoning: 'always',
    cacheMarks: 'cache_control',
    cacheKey: true,
    maxStop: 100,
    serverTools: true,
    promptCache: 'auto',
    minCacheTokens: 0,
    thinkingAdaptive: true,
    forcedTools: 'always',
    midSystem: true,
  },
  poor: {
    structuredOutput: false,
    maxOutput: 9999,
    strictAlternation: true,
    userAfterTool: false,
    imageUrl: false,
    pdfInput: false,
    maxStop: 0,
    rejectsSampling: true,
    thinkingBudget: false,
    thinkingOff: 'never',
    thinksByDefault: true,
    efforts: ['low', 'high'],
    forcedTools: 'never',
    prefill: false,
    rejectFields: ['logprobs', 'metadata', 'user'],
  },
  between: {
    structuredOutput: false,
    cacheMarks: 'prompt_cache_breakpoint',
    replayReasoning: 'tool_turns',
    minOutput: 16,
    oneSamplingParameter: true,
    thinkingAdaptive: true,
    thinkingBudget: false,
    thinkingOff: 'up_to_high',
    promptCache: 'auto',
    minCacheTokens: 0,
  },
  unthinking: { thinking: false, efforts: [], prefill: false },
};

interface Sent {
  body: JsonObject;
  rest: string[];
}

/** Each protocol once: the first of Ollama's forms is the chat. */
const CLIENTS = new Map([...clientProtocols].reverse().map((protocol) => [protocol.name, protocol.client]));

function send(
  from: ClientProtocolName,
  to: ProtocolName,
  value: JsonObject,
  over: Partial<Traits>,
): Sent | string {
  const traits = { ...DEFAULT_TRAITS, ...over };
  try {
    const decoded = CLIENTS.get(from)?.decodeRequest(structuredClone({ model: 'm', ...value }));
    if (decoded === undefined) throw new Error(`no protocol ${from}`);
    const repaired = repairHistory(decoded, { rules: protocols[to].provider.historyRules, traits });
    const { body, warnings, restore } = protocols[to].provider.encodeRequest(repaired.request, 't', traits);
    return {
      body,
      rest: [...[...repaired.warnings, ...warnings].map(reported), ...restored(restore)],
    };
  } catch (error) {
    if (error instanceof GatewayError) return error.message;
    throw error;
  }
}

function reported({ effect, field, detail }: Warning): string {
  return `${effect} ${typeof field === 'string' ? field : field.path}: ${detail}`;
}

function restored({ toolNames, customTools, stop, structuredTool }: ReverseMapping): string[] {
  const members = { names: [...toolNames], custom: [...customTools], stop, structured: structuredTool ?? [] };
  return Object.entries(members).flatMap(([name, value]) =>
    value.length === 0 ? [] : [`${name} ${JSON.stringify(value)}`],
  );
}

function hashOf(body: JsonObject): string {
  return createHash('sha256').update(JSON.stringify(body)).digest('hex').slice(0, 6);
}

/** The members in which the body is another than that of the plain question. */
function difference(body: JsonObject, plain: JsonObject): string {
  const names = [...new Set([...Object.keys(plain), ...Object.keys(body)])];
  const changed = names.filter((name) => JSON.stringify(body[name]) !== JSON.stringify(plain[name]));
  return changed.map((name) => `${name} ${JSON.stringify(body[name]) ?? 'absent'}`).join(' ');
}

/** The body's hash, and what can be read of it. `shown`: with its members. */
function described(sent: Sent | string, plain: Sent | string, shown: boolean): [hash: string, text: string] {
  if (typeof sent === 'string') return ['', `refused ${sent}`];
  const members = shown && typeof plain !== 'string' ? difference(sent.body, plain.body) : '';
  const texts = [members, ...sent.rest].filter((text) => text !== '');
  return [hashOf(sent.body), texts.join(' | ')];
}

/** To each provider: what a plain target gets, then the targets for which something else can be read. */
function lines(from: ClientProtocolName, value: JsonObject, shown = true): string[] {
  return PROTOCOL_NAMES.flatMap((to) => {
    let first: [hash: string, text: string] = ['', ''];
    // What a provider of the client's own protocol gets is not encoded, as a rule: one target shows it.
    const targets = Object.entries(TARGETS).slice(0, to === from ? 1 : undefined);
    return targets.flatMap(([target, over]) => {
      const plain = send(from, to, BASE[from], over);
      const [hash, text] = described(send(from, to, value, over), plain, shown);
      if (target === 'plain') first = [hash, text];
      else if (text === first[1] && (shown || hash === first[0])) return [];
      return [`  ${to} ${target} ${hash} ${text}`.trimEnd()];
    });
  });
}

it.each([...CLIENTS.keys()].reverse())(
  'what %s clients ask reaches every provider as it always did',
  async (from) => {
    const text = Object.entries(ASKED[from]).flatMap(([name, members]) => [
      name,
      ...lines(from, { ...BASE[from], ...members }),
    ]);
    await expect(`${text.join('\n')}\n`).toMatchFileSnapshot(`${from}.txt`);
  },
);

const CASES = new URL('../../fixtures/cases/', import.meta.url);

function fixtures(): [name: string, from: ProtocolName, body: JsonObject][] {
  return readdirSync(CASES).flatMap((name) =>
    PROTOCOL_NAMES.map((from): [string, ProtocolName, JsonObject] => {
      const text = readFileSync(new URL(`${name}/${from}.request.json`, CASES), 'utf8');
      return [`${name} ${from}`, from, JSON.parse(text) as JsonObject];
    }),
  );
}

function recorded(): [name: string, from: ProtocolName, body: JsonObject][] {
  return CORPUS.flatMap(([name, { path, body }]) => {
    const from = PROTOCOL_NAMES.find((protocol) => path.endsWith(PATHS[protocol]));
    return from === undefined ? [] : [[name, from, body as JsonObject]];
  });
}

it('what the fixtures and real programs ask reaches every provider as it always did', async () => {
  const all = [...fixtures(), ...recorded()];
  expect(all.length).toBeGreaterThan(80);
  const text = all.flatMap(([name, from, body]) => [name, ...lines(from, body, false)]);
  await expect(`${text.join('\n')}\n`).toMatchFileSnapshot('recorded.txt');
});
