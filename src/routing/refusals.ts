// Why a request has no target, in words that say what would mend it.
import { GatewayError, LONG_WAIT_S } from '../errors.ts';
import { nearestAll } from '../config/nearest.ts';
import type { Target } from './catalog.ts';

const MOST_SHOWN = 120;
const MOST_NAMES = 3;

export function unknownModel(name: string, usable: readonly string[]): GatewayError {
  const shown = name.length > MOST_SHOWN ? `${name.slice(0, MOST_SHOWN)}…` : name;
  return new GatewayError('model_not_found', `There is no model \`${shown}\` here. ${hint(name, usable)}`, {
    param: 'model',
  });
}

export function noneAdmitted(name: string): GatewayError {
  return new GatewayError('forbidden_model', `This key may not use the model \`${name}\`.`, {
    param: 'model',
  });
}

export function noneFits(name: string, passedOver: readonly { target: Target; why: string }[]): GatewayError {
  const reasons = passedOver.map(({ target, why }) => `${target.key}: ${why}`).join('; ');
  return new GatewayError(
    'invalid_request',
    `No target of the model \`${name}\` can take this request: ${reasons}.`,
    {
      param: 'model',
    },
  );
}

export function allCooling(ms: number): GatewayError {
  return new GatewayError('unavailable', 'All providers of this model are rate limited or overloaded.', {
    retryAfter: Math.ceil(ms / 1000),
    ...(ms > LONG_WAIT_S * 1000 && { shouldRetry: false }),
  });
}

function hint(name: string, usable: readonly string[]): string {
  const near = nearestAll(name, usable, MOST_NAMES);
  if (near.length > 0) return `Did you mean ${quoted(near)}?`;
  if (usable.length === 0) return 'This key may use no model.';
  const rest = usable.length - MOST_NAMES;
  return `This key may use ${quoted(usable.slice(0, MOST_NAMES))}${rest > 0 ? ` and ${rest} more` : ''}.`;
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(', ');
}
