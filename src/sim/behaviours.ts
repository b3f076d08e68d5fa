// The models of the built-in provider, each with the one thing that it does.
import { GatewayError } from '../errors.ts';

export type Behaviour =
  | { kind: 'echo' }
  /** `words` with `pauseMs` between them. */
  | { kind: 'recite'; words: string; pauseMs: number }
  /** Breaks the connection after the third piece of `words`. */
  | { kind: 'cut'; words: string; pieces: number }
  | { kind: 'fail'; error: GatewayError }
  | { kind: 'silent' };

const WORDS = 'one two three four five six seven eight nine ten';

const BEHAVIOURS: ReadonlyMap<string, Behaviour> = new Map<string, Behaviour>([
  ['echo', { kind: 'echo' }],
  ['slow', { kind: 'recite', words: WORDS, pauseMs: 200 }],
  ['error-500', { kind: 'fail', error: new GatewayError('internal', 'the simulated provider fails') }],
  [
    'error-429',
    {
      kind: 'fail',
      error: new GatewayError('rate_limited', 'the simulated provider is rate limited', { retryAfter: 2 }),
    },
  ],
  ['timeout', { kind: 'silent' }],
  ['cut', { kind: 'cut', words: WORDS, pieces: 3 }],
]);

export const SIM_MODELS: readonly string[] = [...BEHAVIOURS.keys()];

export function behaviourOf(model: string): Behaviour {
  const behaviour = BEHAVIOURS.get(model);
  if (behaviour === undefined) throw unknownModel(model);
  return behaviour;
}

export function unknownModel(model: string): GatewayError {
  return new GatewayError(
    'model_not_found',
    `model ${model} does not exist; known: ${SIM_MODELS.join(', ')}`,
    {
      status: 404,
      param: 'model',
    },
  );
}
