// The models of the simulated provider and how each of them replies.
import { SIM_MODELS, STAND_IN, type SimModel } from '../canonical/sim-models.ts';
import { GatewayError } from '../errors.ts';

export type Behaviour =
  | { kind: 'echo' }
  /** As echo, but nobody can take its reply for that of a model. */
  | { kind: 'stand-in' }
  /** Replies with `words`, `pauseMs` apart. */
  | { kind: 'recite'; words: string; pauseMs: number }
  /** Closes the connection after `deltas` stream deltas of `words`. */
  | { kind: 'cut'; words: string; deltas: number }
  | { kind: 'fail'; error: GatewayError }
  /** Never replies. */
  | { kind: 'silent' };

const WORDS = 'one two three four five six seven eight nine ten';

const BY_MODEL: Readonly<Record<SimModel | typeof STAND_IN, Behaviour>> = {
  echo: { kind: 'echo' },
  slow: { kind: 'recite', words: WORDS, pauseMs: 200 },
  'error-500': { kind: 'fail', error: new GatewayError('internal', 'this model always fails') },
  'error-429': {
    kind: 'fail',
    error: new GatewayError('rate_limited', 'this model is always rate limited', { retryAfter: 2 }),
  },
  timeout: { kind: 'silent' },
  cut: { kind: 'cut', words: WORDS, deltas: 3 },
  [STAND_IN]: { kind: 'stand-in' },
};

const BEHAVIOURS: ReadonlyMap<string, Behaviour> = new Map(Object.entries(BY_MODEL));

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
