// A provider that does not say which model answers: the client gets the name that the provider was asked for.
import { expect, it } from 'vitest';
import { PROTOCOL_NAMES } from '../../src/canonical/request.ts';
import { ask } from '../helpers/ask.ts';
import { gateway, provider } from '../helpers/gateway.ts';
import { scriptedProvider } from '../helpers/scripted-provider.ts';
import { streamOf, wholeOf } from './wire.ts';

const PAIRS = PROTOCOL_NAMES.flatMap((client) =>
  PROTOCOL_NAMES.filter((speaks) => speaks !== client).map((speaks) => [client, speaks] as const),
);

it.each(PAIRS)('a %s client of a %s provider reads the model of the target', async (client, speaks) => {
  const upstream = await scriptedProvider();
  const unnamed = (text: string): string => text.replaceAll('"model":"m",', '');
  const whole = JSON.parse(unnamed(JSON.stringify(wholeOf(speaks, 'Hi')))) as object;
  const to = await gateway({
    config: { providers: { p: provider(`${upstream.url}/v1`, speaks, ['model-7']) } },
  });
  for (const script of [{ body: whole }, { steps: [unnamed(streamOf(speaks, 'Hi'))] }]) {
    upstream.play(script);
    const seen = await ask(to, { protocol: client, model: 'p/model-7', stream: 'steps' in script });
    expect(seen).toMatchObject({ status: 200, content: 'Hi' });
    const names = new Set([...seen.text.matchAll(/"model":"([^"]*)"/g)].map(([, name]) => name));
    expect(names).toEqual(new Set(['model-7']));
  }
});
