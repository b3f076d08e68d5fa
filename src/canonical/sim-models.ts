// Names on which the configuration, routing and the simulated provider agree.

const MODELS = ['echo', 'slow', 'error-500', 'error-429', 'timeout', 'cut'] as const;

export type SimModel = (typeof MODELS)[number];

/** The simulated models that clients can ask for. */
export const SIM_MODELS: readonly string[] = MODELS;

/**
 * The simulated model that routing sends `auto` to where no provider was ever configured or found. Its answers say so in their first
 * line. No client can ask for it by name.
 */
export const STAND_IN = 'stand-in';
