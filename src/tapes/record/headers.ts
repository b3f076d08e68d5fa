// The headers of a request or an answer that matter to a reader of a tape. Of one that holds a secret, only that it was there.
import type { Redactor } from '../redact/redactor.ts';

const KEPT =
  /^(?:accept|content-type|user-agent|date|server|originator|x-app|x-should-retry|retry-after(?:-ms)?|x-gateway-.*|.*-version|.*-beta|.*-lang|.*-retry-count|.*request-id|.*ratelimit.*|.*-processing-ms)$/;
const SECRET = /authorization|cookie|key|token|secret|password|signature|credential/;

export function keptHeaders(
  all: Iterable<readonly [name: string, value: string]>,
  redactor: Redactor,
): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [given, value] of all) {
    const name = given.toLowerCase();
    // Limits of tokens are no secret.
    if (SECRET.test(name) && !name.includes('ratelimit')) kept[name] = '[secret]';
    else if (KEPT.test(name)) kept[name] = redactor.text(value);
  }
  return kept;
}

export function* pairsOf(flat: readonly string[]): Iterable<readonly [string, string]> {
  for (let at = 0; at + 1 < flat.length; at += 2) yield [flat[at] ?? '', flat[at + 1] ?? ''];
}

export function membersOf(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): [string, string][] {
  return Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
  );
}
