// What is done with one request that a tape holds: shown from both sides, and made a folder that anybody may read.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readTape } from '../../src/tapes/read.ts';
import { stepper, studio, type Studio } from './tape.ts';

const PROMPT = 'Mend zqlogin in /home/zqann/zqfile.ts, see https://zq.example/zqissue';

interface Shown {
  request: string;
  tape: string;
  number: string;
  protocol: string;
  attempts: {
    target: string;
    protocol: string;
    status: number | null;
    equal: number;
    differences: { at: string; client: string | null; provider: string | null }[];
  }[];
  dropped: string[];
  changed: string[];
}

async function recorded(protocol: string): Promise<Studio & { ids: string[] }> {
  const made = await studio();
  made.provider.answerBy(stepper(1));
  const ended = await made.agent(['record', 'task'], protocol, PROMPT);
  expect(ended, ended.stderr).toMatchObject({ code: 0 });
  const { exchanges } = readTape(join(made.shell.directory, 'task'));
  return { ...made, ids: exchanges.map(({ head }) => head.request) };
}

it('shows what a provider of the same protocol got, member by member', async () => {
  const { shell, ids } = await recorded('chat');
  const shown = await shell.json<Shown>('requests', ids[1] ?? '', '--diff');
  expect(shown).toMatchObject({ request: ids[1], tape: 'task', number: '0002', protocol: 'chat' });
  const [attempt] = shown.attempts;
  expect(attempt).toMatchObject({ target: 'up/m', protocol: 'chat', status: 200 });
  expect(attempt?.differences).toEqual([{ at: 'model', client: 'auto', provider: 'm' }]);
  expect(attempt?.equal).toBeGreaterThan(5);
});

it('shows what a provider of another protocol got, by what the request says, and what was left out', async () => {
  const { shell, ids, provider } = await recorded('messages');
  const shown = await shell.json<Shown>('requests', ids[1] ?? '', '--diff');
  expect(shown).toMatchObject({ protocol: 'messages', attempts: [{ protocol: 'chat' }] });
  expect(shown.attempts[0]?.differences.map(({ at }) => at)).not.toContain('user text 1');
  expect(shown.attempts[0]?.equal).toBeGreaterThan(3);
  const { stdout } = await shell.command('requests', (ids[1] ?? '').slice(0, 14), '--diff');
  expect(stdout).toContain(`messages → up/m (chat): status 200`);
  expect(stdout).toContain('the same on both sides');
  expect(provider.requests.length).toBe(2);
});

it.each(['chat', 'messages', 'responses'])(
  'makes a folder of it without a word of the user, which answers as it did: %s',
  async (protocol) => {
    const { shell, ids, files, provider } = await recorded(protocol);
    expect(await shell.command('requests', ids[1] ?? '', '--repro', '--to', 'bug')).toMatchObject({
      code: 0,
    });
    const made = files('bug');
    expect([...made.keys()].sort()).toEqual([
      '0001/client-answer.json',
      '0001/client-request.json',
      '0001/exchange.json',
      '0001/provider-1-answer.json',
      '0001/provider-1-request.json',
      'README.md',
      'tape.json',
      'versions.json',
    ]);
    const all = [...made.values()].join('\n');
    expect(all).not.toMatch(/zq|Mend |step 0|Done after|Work in/);
    expect(all).not.toContain(provider.url);
    expect(made.get('0001/client-request.json')).toContain('"run"');
    expect(made.get('README.md')).toMatch(new RegExp(`client: ${protocol}; status 200`));
    expect(JSON.parse(made.get('versions.json') ?? '')).toMatchObject({
      node: process.version,
      client: { protocol },
      providers: [{ kind: 'own', protocol: 'chat' }],
    });
    expect(await shell.command('tape', 'check', 'bug')).toMatchObject({ code: 0 });
    expect(readTape(join(shell.directory, 'bug')).exchanges).toHaveLength(1);
    // A second one does not replace the first.
    expect((await shell.command('requests', ids[1] ?? '', '--repro', '--to', 'bug')).stderr).toContain(
      'exists',
    );
    // It is a tape: asked again, it answers the same.
    shell.configure({ providers: { bug: { tape: './bug' } }, listen: { hosts: ['127.0.0.1'], port: 0 } });
    const { url } = await shell.serve();
    const body = JSON.parse(made.get('0001/client-request.json') ?? '') as object;
    const response = await fetch(url + readTape(join(shell.directory, 'bug')).exchanges[0]?.head.path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${await shell.newKey('enterprise')}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ ...body, model: 'bug/x' }),
    });
    expect([response.status, await response.text()]).toEqual([
      200,
      expect.stringContaining('Xxxx xxxxx 1 xxxxx.'),
    ]);
  },
);

it('says where it looked for a request that no tape holds, and how to get a tape', async () => {
  const { shell, ids } = await recorded('chat');
  const unknown = 'req_000000000000000000000000';
  const lines = (text: string) => text.replace(/\s+/g, ' ');
  const missing = await shell.command('requests', unknown, '--repro');
  expect(missing.code).toBe(1);
  expect(lines(missing.stderr)).toContain(
    `no tape holds the request ${unknown}: looked at 1 tape in ${shell.directory}`,
  );
  expect(lines(missing.stderr)).toContain('gateway record NAME -- COMMAND');
  expect(lines((await shell.command('requests', '--diff')).stderr)).toContain('gateway requests ID --diff');
  // In the folder `tapes`, too; a damaged one beside it is named and left out.
  mkdirSync(join(shell.directory, 'tapes', 'broken'), { recursive: true });
  writeFileSync(join(shell.directory, 'tapes', 'broken', 'tape.json'), '{');
  const found = await shell.command('requests', ids[0] ?? '', '--diff');
  expect(found.code).toBe(0);
  expect(lines(found.stderr)).toMatch(/left out: .*broken.tape\.json: is no JSON/);
  const named = await shell.command('requests', ids[0] ?? '', '--diff', '--tape', 'tapes/broken');
  expect(named.code).toBe(1);
  expect(readdirSync(join(shell.directory)).filter((name) => name.startsWith('repro'))).toEqual([]);
  expect(readFileSync(join(shell.directory, 'task', '0001', 'client-request.json'), 'utf8')).toContain(
    'zqlogin',
  );
});
