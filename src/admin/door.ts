// The way into the admin API and its page: whether they are on. The rest is loaded by the first request or link, so that a gateway
// that does not use them starts as fast as before.
import type { Site } from '../gateway/exchange.ts';
import type { Admin, AdminOptions } from './site.ts';

export interface AdminDoor extends Site {
  /** Turns the API and the page on. */
  turnOn(): void;
  /** Turns the API and the page on, and makes a one-time link: a path with a fragment, which browsers do not send. */
  createLink(): Promise<{ path: string; expires_in_seconds: number }>;
  /** The configuration was read again: if it turned the API off, open streams and sessions end. The result says what it turned. */
  configChanged(): 'turnOn' | 'turnOff' | undefined;
  /** Ends the event streams, and answers nothing more. */
  close(): void;
}

const ROOT = '/admin';

export function createAdminDoor(options: AdminOptions): AdminDoor {
  let loading: Promise<Admin> | undefined;
  let isTurnedOn = false;
  let isConfigured = options.current.config.admin;
  const load = (): Promise<Admin> =>
    (loading ??= import('./site.ts').then(({ createAdmin }) => createAdmin(options)));

  return {
    serves: (path) =>
      path.startsWith(ROOT) &&
      (path.length === ROOT.length || path[ROOT.length] === '/') &&
      (isTurnedOn || options.current.config.admin),
    answer: async (exchange) => (await load()).answer(exchange),
    turnOn() {
      isTurnedOn = true;
    },
    async createLink() {
      isTurnedOn = true;
      return (await load()).createLink();
    },
    configChanged() {
      const before = isConfigured;
      isConfigured = options.current.config.admin;
      if (!before) return isConfigured ? 'turnOn' : undefined;
      if (isConfigured) return undefined;
      isTurnedOn = false;
      void loading?.then((admin) => admin.close());
      // The next one has no sessions.
      loading = undefined;
      return 'turnOff';
    },
    close: () => void loading?.then((admin) => admin.close()),
  };
}
