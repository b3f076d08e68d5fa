// A secret that stands across the place where a provider's words are cut: half of it would be found by no expression.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ProtocolName } from '../../../src/canonical/request.ts';
import { ask } from '../../helpers/ask.ts';
import { PROVIDER_KEY, startBothProtocols, type TestGateway } from '../../helpers/gateway.ts';
import { type Script, type ScriptedProvider } from '../../helpers/scripted-provider.ts';
import { content, errorBody, FINISH, START, TERMINAL, wholeOf } from '../wire.ts';

const BOTH: readonly ProtocolName[] = ['chat', 'messages'];
const PAIRS = BOTH.flatMap((client) => BOTH.map((speaks) => [client, speaks] as const));
/** Too short to be known for a key by its form. */
const HALF = PROVIDER_KEY.slice(0, 12);

let upstream: ScriptedProvider;
let gateway: TestGateway;
let stop: () => Promise<void>;

beforeAll(async () => {
  ({ upstream, gateway, stop } = await startBothProtocols());
});
afterAll(() => stop());

/** Words in which the key's 13th character is the first that does not fit. */
const words = (most: number): string =>
  'word '.repeat(most).slice(0, most - HALF.length - 1) + ` ${PROVIDER_KEY}`;

function finishing(speaks: ProtocolName, word: string): Script {
  const finish = FINISH[speaks].replace('"stop"', `"${word}"`).replace('"end_turn"', `"${word}"`);
  return { steps: [START[speaks] + content(speaks, 'hi') + finish + TERMINAL[speaks]] };
}

describe.each(PAIRS)('a %s client of a provider that speaks %s', (client, speaks) => {
  /** The log, and errors: good answers are handed on as they are. */
  const shown = async (stream: boolean, script: Script): Promise<string> => {
    upstream.play(script);
    const before = gateway.log().length;
    const { status, text, headers } = await ask(gateway, { protocol: client, model: `${speaks}/m`, stream });
    const id = headers.get('x-request-id') ?? '';
    await expect.poll(() => gateway.log().slice(before)).toContain(id);
    return (status >= 400 || text.includes('"error":') ? text : '') + gateway.log().slice(before);
  };

  it.each([2000, 4000])('sees no half of a key at the %i. character of an error', async (most) => {
    const body = errorBody(speaks, 'invalid_request_error', words(most));
    expect(await shown(false, { status: 400, body })).not.toContain(HALF);
    const event = `event: error\ndata: ${JSON.stringify(body)}\n\n`;
    const late = { steps: [START[speaks] + content(speaks, 'hi'), event] };
    expect(await shown(true, late)).not.toContain(HALF);
  });

  it.each([60, 100])('sees no half of a key at the %i. character of a finish word', async (most) => {
    for (const word of [words(most), `content_filter: ${words(most - 16)}`]) {
      expect(await shown(true, finishing(speaks, word))).not.toContain(HALF);
    }
    const empty = JSON.stringify(wholeOf(speaks, '')).replace(
      /"(?:stop|end_turn)"/,
      JSON.stringify(words(most)),
    );
    expect(await shown(false, { body: empty })).not.toContain(HALF);
  });

  it.each([60, 100])(
    'leaves no half of a key in the log, at the %i. character of an id or a type',
    async (most) => {
      const id = JSON.stringify(wholeOf(speaks, 'hi')).replace(/"id":"[^"]*"/, `"id":"${words(most)}"`);
      expect(await shown(false, { body: id })).not.toContain(HALF);
      const delta = `event: content_block_delta\ndata: ${JSON.stringify({ type: 'content_block_delta', index: 0, delta: { type: words(most) } })}\n\n`;
      const steps = [
        START[speaks] +
          content(speaks, 'hi') +
          (speaks === 'messages' ? delta : '') +
          FINISH[speaks] +
          TERMINAL[speaks],
      ];
      expect(await shown(true, { steps })).not.toContain(HALF);
    },
  );
});
