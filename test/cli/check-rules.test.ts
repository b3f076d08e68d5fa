// `gateway check --deep` against servers on real sockets that do not keep what is known of their model.
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { writeChatAnswer, type Message } from '../helpers/chat-answer.ts';
import { startStrictSim } from '../helpers/strict-sim.ts';
import { STUBS } from '../models/matrix.ts';
import type { Rule as StubRule, Stub } from '../models/stubs/rule.ts';
import { createShell } from './harness.ts';

interface Body {
  stream?: boolean;
  messages: { role: string; content: unknown }[];
  tools?: { function: { name: string } }[];
  tool_choice?: unknown;
  response_format?: { type: string };
  reasoning_effort?: string;
  temperature?: number;
}

interface Check {
  check: string;
  ok: boolean | null;
  detail: string;
}

type Said = Message | { refusal: string; status?: number };

/** Keeps every rule: calls where it must, JSON where it should. */
function obedient({ tools = [], tool_choice: choice, response_format: format }: Body): Message {
  const isForced = choice === 'required' || typeof choice === 'object';
  const [tool] = tools;
  const call = { name: tool?.function.name ?? '', arguments: '{"city":"Paris"}' };
  // The tools of the first step are called without a choice where none can be forced.
  if (isForced || call.name === 'report_status')
    return { content: null, tool_calls: [{ id: 'call_1', type: 'function', function: call }] };
  return { content: format === undefined ? 'ok' : '{"answer":"4"}' };
}

/** The steps about rules, and the exit code. */
async function rulesAgainst(
  say: (body: Body) => Said,
  more = '',
): Promise<{ code: number; kept: string; broken: string[]; asked: Body[] }> {
  const asked: Body[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (request.method === 'GET') {
        response.end(JSON.stringify({ data: [{ id: 'm' }] }));
        return;
      }
      const body = JSON.parse(Buffer.concat(chunks).toString()) as Body;
      asked.push(body);
      const said = say(body);
      if (!('refusal' in said)) {
        writeChatAnswer(response, body.stream === true, said);
        return;
      }
      response.writeHead(said.status ?? 400, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { message: said.refusal, type: 'invalid_request_error' } }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const shell = createShell();
  writeFileSync(
    join(shell.directory, 'gateway.yaml'),
    `providers: { lab: { protocol: chat, base_url: "${url}", models: [m]${more} } }\n`,
  );
  const { code, stdout } = await shell.run('check lab/m --deep --json');
  const [report] = JSON.parse(stdout) as { checks: Check[] }[];
  const rules = (report?.checks ?? []).filter(({ check }) => check === 'rules');
  return {
    code,
    kept: rules.find(({ ok }) => ok === true)?.detail ?? '',
    broken: rules.filter(({ ok }) => ok !== true).map(({ detail }) => detail),
    asked,
  };
}

it('finds a server that keeps all rules', async () => {
  const { code, kept, broken } = await rulesAgainst(obedient);
  expect({ code, broken }).toEqual({ code: 0, broken: [] });
  for (const name of ['effort xhigh', 'thinking off', 'JSON by a schema', 'stop sequences', 'an image'])
    expect(kept).toContain(name);
});

it('names the line that a refusal teaches, and has tried it', async () => {
  const { code, broken, asked } = await rulesAgainst((body) =>
    body.reasoning_effort === 'xhigh'
      ? {
          refusal:
            "Unsupported value: 'reasoning_effort' does not support 'xhigh' with this model. Supported values are: 'low', 'medium', and 'high'.",
        }
      : obedient(body),
  );
  expect({ code, broken }).toEqual({
    code: 1,
    broken: ['effort xhigh: refused; providers.lab: flags: { efforts: [low, medium, high] }'],
  });
  expect(asked.filter(({ reasoning_effort: effort }) => effort === 'xhigh')).toHaveLength(1);
});

it('tries the flags of a rule where the words of a refusal say nothing', async () => {
  const { broken } = await rulesAgainst((body) =>
    (body.temperature ?? 0) > 1 ? { refusal: 'no' } : obedient(body),
  );
  expect(broken).toEqual(['temperature 2: refused: 400, no; providers.lab: flags: { max_temperature: 1 }']);
});

it('sees what a server takes and does not do', async () => {
  const { broken } = await rulesAgainst((body) =>
    body.response_format?.type === 'json_schema' ? { content: 'It is four.' } : obedient(body),
  );
  expect(broken).toHaveLength(1);
  expect(broken[0]).toMatch(/^JSON by a schema: its answer is no JSON; providers\.lab: /);
});

it('names an ability that the model lacks', async () => {
  const { broken } = await rulesAgainst((body) =>
    JSON.stringify(body.messages).includes('image_url') ? { refusal: 'no eyes' } : obedient(body),
  );
  expect(broken).toEqual([
    'an image: refused: 400, no eyes; providers.lab: models: [{ id: m, vision: false }]',
  ]);
});

it('stops at a failure that is no refusal, which is no fault of a rule', async () => {
  const { code, broken, asked } = await rulesAgainst((body) =>
    body.reasoning_effort === 'low' ? { refusal: 'slow down', status: 429 } : obedient(body),
  );
  expect(code).toBe(0);
  expect(broken).toEqual(['effort low and what follows: not known, 429, slow down']);
  expect(asked.at(-1)?.reasoning_effort).toBe('low');
});

it('finds that a server refuses what its rules say that it refuses', async () => {
  const flags =
    ', flags: { efforts: [low, high], thinking_off: never, forced_tools: never, rejects_sampling: true, reject_fields: [seed] }';
  const { code, kept, broken } = await rulesAgainst((body) => {
    const isKnown =
      ['low', 'high', undefined].includes(body.reasoning_effort) &&
      typeof body.tool_choice !== 'object' &&
      body.tool_choice !== 'required' &&
      body.temperature === undefined &&
      !('seed' in body);
    return isKnown ? obedient(body) : { refusal: 'no' };
  }, flags);
  expect({ code, broken }).toEqual({ code: 0, broken: [] });
  for (const name of [
    'no effort medium',
    'thinking is never off',
    'no forced call',
    'no temperature',
    'no seed',
  ])
    expect(kept).toContain(name);
});

it('names what a server takes although its rules say that it refuses it, which is no failure', async () => {
  const flags = ', flags: { rejects_sampling: true, reject_fields: [seed] }';
  const { code, broken } = await rulesAgainst(obedient, flags);
  expect({ code, broken }).toEqual({
    code: 0,
    broken: [
      'no temperature: not kept, the server takes it; to send it: providers.lab: flags: { rejects_sampling: false }',
      'no seed: not kept, the server takes it; to send it: providers.lab: flags: { reject_fields: [] }',
    ],
  });
});

it('finds that what is sent in place of something else is refused as well', async () => {
  const { code, broken } = await rulesAgainst(
    (body) => (body.response_format?.type === 'json_object' ? { refusal: 'no JSON, sorry' } : obedient(body)),
    ', flags: { response_formats: [json_object], tool_ids: mistral }',
  );
  expect(code).toBe(1);
  expect(broken).toContain(
    'no JSON by a schema: what is sent in its place is refused: 400, no JSON, sorry; no flag is known to avoid it',
  );
});

/** Of a well-known provider with its own rules, over sockets. */
async function reportOn(stubs: readonly Stub[], { provider, model }: Stub, args = '--json'): Promise<Ran> {
  const strict = await startStrictSim(stubs);
  onTestFinished(() => strict.close());
  const shell = createShell();
  const entry = { base_url: strict.urlOf(provider), api_key: 'sk-0123456789abcdef' };
  writeFileSync(join(shell.directory, 'gateway.yaml'), JSON.stringify({ providers: { [provider]: entry } }));
  return shell.run(`check ${provider}/${model} --deep ${args}`);
}

type Ran = Awaited<ReturnType<ReturnType<typeof createShell>['run']>>;

const rulesIn = ({ stdout }: Ran): Check[] =>
  (JSON.parse(stdout) as [{ checks: Check[] }])[0].checks.filter(({ check }) => check === 'rules');

it.each([
  'anthropic/claude-opus-5',
  'anthropic/claude-opus-5-5',
  'fireworks/accounts/fireworks/models/glm-5p3',
])('of %s: the strict stub of its provider breaks no rule, in any protocol', async (name) => {
  const stub = STUBS.find(({ provider, model }) => `${provider}/${model}` === name);
  if (stub === undefined) throw new Error(`no stub of ${name}`);
  const ran = await reportOn([stub], stub);
  expect(rulesIn(ran).filter(({ ok }) => ok === false)).toEqual([]);
  expect(ran.code).toBe(0);
  const kept = rulesIn(ran).filter(({ ok }) => ok === true);
  const protocols = name.startsWith('fireworks')
    ? [/^chat: \d\d rules kept/, /^messages: \d\d rules kept/]
    : [/./];
  expect(kept.map(({ detail }) => detail)).toEqual(
    protocols.map((words) => expect.stringMatching(words) as string),
  );
});

it('names three rules that a server of a well-known provider breaks, on a terminal and in JSON', async () => {
  const stub = STUBS.find(({ model }) => model === 'claude-opus-5');
  if (stub === undefined) throw new Error('no such stub');
  // It refuses xhigh and images, and takes any temperature.
  const rules = [
    ...stub.rules.filter(({ kind }) => kind !== 'sampling and stop'),
    refusing('xhigh is no effort here', ({ effort }) => effort === 'xhigh'),
    refusing('no eyes', ({ body }) => JSON.stringify(body.messages).includes('"image"')),
  ];
  const ran = await reportOn([{ ...stub, rules }], stub);
  expect(ran.code).toBe(1);
  const broken = rulesIn(ran).filter(({ ok }) => ok !== true);
  expect(broken.map(({ ok }) => ok)).toEqual([false, false, null]);
  expect(broken[0]?.detail).toMatch(/^effort xhigh: refused.*flags: \{ efforts: \[/);
  expect(broken[1]?.detail).toMatch(/^an image: refused.*vision: false/);
  expect(broken[2]?.detail).toMatch(/^no temperature: not kept, the server takes it/);
  const shown = await reportOn([{ ...stub, rules }], stub, '');
  expect(shown.stdout).toMatch(/✓ rules {6}\d\d rules kept: effort low/);
  expect(shown.stdout).toMatch(/✗ rules {6}effort xhigh: refused/);
  expect(shown.stdout).toMatch(/✗ rules {6}an image: refused/);
  expect(shown.stdout).toMatch(/- rules {6}no temperature: not kept/);
});

function refusing(message: string, refuses: StubRule['refuses']): StubRule {
  const body = JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message } });
  return { kind: 'unknown members', refuses, answer: { status: 400, body } };
}
