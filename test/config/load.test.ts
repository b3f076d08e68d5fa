import { mkdirSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { defaultPaths } from '../../src/config/load.ts';
import { faultsOf, load, tempFolder, write } from './folder.ts';

const SIM = 'providers:\n  sim:\n';

const perHour = ({ tiers }: ReturnType<typeof load>): Record<string, number> =>
  Object.fromEntries([...tiers].map(([name, tier]) => [name, tier.perHour]));

describe('the file is found', () => {
  it('in the order --config, GATEWAY_CONFIG, ./gateway.yaml, the configuration folder', () => {
    const cwd = tempFolder();
    const own = write(cwd, 'home/config/gateway/gateway.yaml', SIM);
    expect(load(undefined, { cwd }).file).toBe(own);
    const here = path.join(cwd, 'gateway.yaml');
    expect(load(SIM, { cwd }).file).toBe(here);
    const named = write(cwd, 'named.yaml', SIM);
    const env = { GATEWAY_CONFIG: 'named.yaml' };
    expect(load(undefined, { cwd, env }).file).toBe(named);
    const flagged = write(cwd, 'sub/flagged.yaml', SIM);
    expect(load(undefined, { cwd, env, flags: { config: 'sub/flagged.yaml' } }).file).toBe(flagged);
  });

  it('not beside a named one that is missing', () => {
    const env = { GATEWAY_CONFIG: 'gone.yaml' };
    expect(faultsOf(SIM, { env })).toEqual([
      'gone.yaml: does not exist; check the name, or leave it out to use the providers that are found',
    ]);
  });

  it('and shown whole where it lies outside of the working folder', () => {
    const file = write(tempFolder(), 'other.yaml', 'strickt: 1\n');
    expect(faultsOf(undefined, { flags: { config: file } })[0]).toMatch(`${file}:1 strickt: `);
  });

  it('in folders of the platform, without a suffix', () => {
    const paths = defaultPaths({ XDG_CONFIG_HOME: 'relative/is/ignored', XDG_DATA_HOME: '/data' });
    expect(paths.database).toBe(path.join('/data', 'gateway', 'gateway.db'));
    expect(paths.config.startsWith(homedir()) || paths.config.startsWith('/')).toBe(true);
    expect(paths.config).toMatch(/gateway[/\\](Config[/\\])?gateway\.yaml$/);
    expect(paths.config).not.toContain('nodejs');
  });
});

describe('flags beat environment, environment beats file', () => {
  const text = `${SIM}listen: { hosts: [127.0.0.1], port: 1 }\ndatabase: file.db\n`;
  const env = {
    GATEWAY_HOST: '0.0.0.0, [::1]',
    GATEWAY_PORT: '2',
    GATEWAY_DATABASE: 'env.db',
    GATEWAY_LOG: 'json',
  };
  const flags = { hosts: ['localhost'], port: 0, database: 'flag.db', log: 'off' as const };
  test.each([
    ['the file', {}, {}, ['127.0.0.1'], 1, 'file.db', undefined],
    ['the environment', {}, env, ['0.0.0.0', '::1'], 2, 'env.db', 'json'],
    ['flags', flags, env, ['localhost'], 0, 'flag.db', 'off'],
    [
      'empty variables are unset',
      {},
      { GATEWAY_PORT: '', GATEWAY_HOST: ' ' },
      ['127.0.0.1'],
      1,
      'file.db',
      undefined,
    ],
  ])('%s', (_, given, variables, hosts, port, database, log) => {
    const cwd = tempFolder();
    const config = load(text, { cwd, flags: given, env: variables });
    expect(config.listen).toMatchObject({ hosts, port, defaultHosts: false });
    expect(config.database).toBe(path.join(cwd, database));
    expect(config.log).toBe(log);
  });

  it('a relative database lies beside the file, from a flag in the working folder', () => {
    const cwd = realpathSync(tempFolder());
    mkdirSync(path.join(cwd, 'conf'));
    const file = write(cwd, 'conf/g.yaml', `${SIM}database: data/g.db\n`);
    expect(load(undefined, { cwd, flags: { config: file } }).database).toBe(path.join(cwd, 'conf/data/g.db'));
    expect(load(undefined, { cwd, flags: { config: file, database: 'g.db' } }).database).toBe(
      path.join(cwd, 'g.db'),
    );
  });

  it('a database of another engine keeps its URL, and ~ is the home folder', () => {
    const url = 'postgres://u:p@h/db';
    expect(load(SIM, { env: { GATEWAY_DATABASE: url } }).database).toBe(url);
    expect(load(`${SIM}database: ~/g.db\n`).database).toBe(path.join(homedir(), 'g.db'));
  });
});

describe('defaults', () => {
  it('are filled in', () => {
    const cwd = tempFolder();
    const config = load(SIM, { cwd });
    expect(config).toMatchObject({
      listen: { hosts: ['127.0.0.1', '::1'], defaultHosts: true, port: 8787, names: [] },
      database: path.join(cwd, 'home/data/gateway/gateway.db'),
      strict: false,
      maintenance: false,
      admin: false,
      metrics: null,
      otlp: null,
      usage: { keep: 7_776_000_000 },
      responses: { store: true, keep: 86_400_000 },
      limits: {
        maxBody: 33_554_432,
        maxReply: 67_108_864,
        maxValues: 1_000_000,
        maxConcurrent: 1024,
        headerTimeout: 10_000,
        requestTimeout: 60_000,
        writeTimeout: 60_000,
        keepAlive: 75_000,
        shutdownGrace: 30_000,
      },
      warnings: [],
    });
    expect(perHour(config)).toEqual({ free: 10, lite: 30, pro: 60, enterprise: 300, unlimited: Infinity });
    expect(config.defaultTier).toBe('free');
  });

  it('sections may be left empty', () => {
    const text = `${SIM}listen:\nroutes:\ntiers:\nusage:\nlimits:\nstrict:\ndatabase:\n`;
    expect(load(text).listen.port).toBe(8787);
  });

  it('tiers are merged with them', () => {
    const config = load(`${SIM}tiers: { free: 5, team: 1000 }\n`);
    expect(perHour(config)).toEqual({
      free: 5,
      lite: 30,
      pro: 60,
      enterprise: 300,
      unlimited: Infinity,
      team: 1000,
    });
  });

  it.each(['team', 'pro', 'unlimited'])('new accounts may get %s', (tier) => {
    expect(load(`${SIM}tiers: { team: 5 }\ndefault_tier: ${tier}\n`).defaultTier).toBe(tier);
  });

  it('values may come from the environment as text', () => {
    const text = `${SIM}listen: { port: "\${P}" }\nstrict: \${S}\nlimits: { max_body: "\${B}" }\n`;
    const config = load(text, { env: { P: '9', S: 'true', B: '1KiB' } });
    expect([config.listen.port, config.strict, config.limits.maxBody]).toEqual([9, true, 1024]);
  });
});

describe('a variable that is not set', () => {
  const text = `providers:
  a: { protocol: chat, base_url: "http://a/\${A_PATH}", api_key: "\${A_KEY}", models: [x] }
  anthropic:
  sim:
routes:
  both: [a/x, anthropic/m/n:1, sim/echo]
  gone: [a/unlisted]
`;
  it('leaves its provider and the targets out, and says so', () => {
    const config = load(text, { env: { A_PATH: '', ANTHROPIC_API_KEY: ' ' } });
    expect(config.providers.map(({ name }) => name)).toEqual(['sim']);
    expect([...config.routes]).toEqual([
      ['both', { strategy: 'priority', targets: [{ provider: 'sim', model: 'echo' }] }],
      ['gone', { strategy: 'priority', targets: [] }],
    ]);
    expect(config.warnings).toEqual([
      'provider a is left out: A_PATH, A_KEY are not set',
      'provider anthropic is left out: ANTHROPIC_API_KEY is not set',
      'route both holds sim beside real targets: if they fail, sim repeats the prompt as an answer; remove it',
      'route gone is left out: all of its providers are left out',
    ]);
  });

  it('remembers which names would have meant the provider', () => {
    const named = text.replace('models: [x]', 'models: [x, { id: y, upstream: z }]');
    expect(load(named, { env: {} }).leftOut).toEqual([
      { provider: 'a', why: 'A_PATH, A_KEY are not set', names: ['x', 'y', 'both', 'gone'] },
      { provider: 'anthropic', why: 'ANTHROPIC_API_KEY is not set', names: ['both'] },
    ]);
  });

  it('leaves nothing out once it is set', () => {
    const config = load(text.replace('/unlisted', '/x'), {
      env: { A_PATH: 'p', A_KEY: ' k\n', ANTHROPIC_API_KEY: 'b' },
    });
    expect(config.providers.map(({ name, apiKey }) => [name, apiKey])).toEqual([
      ['a', 'k'],
      ['anthropic', 'b'],
      ['sim', undefined],
    ]);
    expect(config.routes.get('both')?.targets[1]).toEqual({ provider: 'anthropic', model: 'm/n:1' });
    expect(config.warnings).toEqual([
      expect.stringContaining('route both holds sim'),
      expect.stringContaining('auto holds sim'),
    ]);
  });

  it('fails the start if no provider is left', () => {
    expect(faultsOf('providers:\n  openai:\n  gemini:\n')).toEqual([
      'gateway.yaml:1 providers: leaves no provider, since no key is set; set OPENAI_API_KEY for openai, or GEMINI_API_KEY or GOOGLE_API_KEY for gemini; or write "sim:" to try it out',
    ]);
  });

  it('does not hide other faults of that provider', () => {
    expect(faultsOf('providers:\n  sim:\n  openai: { api_key: "${NO}", modles: [] }\n')).toEqual([
      'gateway.yaml:3 providers.openai.modles: is not a known key; did you mean models?',
    ]);
  });
});

describe('routes', () => {
  it('may be called like a model, hold slashes, and name sim without listing it', () => {
    const config = load(
      'providers:\n  ollama: { models: ["qwen3:0.6b"] }\nroutes:\n  "qwen3:0.6b": [sim/echo]\n  a/b: { strategy: fastest, targets: ["ollama/qwen3:0.6b", sim/slow, sim/slow] }\n',
    );
    expect(config.routes.get('a/b')).toEqual({
      strategy: 'fastest',
      targets: [
        { provider: 'ollama', model: 'qwen3:0.6b' },
        { provider: 'sim', model: 'slow' },
      ],
    });
    expect(config.routes.has('qwen3:0.6b')).toBe(true);
  });

  it('may give targets of a balanced route their shares', () => {
    const config = load(
      'providers:\n  sim:\nroutes:\n  a: { strategy: balanced, targets: [{ target: sim/echo, weight: 3 }, sim/slow] }\n',
    );
    expect(config.routes.get('a')).toEqual({
      strategy: 'balanced',
      targets: [
        { provider: 'sim', model: 'echo', weight: 3 },
        { provider: 'sim', model: 'slow' },
      ],
    });
  });
});

describe('variables', () => {
  const own = (key: string, env: Record<string, string> = {}) =>
    load(`providers:\n  ollama: { api_key: '${key}' }\n`, { env });

  it.each([
    ['unset', {}, 'other:-x'],
    ['empty', { K: '' }, 'other:-x'],
    ['set', { K: 'own' }, 'own'],
  ])('have a default: %s', (_, env, value) => {
    expect(own('${K:-other:-x}', env as Record<string, string>).providers[0]?.apiKey).toBe(value);
  });

  it('are unset with an empty default', () => {
    const text = 'providers:\n  sim:\n  ollama: { api_key: "${K:-}" }\n';
    expect(load(text).warnings).toContain('provider ollama is left out: K is not set');
  });

  it.each(['${K', 'a ${K} and ${L'])('are closed, else that is a fault: %s', (key) => {
    const text = `providers:\n  sim:\n  ollama: { api_key: '${key}' }\n`;
    expect(faultsOf(text, { env: { K: 'k' } })).toContain(
      'gateway.yaml:3 providers.ollama.api_key: opens a variable with ${ and does not close it; write ${NAME}',
    );
  });

  it('with a key in quotes are a warning that does not show it', () => {
    expect(own('${K}', { K: '"sk-secret"' }).warnings).toEqual([
      'provider ollama: K is in quotes, which are sent as a part of the key; take them out',
    ]);
    expect(load(undefined, { env: { MISTRAL_API_KEY: "'key'" } }).warnings).toEqual([
      'MISTRAL_API_KEY is in quotes, which are sent as a part of the key; take them out',
    ]);
  });

  it('are read behind a byte order mark', () => {
    expect(load('\ufeffproviders:\n  sim:\n').providers).toHaveLength(1);
  });
});

describe('a variable without its braces is a warning with the right form', () => {
  it.each([
    [
      'api_key: $OLLAMA_KEY',
      'providers.ollama.api_key: $OLLAMA_KEY is text, not a variable; to read the environment write ${OLLAMA_KEY}',
    ],
    [
      'headers: { x-key: "Bearer $X_TOKEN" }',
      'providers.ollama.headers.x-key: $X_TOKEN is text, not a variable; to read the environment write ${X_TOKEN}',
    ],
    [
      'api_key: $ecret-of-mine',
      'providers.ollama.api_key: a value that begins with $ is text, not a variable; to read the environment write ${NAME}',
    ],
  ])('%s', (line, warning) => {
    expect(load(`providers:\n  ollama:\n    ${line}\n`).warnings).toEqual([warning]);
  });

  it('and none where a variable holds it', () => {
    const env = { K: '$OTHER' };
    expect(load('providers:\n  ollama:\n    api_key: ${K}\n', { env }).warnings).toEqual([]);
  });
});

describe('the simulated provider as a last resort is a warning', () => {
  const OPEN = 'providers:\n  ollama:\n  sim:\n';
  const warningsOf = (text: string): string[] => load(text).warnings;

  it('in a route beside real targets, wherever it stands', () => {
    const routes =
      'routes: { auto: [ollama/a], a: [ollama/a, sim/echo], b: { targets: [sim/echo, ollama/a] } }\n';
    expect(warningsOf(OPEN + routes)).toEqual([
      'route a holds sim beside real targets: if they fail, sim repeats the prompt as an answer; remove it',
      'route b holds sim beside real targets: if they fail, sim repeats the prompt as an answer; remove it',
    ]);
  });

  it('in auto, where no route says what auto is', () => {
    expect(warningsOf(OPEN)).toEqual([
      'auto holds sim beside real targets: if they fail, sim repeats the prompt as an answer; write a route auto without it',
    ]);
    expect(warningsOf(`${OPEN}routes: { auto: [ollama/a] }\n`)).toEqual([]);
  });

  it('not where it is alone', () => {
    expect(warningsOf(`${OPEN}routes: { auto: [ollama/a], try: [sim/echo, sim/slow] }\n`)).toEqual([]);
    expect(warningsOf(SIM)).toEqual([]);
  });
});

describe('zero configuration', () => {
  const zero = (env: Record<string, string>) => {
    const { file, providers, warnings } = load(undefined, { env });
    return { file, found: providers.map(({ name, apiKey, source }) => [name, apiKey, source]), warnings };
  };

  it('takes the well-known keys of the environment, in order of preference', () => {
    const env = { OPENAI_API_KEY: 'o', GOOGLE_API_KEY: 'g', ANTHROPIC_API_KEY: 'a\n', MISTRAL_API_KEY: '' };
    expect(zero(env)).toEqual({
      file: null,
      found: [
        ['anthropic', 'a', 'environment'],
        ['openai', 'o', 'environment'],
        ['gemini', 'g', 'environment'],
      ],
      warnings: [],
    });
  });

  it("never sends a gateway's own key, nor anything to a *_BASE_URL", () => {
    const env = {
      OPENAI_API_KEY: 'sk-gw-abc',
      OPENAI_BASE_URL: 'http://127.0.0.1:8787/v1',
      GEMINI_API_KEY: 'sk-gw-x',
      GOOGLE_API_KEY: 'g',
      ANTHROPIC_BASE_URL: 'http://evil',
    };
    const { found, warnings } = zero(env);
    expect(found).toEqual([['gemini', 'g', 'environment']]);
    expect(warnings).toEqual([
      'OPENAI_API_KEY contains a key of a gateway, not of the provider: ignored',
      'GEMINI_API_KEY contains a key of a gateway, not of the provider: ignored',
    ]);
    expect(warnings.join()).not.toContain('sk-gw-');
  });

  it('remembers which variables would have given a provider', () => {
    const { leftOut } = load(undefined, { env: { OPENAI_API_KEY: 'o' } });
    expect(leftOut).toContainEqual(
      expect.objectContaining({ provider: 'anthropic', why: 'ANTHROPIC_API_KEY is not set' }),
    );
    expect(leftOut.map(({ provider }) => provider)).not.toContain('openai');
  });

  it('starts with nothing found', () => {
    expect(zero({}).found).toEqual([]);
  });
});
