// What went wrong at a responses provider: as an error answer, as an `error` event, or as the `error` of a failed Response.
import { createErrorReader } from '../shared/provider-error.ts';

export const { decodeError, failureOf, failureOfEvent } = createErrorReader();
