// What Ollama's clients ask about models, as far as a gateway knows it: names, windows, abilities. It knows no files, so that sizes and
// digests stand for none.
// https://docs.ollama.com/api/tags, https://docs.ollama.com/api-reference/show-model-details
import { createHash } from 'node:crypto';
import type { JsonObject } from '../../canonical/json.ts';
import type { KnownModel, Told } from '../interface/endpoint.ts';
import { BELOW, VERSION } from './outline.ts';
import { modelIn } from './request/envelope.ts';

const WHERE = { below: BELOW, does: 'tell', keyless: true } as const;

/** Models of a gateway have no date. */
const UNKNOWN_TIME = '1970-01-01T00:00:00Z';

/** What readers look for the window under. */
const ARCHITECTURE = 'gateway';

/** Ollama's own names have a tag, and some clients look for `NAME:latest` in the list. */
function tagged({ name }: KnownModel): string {
  return name.slice(name.lastIndexOf('/') + 1).includes(':') ? name : `${name}:latest`;
}

/** Texts all: some readers demand that. */
function details({ owner }: KnownModel): JsonObject {
  return {
    parent_model: '',
    format: 'gateway',
    family: owner,
    families: [owner],
    parameter_size: '',
    quantization_level: '',
  };
}

function listed(model: KnownModel): JsonObject {
  const name = tagged(model);
  return {
    name,
    model: name,
    modified_at: UNKNOWN_TIME,
    size: 0,
    digest: createHash('sha256').update(name).digest('hex'),
    details: details(model),
  };
}

function capabilities({ embeddings, completes, tools, vision, thinking }: KnownModel): string[] {
  if (embeddings) return ['embedding'];
  return [
    'completion',
    ...(tools ? ['tools'] : []),
    ...(vision ? ['vision'] : []),
    ...(thinking ? ['thinking'] : []),
    ...(completes ? ['insert'] : []),
  ];
}

function shown(model: KnownModel): JsonObject {
  const { name, contextWindow } = model;
  return {
    license: '',
    modelfile: '',
    parameters: '',
    template: '',
    system: '',
    details: details(model),
    model_info: {
      'general.architecture': ARCHITECTURE,
      'general.basename': name,
      ...(contextWindow !== null && { [`${ARCHITECTURE}.context_length`]: contextWindow }),
    },
    capabilities: capabilities(model),
    modified_at: UNKNOWN_TIME,
  };
}

export const tags: Told = {
  ...WHERE,
  method: 'GET',
  path: '/tags',
  tell: (models) => ({ models: models.map(listed) }),
};

export const show: Told = {
  ...WHERE,
  method: 'POST',
  path: '/show',
  modelIn,
  tell: ([model]) => (model === undefined ? {} : shown(model)),
};

/** Every model is ready, and none is loaded here. */
export const ps: Told = { ...WHERE, method: 'GET', path: '/ps', tell: () => ({ models: [] }) };

export const version: Told = {
  ...WHERE,
  method: 'GET',
  path: '/version',
  tell: () => ({ version: VERSION }),
};
