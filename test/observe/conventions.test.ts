// The names of OpenTelemetry's conventions: each well-known provider has its own, whatever the configuration calls it.
import { expect, it } from 'vitest';
import { PRESETS } from '../../src/config/presets/presets.ts';
import { conventionalName } from '../../src/observe/conventions.ts';
import { load } from '../config/folder.ts';

/** The presets for which the conventions have a name. */
const KNOWN: Readonly<Record<string, string>> = {
  anthropic: 'anthropic',
  openai: 'openai',
  gemini: 'gcp.gemini',
  mistral: 'mistral_ai',
  deepseek: 'deepseek',
  xai: 'x_ai',
  moonshot: 'moonshot_ai',
  'kimi-coding': 'moonshot_ai',
  perplexity: 'perplexity',
  groq: 'groq',
  azure: 'azure.ai.openai',
  bedrock: 'aws.bedrock',
};

/** Of each provider of a file, by its name. */
function namesIn(providers: Record<string, object>): Record<string, string> {
  const { providers: loaded } = load(JSON.stringify({ providers }));
  return Object.fromEntries(loaded.map((provider) => [provider.name, conventionalName(provider)]));
}

it.each(PRESETS.map((preset) => [preset.name, preset] as const))('preset %s', (name, preset) => {
  const more = {
    ...(preset.keys.length > 0 && { api_key: 'key' }),
    ...(Object.keys(preset.baseUrls).length === 0 && { base_url: 'https://models.example/v1' }),
    ...(name === 'bedrock' && { region: 'us-east-1' }),
  };
  expect(namesIn({ [name]: more })).toEqual({ [name]: KNOWN[name] ?? preset.rules ?? name });
});

const own = (base_url: string): object => ({ base_url, protocol: 'chat', api_key: 'key' });

it('two providers at one address have one name there', () => {
  const providers = { work: own('https://api.openai.com/v1'), home: own('https://api.openai.com/v1') };
  expect(namesIn(providers)).toEqual({ work: 'openai', home: 'openai' });
});

it.each([
  ['https://team.openai.azure.com/openai/v1', 'azure.ai.openai'],
  ['https://team.services.ai.azure.com/models', 'azure.ai.inference'],
  ['https://bedrock-runtime.eu-central-1.amazonaws.com/openai/v1', 'aws.bedrock'],
  [
    'https://europe-west1-aiplatform.googleapis.com/v1/projects/p/locations/l/endpoints/openapi',
    'gcp.vertex_ai',
  ],
  ['https://aiplatform.googleapis.com/v1', 'gcp.vertex_ai'],
  ['https://api.cohere.ai/compatibility/v1', 'cohere'],
  ['https://us-south.ml.cloud.ibm.com/ml/v1', 'ibm.watsonx.ai'],
  ['https://api.mistral.ai/v1', 'mistral_ai'],
  ['https://openai.azure.com.evil.example/v1', 'mine'],
  ['http://127.0.0.1:8000/v1', 'mine'],
])('a provider of one own name at %s', (url, name) => {
  expect(namesIn({ mine: own(url) })).toEqual({ mine: name });
});
