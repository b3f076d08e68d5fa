// What the settings of editors must hold to use a gateway: their chat, and models that complete code and make embeddings.
import path from 'node:path';
import {
  configFolder,
  edits,
  entry,
  existing,
  json,
  roaming,
  type Places,
  type Settings,
  type Target,
} from './settings.ts';
import { quarter } from './setups.ts';
import type { Edit } from './texts/document.ts';

const continueModel = ({ url, key, model, window, output }: Target) => ({
  name: `Gateway ${model}`,
  provider: 'openai',
  model,
  apiBase: `${url}/v1`,
  apiKey: key,
  roles: ['chat', 'edit', 'apply'],
  capabilities: ['tool_use'],
  ...((window ?? output) !== null && {
    defaultCompletionOptions: { contextLength: window ?? undefined, maxTokens: output ?? undefined },
  }),
});

/** Models for work beside the chat, by the role that Continue gives them. */
function continueHelpers({ url, key, completer, embedder }: Target) {
  const helper = (model: string, role: 'autocomplete' | 'embed', more = {}) => ({
    role,
    item: {
      name: `Gateway ${model} (${role})`,
      provider: 'openai',
      model,
      apiBase: `${url}/v1`,
      apiKey: key,
      roles: [role],
      ...more,
    },
  });
  const plain = { env: { useLegacyCompletionsEndpoint: true } };
  return [
    ...(completer === undefined ? [] : [helper(completer, 'autocomplete', plain)]),
    ...(embedder === undefined ? [] : [helper(embedder, 'embed')]),
  ];
}

/** Continue reads its older file only if there is no config.yaml: one of ours would hide it. */
export const continueDev: Settings = (to, { home }) => {
  const file = existing(path.join(home, '.continue'), ['config.yaml', 'config.json'], 'config.yaml');
  const model = continueModel(to);
  if (file.endsWith('.json')) {
    const { name: title, provider, apiBase, apiKey } = model;
    const item = { title, provider, model: to.model, apiBase, apiKey, contextLength: to.window ?? undefined };
    const places = { autocomplete: 'tabAutocompleteModel', embed: 'embeddingsProvider' };
    const helpers = continueHelpers(to).map(({ role, item: { name, model: helper } }) =>
      entry([places[role]], { title: name, provider, model: helper, apiBase, apiKey }),
    );
    const chosen = entry(['models', { title }], json(item));
    return [{ path: file, format: 'json', edits: [chosen, ...helpers], secret: true }];
  }
  return [
    {
      path: file,
      format: 'yaml',
      whenNew: edits([['name'], 'Gateway'], [['version'], '1.0.0'], [['schema'], 'v1']),
      edits: [model, ...continueHelpers(to).map(({ item }) => item)].map((item) =>
        entry(['models', { name: item.name }], json(item)),
      ),
      secret: true,
    },
  ];
};

/** Zed takes the keys from its own storage or from variables, not from the file. */
export const zed: Settings = ({ url, model, window, output, completer }, places) => {
  const base = places.platform === 'win32' ? path.join(roaming(places), 'Zed') : configFolder(places, 'zed');
  const known = {
    name: model,
    display_name: `Gateway ${model}`,
    max_tokens: window ?? SOME_WINDOW,
    max_output_tokens: output ?? undefined,
    capabilities: { tools: true, images: true, parallel_tool_calls: true, prompt_cache_key: false },
  };
  return [
    {
      path: path.join(base, 'settings.json'),
      format: 'json',
      edits: [
        entry(
          ['language_models', 'openai_compatible', 'Gateway'],
          json({ api_url: `${url}/v1`, available_models: [known] }),
        ),
        ...edits([['agent', 'default_model'], { provider: 'Gateway', model }]),
        ...(completer === undefined ? [] : zedPrediction(url, completer)),
      ],
    },
  ];
};

/** Zed completes by the template that the model's name stands for (`infer`). The address is that of the endpoint itself. */
const zedPrediction = (url: string, model: string): Edit[] => [
  ...edits([['edit_predictions', 'provider'], 'open_ai_compatible_api']),
  entry(['edit_predictions', 'open_ai_compatible_api'], {
    api_url: `${url}/v1/completions`,
    model,
    prompt_format: 'infer',
    max_output_tokens: 128,
  }),
];

/** Of editors that must have a number. */
const SOME_WINDOW = 128_000;

export function codeFolder(places: Places): string {
  if (places.platform === 'win32') return path.join(roaming(places), 'Code', 'User');
  if (places.platform === 'darwin')
    return path.join(places.home, 'Library', 'Application Support', 'Code', 'User');
  return path.join(configFolder(places, 'Code'), 'User');
}

export const vscode: Settings = ({ url, key, model, window, output }, places) => {
  const room = output ?? quarter(window ?? SOME_WINDOW);
  const known = {
    id: model,
    name: `Gateway ${model}`,
    url: `${url}/v1/chat/completions`,
    toolCalling: true,
    vision: true,
    maxInputTokens: (window ?? SOME_WINDOW) - room,
    maxOutputTokens: room,
  };
  const item = {
    name: 'Gateway',
    vendor: 'customendpoint',
    apiKey: key,
    apiType: 'chat-completions',
    models: [known],
  };
  return [
    {
      path: path.join(codeFolder(places), 'chatLanguageModels.json'),
      format: 'json',
      edits: [entry([{ name: 'Gateway', vendor: 'customendpoint' }], item)],
      secret: true,
    },
  ];
};
