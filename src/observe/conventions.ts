// The words of OpenTelemetry's conventions for generative AI: what a model does, and the names of well-known providers, so that a
// dashboard finds them whatever the configuration calls them. https://github.com/open-telemetry/semantic-conventions-genai
import type { EndpointName } from '../canonical/request.ts';
import type { ProviderConfig } from '../config/config.ts';

const OPERATIONS: Partial<Record<EndpointName, string>> = {
  embeddings: 'embeddings',
  completions: 'text_completion',
};

/** `gen_ai.operation.name` */
export function operationAt(endpoint: EndpointName): string {
  return OPERATIONS[endpoint] ?? 'chat';
}

const BY_PRESET: Readonly<Record<string, string>> = {
  anthropic: 'anthropic',
  azure: 'azure.ai.openai',
  bedrock: 'aws.bedrock',
  deepseek: 'deepseek',
  gemini: 'gcp.gemini',
  groq: 'groq',
  mistral: 'mistral_ai',
  moonshot: 'moonshot_ai',
  openai: 'openai',
  perplexity: 'perplexity',
  xai: 'x_ai',
};

/** Providers without a preset, and those whose address is that of each user. */
const BY_HOST: readonly (readonly [RegExp, string])[] = [
  [/\.openai\.azure\.com$/, 'azure.ai.openai'],
  [/\.(?:services|inference)\.ai\.azure\.com$/, 'azure.ai.inference'],
  [/^bedrock-runtime[.-].*\.amazonaws\.com$/, 'aws.bedrock'],
  [/(?:^|-)aiplatform\.googleapis\.com$/, 'gcp.vertex_ai'],
  [/^api\.cohere\.(?:com|ai)$/, 'cohere'],
  [/\.ml\.cloud\.ibm\.com$/, 'ibm.watsonx.ai'],
];

/** `gen_ai.provider.name`. The conventions leave that of any other provider free: it is its preset's name, else the configuration's. */
export function conventionalName({
  name,
  preset,
  baseUrls,
}: Pick<ProviderConfig, 'name' | 'preset' | 'baseUrls'>): string {
  const hosts = Object.values(baseUrls).map((url) => new URL(url).hostname);
  const found = BY_HOST.find(([pattern]) => hosts.some((host) => pattern.test(host)));
  return found?.[1] ?? BY_PRESET[preset ?? ''] ?? preset ?? name;
}
