// Errors for requests without a target, with a hint at the solution.
import { GatewayError, LONG_WAIT_S } from '../errors.ts';
import type { Config } from '../config/config.ts';
import { didYouMeanAll } from '../config/did-you-mean.ts';
import { withoutKeys } from '../ids.ts';
import type { Target } from './catalog.ts';

const MOST_SHOWN = 120;
const MOST_NAMES = 3;

interface Known {
  /** Names that the key may use. */
  usable: readonly string[];
  /** `provider/model` of each target that it may use. */
  targets: readonly string[];
  leftOut: Config['leftOut'];
  /** Whether the key may use only some of the models. */
  limited: boolean;
  /** The file names some of `leftOut`: they would be in `auto`. */
  lacksKeys: boolean;
  /** `provider/NAME`, or the names that the key may use, of providers that have not listed their models. */
  open: readonly string[];
}

export function unknownModel(name: string, known: Known): GatewayError {
  const safe = withoutKeys(name);
  const shown = safe.length > MOST_SHOWN ? `${safe.slice(0, MOST_SHOWN)}…` : safe;
  const why = reasonOf(name, known) ?? hint(name, known);
  return new GatewayError('model_not_found', `There is no model \`${shown}\` here${why}`, { param: 'model' });
}

/** The model would exist if its provider had what it lacks. */
function reasonOf(name: string, { leftOut, lacksKeys, open }: Known): string | undefined {
  const inAuto = name === 'auto' && lacksKeys && open.length === 0;
  const meant = leftOut.filter(
    ({ provider, names }) => inAuto || name.startsWith(`${provider}/`) || names.includes(name),
  );
  if (meant.length === 0) return undefined;
  const reasons = meant.map(({ provider, why }) => `provider ${provider} is left out (${why})`).join(', ');
  return `: ${reasons}. Set it where the gateway is started, then start the gateway again.`;
}

export function noneAdmitted(name: string): GatewayError {
  return new GatewayError('forbidden_model', `This key may not use the model \`${name}\`.`, {
    param: 'model',
  });
}

export function noneFits(name: string, skipped: readonly { target: Target; why: string }[]): GatewayError {
  const reasons = skipped.map(({ target, why }) => `${target.key}: ${why}`).join('; ');
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

function hint(name: string, { usable, targets, open, limited }: Known): string {
  const near = nearTo(name, usable, targets);
  if (near.length > 0) return `. Did you mean ${quoted(near)}?${openHint(open)}`;
  if (usable.length === 0 && open.length > 0) return `.${openHint(open)}`;
  if (usable.length === 0) return limited ? '. This key may use no model.' : '. There is none at all.';
  const rest = usable.length - MOST_NAMES;
  const shown = quoted(usable.slice(0, MOST_NAMES));
  return `. ${limited ? 'This key may use' : 'Known are'} ${shown}${rest > 0 ? ` and ${rest} more` : ''}.${openHint(open)}`;
}

/** Providers whose lists are not known are named, since the model may be there. */
function openHint(open: readonly string[]): string {
  if (open.length === 0) return '';
  const shown = quoted(open.slice(0, MOST_NAMES));
  return ` The models of some providers are not known: ask for ${shown}.`;
}

/** For a name with a provider: first the same model at others, then names spelt alike. */
function nearTo(name: string, usable: readonly string[], targets: readonly string[]): string[] {
  const slash = name.indexOf('/');
  if (slash < 0) return didYouMeanAll(name, usable, MOST_NAMES);
  const same = targets.filter((target) => target.endsWith(name.slice(slash)));
  const alike = didYouMeanAll(name, [...targets, ...usable], MOST_NAMES);
  return [...new Set([...same, ...alike])].slice(0, MOST_NAMES);
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(', ');
}
