// What is wrong with a configuration, one line a fault: where it is, what is wrong, and what would be right.

export type Path = readonly (string | number)[];

/** A fault as the checks find it; `message` is "what is wrong; what would be right" and never holds a secret. */
export interface ConfigFault {
  path: Path;
  message: string;
}

/** The configuration can't be used. `faults` are whole lines for the user: `file:line path: message`. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(faults.join('\n'));
    this.faults = faults;
  }
}

/** `providers.workstation.models[1].price` */
export function formatPath(path: Path): string {
  let text = '';
  for (const segment of path) {
    if (typeof segment === 'number') text += `[${segment}]`;
    else if (!/^[\w./:-]+$/.test(segment)) text += `[${JSON.stringify(segment)}]`;
    else text += text === '' ? segment : `.${segment}`;
  }
  return text;
}

/** A sentence part: `did you mean X?`, or the names that exist. */
export function suggest(near: string | undefined, known: readonly string[]): string {
  if (near !== undefined) return `did you mean ${near}?`;
  if (known.length === 0) return 'there is none';
  return `known: ${known.slice(0, 12).join(', ')}${known.length > 12 ? ', …' : ''}`;
}
