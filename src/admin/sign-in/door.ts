// Whether a sign-in by a code is on. Its code is loaded by the first request for one of its paths.
import type { Config } from '../../config/config.ts';
import type { Site } from '../../gateway/exchange.ts';
import { isLoopback } from '../../loopback.ts';
import { DEVICE_FILES, SIGN_IN_PATHS, TELEMETRY_PATHS, type SignInOptions } from './paths.ts';

const PATHS: ReadonlySet<string> = new Set(Object.values(SIGN_IN_PATHS));

/** A file that was read again cannot move the listener: with `on`, what listens must still be loopback. */
function isSignInOn({ signIn, listen }: Pick<Config, 'signIn' | 'listen'>): boolean {
  return signIn !== null && (signIn.url !== null || listen.hosts.every(isLoopback));
}

function serves(path: string, config: Config): boolean {
  // A key says whether its client is signed in, also while the sign-in is off.
  if (TELEMETRY_PATHS.has(path)) return true;
  if (!PATHS.has(path) && !path.startsWith(DEVICE_FILES)) return false;
  return isSignInOn(config) || (path === SIGN_IN_PATHS.settings && config.claude.settings !== null);
}

export function createSignInDoor(options: SignInOptions): Site {
  let loading: Promise<Site['answer']> | undefined;
  return {
    serves: (path) => serves(path, options.current.config),
    answer: async (exchange) => {
      if (TELEMETRY_PATHS.has(exchange.path))
        return (await import('./telemetry/telemetry.ts')).takeTelemetry(exchange, options);
      loading ??= import('./site.ts').then(({ createSignInSite }) => createSignInSite(options));
      return (await loading)(exchange);
    },
  };
}
