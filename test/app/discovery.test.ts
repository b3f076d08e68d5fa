// What a gateway knows of its providers while they come and go: which local servers, lists and windows it asks for again, and when.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ProviderConfig } from '../../src/config/config.ts';
import { createDiscovery, type Discovery } from '../../src/app/discovery.ts';
import { silentLog } from '../../src/log.ts';
import { createDirectClient } from '../../src/providers/direct-client.ts';
import { createRouting, type Routing } from '../../src/routing/routing.ts';
import { manualClock, type ManualClock } from '../helpers/clock.ts';
import { config, keys, provider, question } from '../routing/fixtures.ts';

const SIM = provider('sim', ['echo'], { source: 'builtin', defaultModel: 'echo' });

/** Servers that may be down, and the seconds at which their lists were asked for. */
interface World {
  clock: ManualClock;
  routing: Routing;
  discovery: Discovery;
  asked: number[];
  isUp: boolean;
  models: string[];
  /** Warnings of the log. */
  warnings: string[];
  /** Lets the time pass, and asks for what is due each second. */
  pass(seconds: number): Promise<void>;
}

/** With a file, it names Ollama and `others`; without, Ollama may be found on this machine. */
async function world(isInFile: boolean, others: ProviderConfig[] = []): Promise<World> {
  const clock = manualClock(0);
  const server = createServer(({ url }, response) => {
    const isList = url === '/v1/models';
    if (isList) asked.push(clock.monotonic() / 1000);
    response.statusCode = whole.isUp ? 200 : 503;
    response.end(JSON.stringify(isList ? { data: whole.models.map((id) => ({ id })) } : {}));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const ollama = provider('ollama', null, {
    source: isInFile ? 'file' : 'local',
    baseUrls: { chat: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` },
  });
  const file = isInFile ? '/gateway.yaml' : null;
  const state = { config: { ...config(isInFile ? [ollama, ...others] : []), file }, stopped: false };
  const routing = createRouting({ config: state.config, clock });
  routing.addProviders([SIM]);
  const asked: number[] = [];
  const warnings: string[] = [];
  const log = { ...silentLog, warn: (message: string) => void warnings.push(message) };
  const made: Omit<World, 'discovery'> = {
    clock,
    routing,
    asked,
    isUp: false,
    models: ['qwen3'],
    warnings,
    async pass(seconds) {
      for (let second = 0; second < seconds; second += 1) {
        clock.advance(1000);
        await whole.discovery.askDue();
      }
    },
  };
  const discovery = createDiscovery({
    client: createDirectClient(),
    routing,
    clock,
    log,
    peers: undefined,
    state,
    candidates: [ollama],
  });
  const whole: World = Object.assign(made, { discovery });
  return whole;
}

const autoOf = ({ routing }: World): string[] => keys(routing.resolve(question('auto')).targets);

describe('without a file', () => {
  it('P45: a local server that starts later is found when auto is asked for, and auto never falls back', async () => {
    const all = await world(false);
    await all.discovery.ready;
    expect(autoOf(all)).toEqual(['sim/echo']);
    all.isUp = true;
    await all.discovery.learn('auto');
    expect(autoOf(all)).toEqual(['ollama/qwen3']);
    all.isUp = false;
    await all.pass(120);
    expect(autoOf(all)).toEqual(['ollama/qwen3']);
  });

  it('looks again after 1, 2, 4 … 30 s, and finds the server without a request', async () => {
    const all = await world(false);
    await all.discovery.ready;
    await all.pass(100);
    expect(all.asked).toEqual([0, 1, 3, 7, 15, 31, 61, 91]);
    all.isUp = true;
    await all.pass(30);
    expect(autoOf(all)).toEqual(['ollama/qwen3']);
  });

  it('a request waits for the first search', async () => {
    const all = await world(false);
    all.isUp = true;
    await all.discovery.learn('auto');
    expect(autoOf(all)).toEqual(['ollama/qwen3']);
    expect(all.discovery.learn('auto')).toBeUndefined();
  });
});

describe('a provider of the file', () => {
  it('that starts later is asked for its list by the request that names it', async () => {
    const all = await world(true);
    await all.discovery.askDue();
    await all.discovery.learn('auto');
    expect(() => autoOf(all)).toThrow('`ollama/NAME`');
    all.isUp = true;
    await all.discovery.learn('auto');
    expect(autoOf(all)).toEqual(['ollama/qwen3']);
  });

  it('is asked once by many requests at a time, and by none that has a target', async () => {
    const all = await world(true, [provider('cloud', ['big'])]);
    expect(all.discovery.learn('auto')).toBeUndefined();
    expect(all.discovery.learn('ollama/any')).toBeUndefined();
    const down = await world(true);
    await Promise.all(Array.from({ length: 20 }, () => Promise.resolve(down.discovery.learn('auto'))));
    expect([all.asked, down.asked]).toEqual([[], [0]]);
  });

  it('has a list that is never older than a minute', async () => {
    const all = await world(true);
    all.isUp = true;
    await all.discovery.askDue();
    all.models = ['gemma3'];
    await all.pass(60);
    expect(autoOf(all)).toEqual(['ollama/gemma3']);
  });

  it('that is down for long is one warning', async () => {
    const all = await world(true);
    await all.discovery.askDue();
    await all.pass(40);
    expect(all.warnings).toEqual(['the models of a provider could not be listed']);
  });

  it('is a new one when the file changes it', async () => {
    const all = await world(true);
    await all.discovery.askDue();
    all.routing.update(
      config(
        all.routing
          .providers()
          .filter(({ name }) => name === 'ollama')
          .map((one) => ({ ...one })),
      ),
    );
    await all.discovery.askDue();
    expect(all.asked).toEqual([0, 0]);
  });
});
