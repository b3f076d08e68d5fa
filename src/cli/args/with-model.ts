// A request's body for another model: every other byte stays as it was.
import { MAX_LEVELS } from '../../protocols/json/raw-json.ts';
import { scanMembers, splice } from '../../protocols/json/splice.ts';

/** `bytes`: a JSON object; whatever else it is comes back unchanged. */
export function withModel(bytes: Buffer, model: string): Buffer {
  const members = scanMembers(bytes, MAX_LEVELS);
  const name = JSON.stringify(model);
  const own = members.get('model');
  if (own !== undefined) return splice(bytes, [{ start: own.start, end: own.end, text: name }]);
  if (members.open < 0 || members.tooDeep) return bytes;
  const at = members.open + 1;
  const comma = members.list.length > 0 ? ',' : '';
  return splice(bytes, [{ start: at, end: at, text: `"model":${name}${comma}` }]);
}
