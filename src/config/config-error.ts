// Faults of a configuration: each is one line with its place, the problem and the correction.

export type Path = readonly (string | number)[];

/** One fault. `message` is "problem; correction" and never contains a value of the file, which may be a secret. */
export interface ConfigFault {
  path: Path;
  message: string;
}

/** The configuration can't be used. `faults` are lines for the user: `file:line path: message`. */
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
