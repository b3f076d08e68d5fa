// One step of a history, as every protocol tells it: what a user wrote, what the model answered, a tool that it called and the result.
// Brakes look for runaway agents in the steps.
import type { JsonValue } from '../../canonical/json.ts';

export type Step =
  /** Of a user; '' for images and the like alone. */
  | { type: 'text'; text: string }
  | { type: 'answer' }
  | { type: 'call'; id: string; name: string; arguments: JsonValue }
  | { type: 'result'; id: string; content: JsonValue; failed: boolean };
