// Whether the admin API and its page are on. Their code is loaded by the first request or link, so that a gateway that does not use
// them starts faster.
import type { Site } from '../gateway/exchange.ts';
import type { Admin, AdminOptions, NewLink } from './site.ts';

export interface AdminDoor extends Site {
  /** Turns the API and the page on. */
  turnOn(): void;
  /** Turns the API and the page on, and makes a one-time link. */
  createLink(): Promise<NewLink>;
  /** To be called when the configuration was read again. If it turns the API off, open streams and sessions end. undefined: no change. */
  configChanged(): 'turnOn' | 'turnOff' | undefined;
  /** Ends the event streams, also those that are opened later. Everything else is answered. */
  endStreams(): void;
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
      void loading?.then((admin) => admin.endStreams());
      // The next use loads a new one, without sessions.
      loading = undefined;
      return 'turnOff';
    },
    endStreams: () => void loading?.then((admin) => admin.endStreams()),
  };
}
