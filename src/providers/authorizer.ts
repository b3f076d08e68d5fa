// Prepares a call for its provider right before it is sent. May wait: for a token that has to be refreshed, for a provider
// that this process has to start.
import type { ProviderCall } from './exchange.ts';

export interface Authorizer {
  /** Calls whose URL begins with this are its own. */
  readonly baseUrl: string;
  authorize(call: ProviderCall): ProviderCall | Promise<ProviderCall>;
  close(): Promise<void>;
}

interface Started {
  url: string;
  key: string;
  close(): Promise<void>;
}

/** For a provider that this process starts at its first request; `baseUrl` stands for its address, which is known when it runs. */
export function startingProvider(baseUrl: string, start: () => Promise<Started>): Authorizer {
  let started: Promise<Started> | undefined;
  return {
    baseUrl,
    async authorize(call) {
      const { url, key } = await (started ??= start());
      const headers = [...call.headers, 'authorization', `Bearer ${key}`];
      return { ...call, url: url + call.url.slice(baseUrl.length), headers };
    },
    close: async () => (await started)?.close(),
  };
}
