// A provider's failure as an exception: thrown by decoders of whole replies and by the client of providers, turned into a
// status at one place.
import type { ProviderFailure } from '../errors.ts';

export class FailureError extends Error {
  override readonly name = 'FailureError';
  readonly failure: ProviderFailure;
  constructor(failure: ProviderFailure) {
    super(failure.message);
    this.failure = failure;
  }
}
