// A program that was recorded once is replayed without its provider: the same answers to the same requests, whatever protocol asks.
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ask } from '../helpers/ask.ts';
import { readTape } from '../../src/tapes/read.ts';
import { stepper, studio } from './tape.ts';

it('P49: replays a recorded task three times without its provider, and the answers are the same', async () => {
  const { agent, provider, shell } = await studio();
  provider.answerBy(stepper(3));
  const recorded = await agent(['record', 'task'], 'chat', 'Begin');
  expect(recorded, recorded.stderr).toMatchObject({ code: 0 });
  expect(JSON.parse(recorded.stdout)).toEqual({
    calls: ['run step 0', 'run step 1', 'run step 2'],
    text: 'Done after 3 steps.',
  });
  const asked = provider.requests.length;
  await provider.close();
  // Neither the user's configuration nor their database is needed.
  rmSync(join(shell.directory, 'gateway.yaml'));
  for (let round = 0; round < 3; round += 1) {
    const replayed = await agent(['replay', '--fast', 'task'], 'chat', 'Begin');
    expect(replayed, replayed.stderr).toMatchObject({ code: 0, stdout: recorded.stdout });
  }
  expect(provider.requests).toHaveLength(asked);
});

it('P49: says which recorded request is nearest to one that the tape lacks, and the first difference', async () => {
  const { agent, provider } = await studio();
  provider.answerBy(stepper(1));
  expect(await agent(['record', 'task'], 'chat', 'Mend the login')).toMatchObject({ code: 0 });
  const changed = await agent(['replay', '--fast', 'task'], 'chat', 'Mend the logout');
  expect(changed.code).toBe(3);
  expect(JSON.parse(changed.stdout)).toEqual({
    status: 400,
    error:
      'the tape task has no such request; the nearest is 0001, and the first difference is in its user text 1: ' +
      'it says “Mend the logout”, on the tape “Mend the login”',
  });
  expect(changed.stderr).toContain('1 request is not on the tape task');
});

it('gives clients of the other two protocols the calls of 100 recorded tool steps', async () => {
  const { agent, provider } = await studio();
  provider.answerBy(stepper(100));
  const recorded = await agent(['record', 'steps'], 'chat', 'Begin');
  expect(recorded, recorded.stderr).toMatchObject({ code: 0 });
  await provider.close();
  for (const protocol of ['messages', 'responses']) {
    const replayed = await agent(['replay', '--fast', 'steps'], protocol, 'Begin');
    expect(JSON.parse(replayed.stdout), protocol).toEqual(JSON.parse(recorded.stdout));
  }
});

it('asks the real provider for what the tape lacks, adds it, and has it the next time', async () => {
  const { agent, provider, files } = await studio();
  provider.answerBy(stepper(1));
  expect(await agent(['record', 'task'], 'chat', 'First')).toMatchObject({ code: 0 });
  const before = provider.requests.length;
  const filled = await agent(['replay', '--fast', '--record-missing', 'task'], 'chat', 'Second');
  expect(filled, filled.stderr).toMatchObject({ code: 0 });
  expect(filled.stderr).toContain('2 requests added to the tape task');
  expect(provider.requests).toHaveLength(before + 2);
  expect(await agent(['replay', '--fast', '--record-missing', 'task'], 'chat', 'First')).toMatchObject({
    code: 0,
  });
  expect(provider.requests).toHaveLength(before + 2);
  expect(await agent(['replay', '--fast', 'task'], 'chat', 'Second')).toMatchObject({ code: 0 });
  expect([...files('task').keys()].filter((name) => name.endsWith('exchange.json'))).toHaveLength(4);
});

it('is a provider of a configuration, with fallback to the next target where it lacks a request', async () => {
  const { agent, provider, shell } = await studio();
  provider.answerBy(stepper(0));
  expect(await agent(['record', 'task'], 'chat', 'Taped')).toMatchObject({ code: 0 });
  const asked = provider.requests.length;
  const up = { protocol: 'chat', base_url: `${provider.url}/v1`, api_key: 'k', models: ['m'] };
  shell.configure({
    providers: { tape: { tape: './task' }, up },
    routes: { both: ['tape/m', 'up/m'] },
    listen: { hosts: ['127.0.0.1'], port: 0 },
  });
  const server = await shell.serve();
  const to = { url: server.url, key: await shell.newKey('enterprise') };
  const body = (content: string) => ({
    messages: [
      { role: 'system', content: 'Work in steps.' },
      { role: 'user', content },
    ],
    tools: TOOLS,
  });
  const taped = await ask(to, { model: 'both', body: body('Taped') });
  expect(taped).toMatchObject({ status: 200, content: 'Done after 0 steps.' });
  expect(taped.headers.get('x-gateway-provider')).toBe('tape');
  expect(provider.requests).toHaveLength(asked);
  const other = await ask(to, { model: 'both', body: body('Another') });
  expect(other.headers.get('x-gateway-provider')).toBe('up');
  const alone = await ask(to, { model: 'tape/m', body: body('Another') });
  expect(alone.status).toBe(400);
});

it('finds a request again whose ids, dates, durations and ignored texts are others', async () => {
  const { agent, provider, shell } = await studio();
  provider.answerBy(stepper(0));
  const prompt = (date: string, id: string, user: string) =>
    `On ${date} session ${id} took 31 ms.\nUser: ${user} is here.\nMend it.`;
  expect(
    await agent(
      ['record', 'task'],
      'chat',
      prompt('2026-11-26', '0b54e1f8-0f2b-4d5c-9a0e-5cf2a6d1f001', 'ann'),
    ),
  ).toMatchObject({ code: 0 });
  const again = () =>
    agent(
      ['replay', '--fast', 'task'],
      'chat',
      prompt('2027-01-02', '5cf2a6d1-4d5c-4d5c-9a0e-0f2b0b54e1f8', 'bob'),
    );
  expect((await again()).code).toBe(3);
  const file = join(shell.directory, 'task', 'tape.json');
  const head = readTape(join(shell.directory, 'task')).head;
  writeFileSync(file, JSON.stringify({ ...head, ignore: [...(head.ignore ?? []), 'text: User: * is here'] }));
  expect((await again()).code).toBe(0);
});

const TOOLS = [
  {
    type: 'function',
    function: {
      name: 'run',
      description: 'Runs a command.',
      parameters: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
    },
  },
];
