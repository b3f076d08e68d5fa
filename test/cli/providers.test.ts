import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it, onTestFinished, test, vi } from 'vitest';
import { execute } from '../../src/cli/program.ts';
import { createIds } from '../../src/ids.ts';
import { startSim } from '../../src/sim/sim.ts';
import { openStore } from '../../src/store/open.ts';
import { home } from '../helpers/process.ts';
import { createScreen } from '../helpers/screen.ts';
import { capture, createShell, NOW, type Shell } from './harness.ts';

/** The address and key of a provider that works, as a file names them after `base_url:`: those of a simulated one. */
async function workingProvider(): Promise<string> {
  const sim = await startSim({ ids: createIds() });
  onTestFinished(() => sim.close());
  return `${sim.url}/v1, api_key: ${sim.key}`;
}

const WAIT = { timeout: 10_000, interval: 10 };

/** A provider that answers everything with one status. */
async function refusingProvider(status: number, body: string): Promise<string> {
  const server = createServer((_request, response) => response.writeHead(status).end(body));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

/** A provider that answers every request with 500, from the moment on at which it is told to. */
async function providerThatWaits(): Promise<{ url: string; asked: Promise<unknown>; answer: () => void }> {
  const waiting: (() => void)[] = [];
  let open = false;
  const server = createServer((_request, response) => {
    const answer = (): void => void response.writeHead(500).end();
    if (open) answer();
    else waiting.push(answer);
  });
  const asked = once(server, 'request');
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked,
    answer() {
      open = true;
      for (const each of waiting) each();
    },
  };
}

function configured(yaml: string): Shell {
  const shell = createShell();
  writeFileSync(join(shell.directory, 'gateway.yaml'), yaml);
  return shell;
}

interface Report {
  provider: string;
  ok: boolean;
  checks: { check: string; ok: boolean | null; detail: string }[];
}

describe('check', () => {
  it('says of a provider that works what works', async () => {
    const url = await workingProvider();
    const shell = configured(`providers: { good: { protocol: chat, base_url: ${url}, models: [echo] } }`);
    const [report] = (await shell.json('check --deep')) as Report[];
    expect(report?.checks.map(({ check, ok }) => ({ check, ok }))).toEqual([
      { check: 'reachable', ok: true },
      { check: 'models', ok: true },
      { check: 'key', ok: true },
      { check: 'streaming', ok: true },
      { check: 'tools', ok: true },
      { check: 'rules', ok: true },
    ]);
    expect(report).toMatchObject({ provider: 'good', ok: true });
  });

  it('--deep tests every protocol that a provider speaks', async () => {
    const url = await workingProvider();
    const all = `good: { protocol: [responses, chat, messages], base_url: ${url}, models: [echo] }`;
    const shell = configured(`providers: { ${all} }`);
    const [report] = (await shell.json('check --deep')) as Report[];
    expect(report?.checks.map(({ check, ok, detail }) => [check, ok, detail]).slice(2)).toEqual([
      ['key', true, 'accepted'],
      ['streaming', true, 'good/echo (responses)'],
      ['tools', true, 'good/echo (responses)'],
      ['streaming', true, 'good/echo (chat)'],
      ['tools', true, 'good/echo (chat)'],
      ['streaming', true, 'good/echo (messages)'],
      ['tools', true, 'good/echo (messages)'],
      ['rules', true, expect.stringMatching(/^responses: \d\d rules kept: effort minimal, .*, an image/)],
      ['rules', true, expect.stringMatching(/^chat: \d\d rules kept: .*, stop sequences, .*, several texts/)],
      [
        'rules',
        true,
        expect.stringMatching(/^messages: \d\d rules kept: .*, temperature and top_p, stop seq/),
      ],
    ]);
  });

  it.each(['chat', 'messages', 'responses'])('a silent %s provider is not reachable', async (protocol) => {
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { url, asked } = await providerThatWaits();
    const shell = configured(`providers: { p: { protocol: ${protocol}, base_url: ${url}, models: [m] } }`);
    const checking = shell.run('check --json');
    await asked;
    await vi.advanceTimersByTimeAsync(5000);
    const { code, stdout } = await checking;
    const [report] = JSON.parse(stdout) as Report[];
    const detail = `${url}: no answer within 5000 ms`;
    expect({ code, checks: report?.checks }).toEqual({
      code: 1,
      checks: [{ check: 'reachable', ok: false, detail }],
    });
  });

  it.each(['chat', 'messages', 'responses'])('streams an answer in %s', async (protocol) => {
    const url = await workingProvider();
    const shell = configured(
      `providers: { good: { protocol: ${protocol}, base_url: ${url}, models: [echo] } }`,
    );
    const { code, stdout, stderr } = await shell.run('check');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/✓ streaming +good\/echo/);
  });

  it('asks the built-in provider where the file names it, or where there is no other', async () => {
    const url = await workingProvider();
    const other = `good: { protocol: chat, base_url: ${url}, models: [echo] }`;
    const named = async (providers: string): Promise<string[]> => {
      const reports = (await configured(`providers: { ${providers} }`).json('check')) as Report[];
      return reports.map(({ provider }) => provider);
    };
    expect(await named(`${other}, sim: `)).toEqual(['good', 'sim']);
    expect(await named('sim: ')).toEqual(['sim']);
    const own = JSON.stringify(await configured('providers: { sim: }').json('check'));
    expect(own).toContain('sim/echo, sim/slow, ');
    expect(own).not.toMatch(/127\.0\.0\.1|localhost/);
    expect(await named(other)).toEqual(['good']);
  });

  it('shows each provider with a spinner of its own, and prints in the order of the file', async () => {
    const { url, answer } = await providerThatWaits();
    const shell = configured(`providers:
  late: { protocol: chat, base_url: ${url}, models: [m] }
  gone: { protocol: chat, base_url: 'http://127.0.0.1:9/v1', models: [m] }
  last: { protocol: chat, base_url: ${url}, models: [m] }
`);
    const screen = createScreen(60);
    const stdout = capture(60);
    const done = execute(['check'], { ...shell.context, stdout, stderr: screen });
    const spinning = (name: string): unknown => expect.stringMatching(new RegExp(`^[^✓✗] ${name}$`));
    await expect.poll(() => screen.lines(), WAIT).toEqual([spinning('late'), '✗ gone', spinning('last')]);
    const first = screen.lines();
    await expect.poll(() => screen.lines().join(), WAIT).not.toBe(first.join());
    expect(stdout.text).toBe('');
    answer();
    expect(await done).toBe(1);
    expect(stripVTControlCharacters(stdout.text).match(/^\w+$/gm)).toEqual(['late', 'gone', 'last']);
    // What moved is gone: only the line of the failures is left.
    const left = screen.lines().join('\n');
    expect(left).toMatch(/^gateway: 3 of 3 providers failed: late .*; gone cannot be reached; last /s);
    expect(left).not.toMatch(/^. (late|gone|last)$/m);
  });

  it('moves nothing in a pipe', async () => {
    const shell = configured('providers: { sim: }');
    const { stdout, stderr } = await shell.run('check');
    expect(stderr).toBe('');
    expect(stdout).not.toContain('\u001b');
  });

  it('wraps at words at 60 columns', async () => {
    const away = await refusingProvider(404, '');
    const shell = configured(`providers: { p: { protocol: chat, base_url: ${away}, models: [m] } }`);
    const { stdout, stderr } = await shell.run('check', { columns: 60, env: { NO_COLOR: '1' } });
    expect(stderr).toBe('gateway: 1 of 1 provider failed: p cannot stream an answer\n');
    for (const line of `${stdout}\n${stderr}`.split('\n')) expect(line.length, line).toBeLessThanOrEqual(60);
    expect(stdout).toMatch(/the list of models was refused[^\n]*\n {15}\w/);
  });

  it('shows the reason beside each ✗, one line on stderr, and exit 1', async () => {
    const good = await workingProvider();
    const away = await refusingProvider(500, '');
    const locked = await refusingProvider(
      401,
      '{"error":{"message":"Incorrect API key provided: hunter2hunter2"}}',
    );
    const shell = configured(`providers:
  good: { protocol: chat, base_url: ${good}, models: [echo] }
  typo: { protocol: chat, base_url: ${good}, models: [echo, ecko] }
  locked: { protocol: chat, base_url: ${locked}, api_key: hunter2hunter2, models: [m] }
  gone: { protocol: chat, base_url: 'http://127.0.0.1:9/v1', models: [m] }
  broken: { protocol: chat, base_url: ${away}, models: [m] }
`);
    const { code, stdout, stderr } = await shell.run('check');
    expect(code).toBe(1);
    // In the order of the file, whoever answers first.
    expect(stdout.split('\n').filter((line) => /^\w/.test(line))).toEqual([
      'good',
      'typo',
      'locked',
      'gone',
      'broken',
    ]);
    for (const said of ['does not list ecko', ': 401', ': 500'])
      expect((stdout + stderr).split(said).length - 1, said).toBe(1);
    expect(stdout).toContain('  ✗ models     it does not list ecko; correct the name, or remove it\n');
    expect(stdout).toMatch(/^ {2}✗ key {8}locked\/m: 401.* \(its key is from providers\.locked\.api_key\)$/m);
    expect(stdout).toContain('  ✗ reachable  http://127.0.0.1:9/v1: the provider refused the connection\n');
    expect(stdout).toContain('  ✗ streaming  broken/m: 500');
    expect(stderr).toBe(
      'gateway: 4 of 5 providers failed: typo lacks models; locked refuses the key; gone cannot be reached; ' +
        'broken cannot stream an answer\n',
    );
    expect(stdout + stderr).not.toContain('hunter2');
  });
});

it('a built program checks a provider that is not reachable without a warning of Node', async () => {
  const at = home();
  at.configure({
    providers: { gone: { protocol: 'chat', base_url: 'http://127.0.0.1:9/v1', models: ['m'] } },
  });
  const { code, stderr } = await at.run('check');
  expect(code).toBe(1);
  expect(stderr).not.toMatch(/Warning|\(node:/);
});

describe('models', () => {
  it('has the exact JSON shape', async () => {
    const shell = configured(`providers:
  one: { protocol: chat, base_url: 'http://127.0.0.1:9', models: [{ id: a, vision: false, context_window: 1000 }] }
  two: { protocol: messages, base_url: 'http://127.0.0.1:9', models: [{ id: a, max_output: 500 }, b] }
routes: { fast: [two/b] }
`);
    const models = (await shell.json('models')) as { name: string }[];
    expect(models.map(({ name }) => name)).toEqual(['auto', 'fast', 'a', 'b']);
    expect(models[2]).toEqual({
      name: 'a',
      targets: [
        { provider: 'one', model: 'a' },
        { provider: 'two', model: 'a' },
      ],
      vision: true,
      tools: true,
      thinking: true,
      context_window: 1000,
      max_output: 500,
    });
    expect(models[3]).toMatchObject({ context_window: null, max_output: null });
  });

  it('is a table for people', async () => {
    const shell = configured(
      `providers: { one: { protocol: chat, base_url: 'http://127.0.0.1:9', models: [a] } }`,
    );
    const { stdout } = await shell.run('models');
    expect(stdout).toMatch(/^NAME +TARGETS +VISION +TOOLS +THINKING +WINDOW +OUTPUT\n/);
    expect(stdout).toMatch(/^a +one\/a +\? +\? +\? +- +-$/m);
  });

  it('says ? where nothing is known, and cuts a long list of targets with a count', async () => {
    const models = Array.from({ length: 500 }, (_, at) =>
      at === 0 ? '{ id: m0, vision: true, tools: false }' : `m${at}`,
    );
    const shell = configured(
      `providers: { one: { protocol: chat, base_url: 'http://127.0.0.1:9', models: [${models.join(', ')}] } }`,
    );
    const { stdout } = await shell.run('models');
    expect(stdout).toMatch(/^m0 +one\/m0 +yes +- +\? /m);
    expect(stdout).toMatch(/^auto +one\/m0, one\/m1, one\/m2, one\/m3 and 496 more +/m);
    expect(stdout.length).toBeLessThan(100_000);
  });

  it('asks a provider without a list, and goes on without one that does not answer', async () => {
    const url = await workingProvider();
    const shell = configured(`providers:
  open: { protocol: chat, base_url: ${url} }
  gone: { protocol: chat, base_url: 'http://127.0.0.1:9' }
`);
    const { code, stdout, stderr } = await shell.run('models');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^open\/echo /m);
    expect(stderr).toMatch(/^warning: provider gone did not list its models: [^\n]*\n$/);
  });
});

describe('explain', () => {
  const yaml = `providers:
  blind: { protocol: chat, base_url: 'http://127.0.0.1:9', models: [{ id: a, vision: false }] }
  seeing: { protocol: messages, base_url: 'http://127.0.0.1:9', models: [{ id: a, vision: true }] }
`;
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };

  it('names the target that would answer, and the next', async () => {
    expect(await configured(yaml).json('explain a')).toEqual({
      model: 'a',
      strategy: 'priority',
      targets: [
        { provider: 'blind', model: 'a', role: 'answers', why: 'the first that can answer it', dropped: [] },
        { provider: 'seeing', model: 'a', role: 'next', why: 'tried if blind/a fails', dropped: [] },
      ],
    });
  });

  it('says why a target would not, and what another would not be given', async () => {
    const shell = configured(yaml);
    const request = { messages: [{ role: 'user', content: [image] }], seed: 7, model: 'other' };
    writeFileSync(join(shell.directory, 'request.json'), `\ufeff${JSON.stringify(request)}`);
    expect(await shell.json('explain a --file request.json')).toEqual({
      model: 'a',
      strategy: 'priority',
      protocol: 'chat',
      targets: [
        {
          provider: 'seeing',
          model: 'a',
          role: 'answers',
          why: 'the first that can answer it',
          dropped: ['seed'],
        },
        {
          provider: 'blind',
          model: 'a',
          role: 'never',
          why: expect.stringContaining('image') as string,
          dropped: [],
        },
      ],
    });
    const { stdout } = await shell.run('explain a --file request.json');
    expect(stdout).toMatch(/^a: strategy priority; the request's protocol is chat completions\n/);
    expect(stdout).toMatch(/^answers {2}seeing\/a\n/m);
    expect(stdout).toContain('leaves out: seed');
    expect(stdout).toMatch(/^not {6}blind\/a\n/m);
  });

  it('goes by the states that models shows, and tries three targets at most', async () => {
    const names = ['one', 'two', 'three', 'four', 'five'];
    const shell = configured(`providers:
${names.map((name) => `  ${name}: { protocol: chat, base_url: 'http://127.0.0.1:9', models: [a] }\n`).join('')}
routes: { quick: { strategy: fastest, targets: [${names.map((name) => `${name}/a`).join(', ')}] } }
`);
    const store = await openStore(join(shell.directory, 'gateway.db'));
    await store.publishHealth([{ target: 'one/a', state: 'cooling', until: NOW + 60_000 }], []);
    await store.close();
    const { strategy, targets } = (await shell.json('explain quick')) as {
      strategy: string;
      targets: { provider: string; role: string; why: string }[];
    };
    expect(strategy).toBe('fastest');
    expect(targets.map(({ provider, role }) => `${provider} ${role}`)).toEqual([
      'two answers',
      'three next',
      'four next',
      'five never',
      'one never',
    ]);
    expect(targets[3]?.why).toBe('at most three targets are tried');
    expect(targets[4]?.why).toContain('cooling');
    expect((await shell.run('models')).stdout).toContain('one/a (cooling)');
  });

  it('fails with the reasons where no target can take the request', async () => {
    const shell = configured(yaml);
    const request = { messages: [{ role: 'user', content: [image] }] };
    writeFileSync(join(shell.directory, 'request.json'), JSON.stringify(request));
    const { code, stdout, stderr } = await shell.run('explain blind/a --file request.json');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^gateway: .*blind\/a: .*image.*\n$/);
  });

  test.each([
    ['missing.json', undefined, 'missing.json'],
    ['broken.json', '{"messages":', 'broken.json is not valid JSON'],
    ['list.json', '[]', 'list.json is not a JSON object'],
    ['empty.json', '{}', 'messages'],
  ])('%s is one line', async (name, content, message) => {
    const shell = configured(yaml);
    if (content !== undefined) writeFileSync(join(shell.directory, name), content);
    const { code, stderr } = await shell.run(`explain a --file ${name}`);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^gateway: [^\n]*\n$/);
    expect(stderr).toContain(message);
  });

  it('wraps at words at 60 columns', async () => {
    const shell = configured(yaml);
    const messages = [{ role: 'user', content: 'x'.repeat(40_000) }];
    writeFileSync(join(shell.directory, 'request.json'), JSON.stringify({ messages, seed: 1, n: 1 }));
    const { stdout } = await shell.run('explain a --file request.json', { columns: 60 });
    for (const line of stdout.split('\n')) expect(line.length, line).toBeLessThanOrEqual(60);
  });

  it('names the nearest model to an unknown one', async () => {
    const { code, stderr } = await configured(yaml).run('explain seeing/aa');
    expect(code).toBe(1);
    expect(stderr).toMatch(/^gateway: .*seeing\/aa.*\n$/);
  });
});
