// No proxy may stand between a program and the gateway on this machine.
import type { Environment } from '../environment.ts';

const PROXIES = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'];
const HERE = ['127.0.0.1', 'localhost'];

function valueOf(env: Environment, name: string): string {
  return env[name] || env[name.toLowerCase()] || '';
}

/** The variable that names a proxy, where the gateway's address is not yet left out of it. */
export function proxyBefore(env: Environment): string | undefined {
  const left = valueOf(env, 'NO_PROXY').split(/[\s,]+/);
  if (left.includes('*') || HERE.every((host) => left.includes(host))) return undefined;
  return PROXIES.find((name) => valueOf(env, name) !== '');
}

/** Both spellings of NO_PROXY with this machine added; none where no proxy is set. */
export function withoutProxy(env: Environment): Record<string, string> {
  if (proxyBefore(env) === undefined) return {};
  const list = [valueOf(env, 'NO_PROXY'), ...HERE].filter((host) => host !== '').join(',');
  return { NO_PROXY: list, no_proxy: list };
}
