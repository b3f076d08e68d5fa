// How many files a reader of one small request has to know: those that run a function for it. The counts are limits, which a change
// may lower.
import { expect, it } from 'vitest';
import { ask, type Question } from '../helpers/ask.ts';
import { coveredGateway, type FilesRun } from '../helpers/coverage.ts';
import { provider } from '../helpers/gateway.ts';
import { scriptedProvider } from '../helpers/scripted-provider.ts';
import { streamOf, wholeOf } from '../gateway/wire.ts';

const CASES: readonly [what: string, mostFiles: number, question: Question][] = [
  ['relayed, whole', 67, {}],
  ['relayed, streamed', 71, { stream: true }],
  ['translated, whole', 95, { protocol: 'messages' }],
  ['translated, streamed', 101, { protocol: 'messages', stream: true }],
];

it('one small request runs through few files', async () => {
  const upstream = await scriptedProvider();
  const { shell, server, filesRun } = await coveredGateway({
    providers: { p: provider(upstream.url, 'chat', ['m']) },
  });
  const to = { url: server.url, key: await shell.newKey('enterprise') };

  async function answered(question: Question): Promise<void> {
    const reply = question.stream
      ? { steps: [streamOf('chat', 'Hello')] }
      : { body: wholeOf('chat', 'Hello') };
    upstream.play(reply);
    expect(await ask(to, { ...question, model: 'm' })).toMatchObject({ status: 200, content: 'Hello' });
  }

  /** The fewest of some rounds, or the first that are few enough: timers and earlier requests run functions, too. */
  async function fewestFiles(question: Question, enough: number): Promise<FilesRun> {
    let fewest: FilesRun = new Map();
    for (let round = 0; round < 12; round += 1) {
      await answered(question);
      await filesRun();
      await answered(question);
      const files = await filesRun();
      if (round === 0 || files.size < fewest.size) fewest = files;
      if (files.size <= enough) break;
    }
    return fewest;
  }

  for (const [what, mostFiles, question] of CASES) {
    const files = await fewestFiles(question, mostFiles);
    const shown = [...files].map(([path, functions]) => `${path}: ${functions.join(' ')}`).sort();
    expect(files.size, `${what}\n${shown.join('\n')}`).toBeGreaterThan(20);
    expect(files.size, `${what}\n${shown.join('\n')}`).toBeLessThanOrEqual(mostFiles);
  }
});
