import { describe, expect, it, test } from 'vitest';
import { faultsOf, load, tempFolder, write } from './folder.ts';

const SIM = 'providers:\n  sim:\n';

/** What a file holds, and every line that is said about it. */
const FAULTS: Record<string, [text: string, ...lines: string[]]> = {
  'an empty file': ['', 'gateway.yaml:1 is empty; write at least "providers:" and a provider below it'],
  'a file of comments': [
    '# nothing\n',
    'gateway.yaml:1 is empty; write at least "providers:" and a provider below it',
  ],
  'a list': [
    '- a\n',
    'gateway.yaml:1 is not a mapping; write keys like "providers:", each with its values below',
  ],
  'no provider': [
    'strict: true\n',
    'gateway.yaml:1 providers: names no provider; write at least one, like "openai:", or "sim:" to try it out',
  ],
  'an unknown key': [`${SIM}lisen: {}\n`, 'gateway.yaml:3 lisen: is not a known key; did you mean listen?'],
  'an unknown key that is like none': [
    `${SIM}usage:\n  zzzzzz: 1\n`,
    'gateway.yaml:4 usage.zzzzzz: is not a known key; known: keep',
  ],
  'a key that has no effect yet': [
    `${SIM}workers: 2\n`,
    'gateway.yaml:3 workers: is not a known key; known: listen, database, providers, routes, tiers, default_tier, unknown_price, brakes, alerts, strict, explain_misses, usage, responses, limits, maintenance, admin, sign_in, claude, ollama, metrics, otlp',
  ],
  'a collector without a scheme': [
    `${SIM}otlp: 127.0.0.1:4318\n`,
    'gateway.yaml:3 otlp: is not the URL of a collector; write one like http://127.0.0.1:4318; secrets belong into OTEL_EXPORTER_OTLP_HEADERS',
  ],
  'metrics that are neither on nor off': [
    `${SIM}metrics: often\n`,
    'gateway.yaml:3 metrics: is neither true nor false; write true, or { accounts: true } for metrics with account names',
  ],
  'an unknown key of a provider': [
    'providers:\n  openai:\n    modles: [a]\n',
    'gateway.yaml:3 providers.openai.modles: is not a known key; did you mean models?',
  ],
  'an unknown key of a model': [
    'providers:\n  sim:\n    models:\n      - a\n      - id: b\n        contxt_window: 5\n',
    'gateway.yaml:6 providers.sim.models[1].contxt_window: is not a known key; did you mean context_window?',
  ],
  'a port out of range': [
    `${SIM}listen:\n  port: 70000\n`,
    'gateway.yaml:4 listen.port: is not a port; write a whole number from 0 to 65535',
  ],
  'a URL as a host': [
    `${SIM}listen: { hosts: ["http://localhost"] }\n`,
    'gateway.yaml:3 listen.hosts[0]: is not a host; write an address or a name without a port, like 127.0.0.1 or "::1"',
  ],
  'an address that is none': [
    `${SIM}listen: { hosts: [127.0.0.300] }\n`,
    'gateway.yaml:3 listen.hosts[0]: is not a host; write an address or a name without a port, like 127.0.0.1 or "::1"',
  ],
  'a section that is a value': [
    `${SIM}limits: 5\n`,
    'gateway.yaml:3 limits: is not a mapping; write its keys below it, indented',
  ],
  'a fraction': [
    `${SIM}tiers: { free: 1.5 }\n`,
    'gateway.yaml:3 tiers.free: is not a number of requests an hour; write a whole number of 1 or more',
  ],
  'a tier of nothing': [
    `${SIM}tiers: { free: 0 }\n`,
    'gateway.yaml:3 tiers.free: is not a number of requests an hour; write a whole number of 1 or more',
  ],
  'a name of a tier': [
    `${SIM}tiers: { "a b": 3 }\n`,
    'gateway.yaml:3 tiers["a b"]: is not a name of a tier; begin with a letter; then letters, digits, dots, hyphens and underscores (64 at most)',
  ],
  'the tier without a limit': [
    `${SIM}tiers: { unlimited: 5 }\n`,
    'gateway.yaml:3 tiers.unlimited: is the tier without a limit; choose another name',
  ],
  'a default tier that is not there': [
    `${SIM}tiers: { team: 5 }\ndefault_tier: teem\n`,
    'gateway.yaml:4 default_tier: is not a tier; did you mean team?',
  ],
  'a default tier that is like none': [
    `${SIM}default_tier: 5\n`,
    'gateway.yaml:3 default_tier: is not a tier; known: free, lite, pro, enterprise, unlimited',
  ],
  'a size': [
    `${SIM}limits: { max_body: 5XB }\n`,
    'gateway.yaml:3 limits.max_body: is not a size that fits here; write one like 64KB or 32MiB, or whole bytes (512MiB at most)',
  ],
  'a timer that would fire at once': [
    `${SIM}limits: { shutdown_grace: 30d }\n`,
    'gateway.yaml:3 limits.shutdown_grace: is not a duration that fits here; write one like 500ms, 10s or 2m, or whole milliseconds (24d at most)',
  ],
  'no time-out at all': [
    `${SIM}limits: { header_timeout: 0 }\n`,
    'gateway.yaml:3 limits.header_timeout: is not a duration that fits here; write one like 500ms, 10s or 2m, or whole milliseconds (more than 0, 24d at most)',
  ],
  'neither true nor false': [
    `${SIM}strict: maybe\n`,
    'gateway.yaml:3 strict: is neither true nor false; write one of them',
  ],
  'a protocol': [
    'providers:\n  ollama:\n    protocol: chatt\n',
    'gateway.yaml:3 providers.ollama.protocol: is not a known choice; write chat, messages, responses or a list of them',
  ],
  'a misspelt well-known name': [
    'providers:\n  opnai:\n',
    'gateway.yaml:2 providers.opnai: is not a well-known name and has no protocol and no base_url; write what is missing (did you mean openai?)',
  ],
  'an own provider without a protocol': [
    'providers:\n  qqq: { base_url: "http://h" }\n',
    'gateway.yaml:2 providers.qqq: is not a well-known name and has no protocol; write what is missing (well known: anthropic, openai, gemini, mistral, deepseek, xai, moonshot, zai, minimax, dashscope, meta, xiaomi, perplexity, groq, openrouter, together, fireworks, cerebras, azure, bedrock, nvidia, siliconflow, deepinfra, novita, baseten, copilot, github, zai-coding, kimi-coding, qwen-plan, xiaomi-plan, ollama, lmstudio, llamacpp, vllm, sglang, jan, koboldcpp, docker, gpt4all, sim)',
  ],
  'a region that is part of no host': [
    'providers:\n  bedrock:\n    region: eu.example/x\n',
    'gateway.yaml:3 providers.bedrock.region: is not a region; write one like eu-central-1',
  ],
  'a region of a provider without regions': [
    'providers:\n  openai:\n    region: eu-central-1\n',
    'gateway.yaml:3 providers.openai.region: has no effect on this provider; leave it out',
  ],
  'bedrock without a region': [
    'providers:\n  bedrock:\n    api_key: k\n',
    'gateway.yaml:2 providers.bedrock: has no region; write one like eu-central-1, or set AWS_REGION',
  ],
  'a provider without a URL': [
    'providers:\n  azure:\n    api_key: a\n',
    "gateway.yaml:2 providers.azure.base_url: is missing; write the provider's URL for chat",
  ],
  'a URL of another scheme': [
    'providers:\n  ollama:\n    base_url: ftp://host\n',
    'gateway.yaml:3 providers.ollama.base_url: is not an http or https URL; write it as for an official SDK, like http://127.0.0.1:11434/v1',
  ],
  'a name of a provider': [
    'providers:\n  a/b: {}\n',
    'gateway.yaml:2 providers.a/b: is not a name of a provider; begin with a letter; then letters, digits, dots, hyphens and underscores (64 at most)',
  ],
  'a key of the built-in provider': [
    'providers:\n  sim:\n    api_key: x\n',
    'gateway.yaml:3 providers.sim.api_key: has no effect on the built-in provider sim; leave it out',
  ],
  'a model listed twice': [
    'providers:\n  sim:\n    models:\n      - a\n      - id: a\n        upstream: b\n',
    'gateway.yaml:5 providers.sim.models[1].id: is a name that occurs twice; keep one',
  ],
  'a number as a model': [
    'providers:\n  sim:\n    models:\n      - 4.5\n',
    'gateway.yaml:4 providers.sim.models[0]: is not a model; write its name (in quotes if it looks like a number), or a mapping with id',
  ],
  'an empty list of models': [
    'providers:\n  sim: { models: [] }\n',
    'gateway.yaml:2 providers.sim.models: is an empty list; write its models, or leave it out to take any name',
  ],
  'an unknown flag': [
    'providers:\n  ollama:\n    flags: { max_token_field: max_tokens }\n',
    'gateway.yaml:3 providers.ollama.flags.max_token_field: is not a flag; did you mean max_tokens_field?',
  ],
  'a flag of an older version': [
    'providers:\n  ollama:\n    flags: { tool_result_images: true }\n',
    'gateway.yaml:3 providers.ollama.flags.tool_result_images: is no longer a flag: images of tool results follow in a user message, as every chat server takes them; delete it',
  ],
  'a flag in the spelling of the code': [
    'providers:\n  ollama:\n    flags: { topK: true }\n',
    'gateway.yaml:3 providers.ollama.flags.topK: is not a flag; did you mean top_k?',
  ],
  'a value of a flag': [
    'providers:\n  ollama:\n    flags: { system_role: root }\n',
    'gateway.yaml:3 providers.ollama.flags.system_role: is not a known choice; write system or developer',
  ],
  'headers that are not the user’s': [
    'providers:\n  ollama:\n    headers:\n      Host: a\n      "x y": a\n      x-a: a\n      X-A: b\n',
    'gateway.yaml:4 providers.ollama.headers.Host: is a header that the gateway writes itself; leave it out',
    'gateway.yaml:5 providers.ollama.headers["x y"]: is not a name of a header; write letters, digits and hyphens',
  ],
  'a header twice': [
    'providers:\n  ollama:\n    headers:\n      x-a: a\n      X-A: b\n',
    'gateway.yaml:5 providers.ollama.headers.X-A: occurs twice; keep one',
  ],
  'an unset variable outside of providers': [
    `${SIM}database: \${NO_SUCH_DATABASE}\n`,
    'gateway.yaml:3 database: reads NO_SUCH_DATABASE, which is not set; set it, or write the value',
  ],
  'a database that is not built in': [
    `${SIM}database: mysql://user:hunter2@host/x\n`,
    'gateway.yaml:3 database: is not a database; write a file or postgres://…',
  ],
  'a route without targets': [
    `${SIM}routes:\n  a: []\n`,
    'gateway.yaml:4 routes.a: is an empty list; write [provider/model, …]',
  ],
  'a route left empty': [
    `${SIM}routes:\n  a:\n`,
    'gateway.yaml:4 routes.a: is not a route; write its targets as [provider/model, …]',
  ],
  'a target without a provider': [
    `${SIM}routes:\n  a: [echo]\n`,
    'gateway.yaml:4 routes.a[0]: is not a target; write provider/model',
  ],
  'a route to an unknown provider': [
    'providers:\n  ollama:\nroutes:\n  a:\n    - ollama/x\n    - olama/x\n',
    'gateway.yaml:6 routes.a[1]: names an unknown provider (olama); did you mean ollama?',
  ],
  'a route to a model that is not listed': [
    'providers:\n  sim:\n    models: [echo]\nroutes:\n  a:\n    strategy: fastest\n    targets:\n      - sim/ecko\n',
    'gateway.yaml:8 routes.a.targets[0]: names a model that sim does not list (ecko); did you mean echo?',
  ],
  'a route to a model that the simulated provider does not have': [
    `${SIM}routes:\n  a: [sim/ecko]\n`,
    'gateway.yaml:4 routes.a[0]: names a model that sim does not list (ecko); did you mean echo?',
  ],
  'a route to such a model without the provider sim': [
    'providers:\n  ollama:\nroutes:\n  a: [ollama/x, sim/ecko]\n',
    'gateway.yaml:4 routes.a[1]: names a model that sim does not list (ecko); did you mean echo?',
  ],
  'a strategy': [
    `${SIM}routes:\n  a: { strategy: random, targets: [sim/echo] }\n`,
    'gateway.yaml:4 routes.a.strategy: is not a known choice; write priority or fastest or balanced',
  ],
  'a weight that shares nothing': [
    `${SIM}routes:\n  a:\n    targets:\n      - sim/echo\n      - { target: sim/slow, weight: 2 }\n`,
    'gateway.yaml:7 routes.a.targets[1].weight: has an effect only with strategy: balanced; write it, or remove the weight',
  ],
  'a weight in the short form of a route': [
    `${SIM}routes:\n  a: [{ target: sim/slow, weight: 2 }]\n`,
    'gateway.yaml:4 routes.a[0].weight: has an effect only with strategy: balanced; write it, or remove the weight',
  ],
  'a weight of nothing': [
    `${SIM}routes:\n  a: { strategy: balanced, targets: [{ target: sim/slow, weight: 0 }] }\n`,
    'gateway.yaml:4 routes.a.targets[0].weight: is not a share of the requests; write a whole number from 1 to 1000',
  ],
  'a misspelt member of a target': [
    `${SIM}routes:\n  a: { strategy: balanced, targets: [{ target: sim/slow, wieght: 2 }] }\n`,
    'gateway.yaml:4 routes.a.targets[0].wieght: is not a known key; did you mean weight?',
  ],
  'a target of a balanced route to an unknown provider': [
    'providers:\n  ollama:\nroutes:\n  a: { strategy: balanced, targets: [{ target: olama/x }] }\n',
    'gateway.yaml:4 routes.a.targets[0]: names an unknown provider (olama); did you mean ollama?',
  ],
  'a key given twice': [
    'providers:\n  openai:\n  openai:\n',
    'gateway.yaml:3 is not valid YAML: this key occurs twice; keep one',
  ],
  'a tab': [`${SIM}listen:\n\tport: 1\n`, 'gateway.yaml:4 is not valid YAML: a tab indents; use spaces'],
  'an unclosed quote': [
    `${SIM}database: "abc\n`,
    'gateway.yaml:3 is not valid YAML: a quote opens here and does not close; close it',
  ],
  'an unclosed quote far above the end': [
    "providers:\n  ollama:\n    api_key: 'abc\n    models: [x]\nstrict: true\nlimits: {}\n",
    'gateway.yaml:3 is not valid YAML: a quote opens here and does not close; close it',
  ],
  'an unclosed quote in a flow mapping': [
    'providers:\n  a: { api_key: "abc, models: [x] }\n  b: { api_key: "x" }\nstrict: true\n',
    'gateway.yaml:2 is not valid YAML: a quote opens here and does not close; close it',
  ],
  'an unclosed quote that another one closes further down': [
    'providers:\n  ollama:\n    api_key: "abc\n    models: ["x"]\nstrict: true\n',
    'gateway.yaml:3 is not valid YAML: a quote opens here and does not close; close it',
  ],
  'a variable without quotes in a flow mapping': [
    `${SIM}  ollama: { api_key: \${KEY}, models: [a] }\n`,
    'gateway.yaml:3 is not valid YAML: ${NAME} within { } or [ ] needs quotes; write "${NAME}"',
  ],
  'a variable without quotes in a flow list': [
    `${SIM}listen: { hosts: [ \${HOST} ] }\n`,
    'gateway.yaml:3 is not valid YAML: ${NAME} within { } or [ ] needs quotes; write "${NAME}"',
  ],
  'an alias that nothing defines': [
    `${SIM}listen:\n  hosts:\n    - *home\n`,
    'gateway.yaml:5 listen.hosts[0]: is an alias (*) that nothing defines; define it with & before, or put the text into quotes',
  ],
  'an alias inside of itself': [
    'providers: &x\n  sim: *x\n',
    'gateway.yaml:1 uses too many aliases, or one inside of itself; write the values out',
  ],
  'a slip that breaks all that follows': [
    `${SIM}listen: [[[[\nstrict: true\nlimits: {}\n`,
    'gateway.yaml:4 is not valid YAML: the indentation is off, or a bracket is not closed; align with spaces, close it',
  ],
  'a prototype': [
    `${SIM}__proto__: { strict: true }\n`,
    'gateway.yaml:3 __proto__: is not a known key; known: listen, database, providers, routes, tiers, default_tier, unknown_price, brakes, alerts, strict, explain_misses, usage, responses, limits, maintenance, admin, sign_in, claude, ollama, metrics, otlp',
  ],
  'two documents': [
    `${SIM}---\na: 1\n`,
    'gateway.yaml:3 is not valid YAML: the file holds several documents (---); keep one',
  ],
};

describe('a fault is one line with file, line, path and what would be right', () => {
  test.each(Object.entries(FAULTS))('%s', (_, [text, ...lines]) => {
    expect(faultsOf(text)).toEqual(lines);
  });

  it('all faults come at once, in the order of the file', () => {
    const text =
      'strickt: true\nproviders:\n  sim: { modles: [] }\nroutes: { a: [x] }\nlimits: { max_body: -1 }\n';
    expect(faultsOf(text).map((line) => line.split(' ')[0])).toEqual(
      [1, 3, 4, 5].map((n) => `gateway.yaml:${n}`),
    );
  });

  it('short forms are named as the file has them, also over several lines and through aliases', () => {
    const text = `providers:\n  sim:\n    models: &m\n      - echo\nroutes:\n  a: &t\n    - sim/echo\n    - sim/nope\n  b: *t\n`;
    expect(faultsOf(text).map((line) => line.split(':').slice(0, 2).join(':'))).toEqual([
      'gateway.yaml:8 routes.a[1]',
      'gateway.yaml:8 routes.b[1]',
    ]);
  });

  it('a file that can not be read', () => {
    const cwd = tempFolder();
    const line = (config: string) => faultsOf(undefined, { cwd, flags: { config } });
    expect(line('gone.yaml')).toEqual([
      'gone.yaml: does not exist; check the name, or leave it out to use the providers that are found',
    ]);
    expect(line('.')).toEqual([`${cwd}: is a folder; name the file in it`]);
    write(cwd, 'latin.yaml', Buffer.from('# caf\xe9', 'latin1'));
    expect(line('latin.yaml')).toEqual(['latin.yaml: is not UTF-8; save it as UTF-8']);
  });

  it('faults of flags and environment name them', () => {
    const env = {
      GATEWAY_PORT: 'x',
      GATEWAY_LOG: 'xml',
      GATEWAY_HOST: 'a b:80',
      GATEWAY_DATABASE: 'redis://u:hunter2@h',
    };
    expect(faultsOf(SIM, { env })).toEqual([
      'GATEWAY_HOST: is not a host; write an address or a name without a port, like 127.0.0.1',
      'GATEWAY_PORT: is not a port; write a whole number, 0 to 65535',
      'GATEWAY_DATABASE: is not a database; write a file or postgres://…',
      'GATEWAY_LOG: is not a format; write pretty, json or off',
    ]);
    expect(faultsOf(SIM, { flags: { port: 1.5 } })).toEqual([
      '--port: is not a port; write a whole number, 0 to 65535',
    ]);
  });
});

test('a platform’s variables of services are no settings', () => {
  const env = {
    GATEWAY_PORT: 'tcp://10.96.0.12:8787',
    GATEWAY_HOST: 'udp://10.96.0.12:1',
    GATEWAY_LOG: 'json',
  };
  const config = load(SIM, { env });
  expect(config.listen).toMatchObject({ port: 8787, defaultHosts: true });
  expect(config.log).toBe('json');
  const why = 'holds the address of a service, as Kubernetes and docker --link set it: ignored';
  expect(config.warnings.map((line) => line.split(';')[0])).toEqual([
    `GATEWAY_HOST ${why}`,
    `GATEWAY_PORT ${why}`,
  ]);
});

it('all faults of a file are reported at once, whatever finds them', () => {
  const text = `listen: { port: 99999 }
bogus: 1
database: redis://x
tiers: { team: fast }
default_tier: none
providers:
  gemini: { modles: [a] }
  own: { protocol: chat, base_url: 'ftp://x' }
  sim:
  openai: { api_key: '\${UNSET}', models: [a] }
routes:
  one: [nope/m]
  two: [openai/a, own/a, gemini/a]
  three: 5
otlp: '\${UNSET}'
`;
  const found = faultsOf(text).map((line) => /:(\d+) ([\w.[\]]+)/.exec(line)?.slice(1).join(' '));
  expect(found).toEqual([
    '1 listen.port',
    '2 bogus',
    '3 database',
    '4 tiers.team',
    '5 default_tier',
    '7 providers.gemini.modles',
    '8 providers.own.base_url',
    '12 routes.one[0]',
    '14 routes.three',
    '15 otlp',
  ]);
});

it.each([
  [
    'routes name a provider that has faults',
    'providers:\n  sim:\n  own: { protocol: 5 }\nroutes: { r: [own/m] }\n',
    1,
  ],
  ['all providers are one fault', 'providers: [sim]\nroutes: { r: [own/m] }\n', 1],
  [
    'the tiers have faults, of which one is the default',
    'providers: { sim: }\ntiers: { a: x }\ndefault_tier: a\n',
    1,
  ],
  ['no provider is left of those with faults', 'providers: { own: { protocol: 5 } }\n', 1],
  ['no provider is there, and another fault', 'bogus: 1\n', 2],
])('no fault is reported for want of what has a fault itself: %s', (_what, text, count) => {
  expect(faultsOf(text)).toHaveLength(count);
});

describe('no fault and no warning repeats a secret', () => {
  const SECRET = 'hunter2-secret';
  const env = { SECRET };
  test.each([
    'providers:\n  ollama: { api_key: "hunter2-secret\\n\\x01" }\n',
    'providers:\n  ollama: { api_key: [[hunter2-secret], "hunter2 secret"] }\n',
    'providers:\n  ollama: { api_key: *hunter2-secret }\n',
    'providers:\n  ollama: { api_key: !hunter2-secret x, headers: 5 }\n',
    'providers:\n  ollama: { api_key: "hunter2-secret }\n',
    'providers:\n  ollama: { api_key: hunter2-secret: x }\n',
    'providers:\n  ollama: { headers: { x-a: [hunter2-secret] } }\n',
    'providers:\n  ollama: { headers: hunter2-secret }\n',
    'providers:\n  ollama: { base_url: "http://u:hunter2-secret@h" }\n',
    'providers:\n  ollama: { base_url: "${SECRET}" }\n',
    'providers:\n  ollama: { protocol: "${SECRET}" }\n',
    'providers:\n  ollama:\nroutes: { a: ["${SECRET}/x"], b: { targets: ["ollama/x", "x/${SECRET}"] } }\n',
    'providers:\n  sim: { models: [a, "${SECRET}", "${SECRET}"] }\n',
    'providers:\n  sim:\ndatabase: redis://u:hunter2-secret@h\n',
    'providers:\n  sim:\nlisten: { hosts: ["${SECRET}:1"], port: "${SECRET}" }\n',
  ])('%s', (text) => {
    const faults = faultsOf(text, { env });
    expect(faults).not.toEqual([]);
    expect(faults.join('\n')).not.toContain('hunter2');
  });
});
