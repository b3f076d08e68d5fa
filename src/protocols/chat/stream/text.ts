// Which chunks of a chat stream are a piece of text and nothing else.
import { isObject, type JsonObject } from '../../../canonical/json.ts';
import { DeltaTemplate } from '../../sse/delta-template.ts';

export function createTextShape(): DeltaTemplate {
  return new DeltaTemplate(/"content": ?"/, isTextAlone);
}

/** A stricter reading than the decoder's: what may be told in another way is decoded. */
function isTextAlone(value: JsonObject, text: string): boolean {
  const { choices } = value;
  if (value.usage || value.x_groq || !Array.isArray(choices) || choices.length !== 1) return false;
  const [choice] = choices;
  if (!isObject(choice) || typeof choice.finish_reason === 'string' || !isObject(choice.delta)) return false;
  const { delta } = choice;
  for (const name in delta) {
    const member = delta[name];
    if (name === 'content' || name === 'role' || !member) continue;
    if (!Array.isArray(member) || member.length > 0) return false;
  }
  return delta.content === text;
}
