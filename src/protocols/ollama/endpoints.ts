// The endpoints of Ollama's API. What manages files of models is known, and refused with a reason.
import type { Endpoint, Generation, Refused, Relayed } from '../interface/endpoint.ts';
import { isBareText } from './carried/fill.ts';
import { ps, show, tags, version } from './models.ts';
import { BELOW } from './outline.ts';
import { readChat, readGenerate } from './request/envelope.ts';

export const chat: Generation = {
  does: 'generate',
  method: 'POST',
  path: '/chat',
  below: BELOW,
  keyless: true,
  readEnvelope: readChat,
};

export function generateAt(fill: Relayed): Generation {
  return {
    ...chat,
    path: '/generate',
    readEnvelope: readGenerate,
    elsewhere: ({ value }) => (isBareText(value) ? fill : undefined),
  };
}

const why =
  'this gateway passes requests on to providers and keeps no models: it pulls, makes, copies and deletes none';

const REFUSED: readonly (readonly [Refused['method'], string])[] = [
  ['POST', '/pull'],
  ['POST', '/push'],
  ['POST', '/create'],
  ['POST', '/copy'],
  ['DELETE', '/delete'],
  ['POST', '/blobs/{digest}'],
];

export const beside: readonly Endpoint[] = [
  tags,
  show,
  ps,
  version,
  ...REFUSED.map(([method, path]): Refused => ({ does: 'refuse', method, path, below: BELOW, why })),
];
