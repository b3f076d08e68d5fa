// The text of the first configuration file: short, with comments that show what else it may hold. It names the variables that hold
// keys, never a key.
import { isPlain, type Candidate } from './surroundings.ts';

export interface Choice {
  /** In order of preference. */
  providers: readonly Candidate[];
  /** undefined: the default. */
  port: number | undefined;
  /** An absolute path; undefined: the default. */
  database: string | undefined;
}

const DEFAULT_PORT = 8787;
const MAX_SHOWN = 5;

/** Ends with a line break. The file always has a provider that is usable. */
export function fileText({ providers, port, database }: Choice): string {
  const simulated = !providers.some(isUsable) && !providers.some(({ name }) => name === 'sim');
  return [
    '# Made by `gateway init`. config.example.yaml shows every key; `gateway config check` reports mistakes.',
    '# A running gateway reads this file again when it changes.',
    '',
    ...(port === undefined || port === DEFAULT_PORT
      ? [`# listen: { port: ${DEFAULT_PORT} }`]
      : [`listen: { port: ${port} }`]),
    ...(database === undefined ? [] : [`database: ${quoted(database)}`]),
    '',
    '# In order of preference. ${NAME} reads the environment: this file needs no secrets.',
    'providers:',
    ...providers.flatMap(providerLines),
    ...(simulated
      ? ['  sim: # the simulated provider: works without a key as sim/echo, delete it when another one works']
      : []),
    ...(providers.some(({ variable }) => variable !== undefined) ? [] : EXAMPLE_KEY),
    ...EXAMPLE_SERVER,
    '',
    ...routeLines(providers),
    '',
    '# Requests an hour. The tiers free, lite, pro, enterprise and unlimited exist; add your own:',
    '# tiers: { team: 1000 }',
    '',
  ].join('\n');
}

const EXAMPLE_KEY = [
  '  # A known name needs only its key:',
  '  # anthropic:',
  '  #   api_key: ${ANTHROPIC_API_KEY}',
];

const EXAMPLE_SERVER = [
  '  # Any other server:',
  '  # workstation:',
  '  #   protocol: chat # or messages, responses',
  '  #   base_url: http://127.0.0.1:9000/v1',
  '  #   api_key: ${WORKSTATION_KEY} # leave it out if it needs none',
  '  #   models: [qwen3] # leave it out to take any name',
];

/** Whether it can answer as the file names it. */
function isUsable({ unset, needsUrl }: Candidate): boolean {
  return unset === undefined && !needsUrl;
}

function providerLines({ name, variable, unset, url, models, needsUrl }: Candidate): string[] {
  if (needsUrl) {
    return [
      `  # ${name}: # needs the URL of your resource; take the # away when it is right`,
      '  #   base_url: https://NAME.openai.azure.com/openai/v1',
      `  #   api_key: \${${unset?.[0] ?? 'API_KEY'}}`,
      '  #   models: [DEPLOYMENT]',
    ];
  }
  if (variable !== undefined) return [`  ${name}:`, `    api_key: \${${variable}}`];
  if (unset !== undefined) {
    return [`  ${name}: # left out until ${unset.join(' or ')} is set`];
  }
  if (url === undefined) return [`  ${name}:`];
  const shown = models.filter(isPlain);
  const list = shown.slice(0, MAX_SHOWN).join(', ') + (shown.length > MAX_SHOWN ? ', …' : '');
  return [`  ${name}: # ${url}${list === '' ? '' : `: ${list}`}`];
}

/** `auto` is written out if it has several targets, so that their order can be changed. */
function routeLines(providers: readonly Candidate[]): string[] {
  const targets = providers.filter(isUsable).flatMap(({ name, model }) => {
    return model === undefined ? [] : [`${name}/${model}`];
  });
  const about = '# Clients that send `model: auto` get the first of these that can answer.';
  if (targets.length > 1) return [about, 'routes:', `  auto: [${targets.join(', ')}]`];
  const example = targets[0] ?? 'anthropic/claude-sonnet-5';
  return [about, '# routes:', `#   auto: [${example}, openai/gpt-5.2]`];
}

/** Text in double quotes, as YAML and JSON have them in common. */
function quoted(text: string): string {
  return isPlainPath(text) ? text : JSON.stringify(text);
}

const isPlainPath = (text: string): boolean => /^\/[\w./-]*$/.test(text);
