// JSON that is small in bytes and large in memory: bounded in its levels and values, from clients and from providers.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ProtocolName } from '../../../src/canonical/request.ts';
import { ask, PATHS, type Seen } from '../../helpers/ask.ts';
import { provider, startGateway, type TestGateway } from '../../helpers/gateway.ts';
import { startScriptedProvider, type ScriptedProvider } from '../../helpers/scripted-provider.ts';
import { content, FINISH, START, TERMINAL, wholeOf } from '../wire.ts';

const BOTH: readonly ProtocolName[] = ['chat', 'messages'];
const PAIRS = BOTH.flatMap((client) => BOTH.map((speaks) => [client, speaks] as const));
const MOST = 500;
/** Values that they hold, over the limit by themselves, and within it. */
const MANY = `[${'0,'.repeat(MOST)}0]`;
const FEW = `[${'0,'.repeat(MOST - 100)}0]`;
const DEEP = '['.repeat(600) + ']'.repeat(600);
/** Events of usual size are not looked at. */
const LARGE = 'x'.repeat(70_000);

let upstream: ScriptedProvider;
let gateway: TestGateway;

beforeAll(async () => {
  upstream = await startScriptedProvider();
  gateway = await startGateway({
    config: {
      providers: {
        chat: provider(`${upstream.url}/v1`, 'chat', ['m']),
        messages: provider(`${upstream.url}/v1`, 'messages', ['m']),
      },
      limits: { max_values: MOST },
      tiers: { enterprise: 100_000 },
    },
  });
});
afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

/** The body as it is written, to `path`. */
async function post(path: string, body: string): Promise<Pick<Seen, 'status' | 'text'>> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${gateway.key}` };
  const response = await fetch(gateway.url + path, { method: 'POST', headers, body });
  return { status: response.status, text: await response.text() };
}

const request = (more: string): string =>
  `{"model":"chat/m","max_tokens":5,"messages":[{"role":"user","content":"hi"}],"metadata":${more}}`;

describe.each([...Object.values(PATHS), '/v1/messages/count_tokens'])('a request to %s', (path) => {
  // Codex sends a request again five times after a 413.
  const tooLarge = path === PATHS.responses ? 400 : 413;

  it(`with too many values is a ${tooLarge} that names the limit`, async () => {
    for (const body of [request(MANY), request(`{"a":${MANY.replaceAll('0', '{}')}}`), MANY]) {
      const seen = await post(path, body);
      expect([seen.status, seen.text]).toEqual([
        tooLarge,
        expect.stringContaining('limits.max_values') as unknown,
      ]);
    }
  });

  it('with too many levels is a 400, also where its root is an array', async () => {
    for (const body of [request(DEEP), DEEP, '['.repeat(100_000)]) {
      const seen = await post(path, body);
      expect([seen.status, seen.text]).toEqual([400, expect.stringContaining('512 levels') as unknown]);
    }
  });

  it('that is an array within the limits is refused because it is no object', async () => {
    const seen = await post(path, FEW);
    expect([seen.status, seen.text]).toEqual([
      400,
      expect.stringContaining('must be a JSON object') as unknown,
    ]);
  });
});

describe.each(PAIRS)('a %s client of a provider that speaks %s', (client, speaks) => {
  const see = (stream: boolean): Promise<Seen> =>
    ask(gateway, { protocol: client, model: `${speaks}/m`, stream });
  const whole = (extra: string): string =>
    JSON.stringify({ ...wholeOf(speaks, 'hi'), extra: 'EXTRA' }).replace('"EXTRA"', extra);
  const frame = (extra: string): string =>
    content(speaks, LARGE).replace(/^(.*data: \{)/s, (head) => `${head}"extra":${extra},`);

  it.each([
    ['of too many values', MANY],
    ['of too many levels', DEEP],
  ])('gets a 502 for a whole reply %s', async (_, extra) => {
    upstream.play({ body: whole(extra) }, { body: extra });
    expect([(await see(false)).status, (await see(false)).status]).toEqual([502, 502]);
  });

  it.each([
    ['of too many values', MANY],
    ['of too many levels', DEEP],
  ])('gets an error in its stream for a large event %s', async (_, extra) => {
    upstream.play({ steps: [START[speaks] + content(speaks, 'hi'), frame(extra), TERMINAL[speaks]] });
    const late = await see(true);
    expect([late.status, late.content, late.error?.type]).toEqual([
      200,
      'hi',
      client === 'chat' ? 'upstream_error' : 'api_error',
    ]);
    upstream.play({ steps: [START[speaks], frame(extra)] });
    expect((await see(true)).status).toBe(502);
    // Folded, and without its last blank line.
    upstream.play({ steps: [START[speaks] + content(speaks, 'hi'), frame(extra).trimEnd()] });
    expect((await see(false)).status).toBe(502);
  });

  it('gets what is within the limits', async () => {
    upstream.play({ body: whole(FEW) });
    expect(await see(false)).toMatchObject({ status: 200, content: 'hi' });
    upstream.play({ steps: [START[speaks], frame(FEW), FINISH[speaks], TERMINAL[speaks]] });
    const { status, content: text, error } = await see(true);
    expect([status, text.length, error]).toEqual([200, LARGE.length, undefined]);
  });
});
