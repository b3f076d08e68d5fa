// The paths of a sign-in by a code, and what answers them is given.
import type { Config } from '../../config/config.ts';
import type { Clock } from '../../clock.ts';
import type { Ids } from '../../ids.ts';
import type { Logger } from '../../log.ts';
import type { Routing } from '../../routing/routing.ts';
import type { AdminStore } from '../../store/admin/admin-records.ts';
import type { SignInStore } from '../../store/admin/sign-ins.ts';
import type { ItemStore, KeyStore } from '../../store/store.ts';
import type { WorkStore } from '../../store/holds/work.ts';

export interface SignInOptions {
  current: { readonly config: Config };
  store: SignInStore & KeyStore & AdminStore & WorkStore & Pick<ItemStore, 'itemKey'>;
  routing: Routing;
  /** Resolves when the search for local servers is over. */
  discovered: Promise<void>;
  learn: (name: string) => Promise<void> | undefined;
  clock: Clock;
  ids: Ids;
  log: Logger;
}

export const SIGN_IN_PATHS = {
  discovery: '/.well-known/oauth-authorization-server',
  code: '/oauth/device_authorization',
  token: '/oauth/token',
  revoke: '/oauth/revoke',
  device: '/device',
  settings: '/managed/settings',
} as const;

/** Of the files of the page at `device`. */
export const DEVICE_FILES = '/device/';

/** Where a signed-in Claude Code sends its telemetry. */
export const METRICS_PATH = '/v1/metrics';
export const TELEMETRY_PATHS: ReadonlySet<string> = new Set([METRICS_PATH, '/v1/logs', '/v1/traces']);
