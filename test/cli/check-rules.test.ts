// `gateway check --deep` against servers on real sockets that do not keep what is known of their model.
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { writeChatAnswer, type Message } from '../helpers/chat-answer.ts';
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
  const [report] = JSON.parse(stdout) as {
    checks: { check: string; ok: boolean | null; detail: string }[];
  }[];
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

it('asks nothing that the rules say a model does not take', async () => {
  const flags = ', flags: { efforts: [], thinking_off: never, forced_tools: never, rejects_sampling: true }';
  const { code, asked } = await rulesAgainst(obedient, flags);
  expect(code).toBe(0);
  expect(asked.filter((body) => 'reasoning_effort' in body || 'temperature' in body)).toEqual([]);
});

it('stops at a failure that is no refusal, which is no fault of a rule', async () => {
  const { code, broken, asked } = await rulesAgainst((body) =>
    body.reasoning_effort === 'low' ? { refusal: 'slow down', status: 429 } : obedient(body),
  );
  expect(code).toBe(0);
  expect(broken).toEqual(['effort low and what follows: not known, 429, slow down']);
  expect(asked.at(-1)?.reasoning_effort).toBe('low');
});
