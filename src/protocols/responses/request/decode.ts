// A responses request as the canonical one.
import type { JsonObject } from '../../../canonical/json.ts';
import type { GenerationRequest } from '../../../canonical/request.ts';
import type { ReplyOptions } from '../../protocol.ts';

export function decodeRequest(_value: JsonObject, _source?: Buffer | string): GenerationRequest {
  throw new Error('not built yet');
}

export function readAsked(value: JsonObject): ReplyOptions {
  return { includeUsage: true, asked: value };
}
