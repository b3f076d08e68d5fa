// What OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME say of this process, for its traces and its metrics.
// https://opentelemetry.io/docs/specs/otel/resource/sdk/#specifying-resource-information-via-an-environment-variable
import type { Environment } from '../environment.ts';
import type { Logger } from '../log.ts';

/** Attributes by their names. */
export type Resource = Readonly<Record<string, string>>;

export const SERVICE = 'local-llm-gateway';
const ATTRIBUTES = 'OTEL_RESOURCE_ATTRIBUTES';
/** Characters of a name and of a value. */
const LONGEST = 255;

/** A variable that cannot be read is ignored as a whole, and the log says so without its text, which may hold anything. */
export function readResource(env: Environment, version: string, log: Pick<Logger, 'warn'>): Resource {
  const given = parse(env[ATTRIBUTES] ?? '');
  if (typeof given === 'string') log.warn(`${ATTRIBUTES} is ignored: ${given}`);
  const name = env['OTEL_SERVICE_NAME'];
  return {
    'service.name': SERVICE,
    'service.version': version,
    ...(typeof given !== 'string' && given),
    ...(name && { 'service.name': name }),
  };
}

/** `key=value,key=value`, percent-encoded; or what is wrong with it. */
function parse(text: string): Record<string, string> | string {
  const attributes = new Map<string, string>();
  for (const [index, entry] of text.split(',').entries()) {
    if (entry.trim() === '') continue;
    const parts = entry.split('=').map((part) => decoded(part.trim()));
    const [key, value] = parts;
    const which = `its attribute ${index + 1}`;
    if (parts.length !== 2) return `${which} is not written as name=value`;
    if (key === undefined || value === undefined) return `${which} is not percent-encoded`;
    if (key === '') return `${which} has no name`;
    if (key.length > LONGEST || value.length > LONGEST)
      return `${which} is longer than ${LONGEST} characters`;
    attributes.set(key, value);
  }
  return Object.fromEntries(attributes);
}

/** undefined: it is not valid. */
function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
