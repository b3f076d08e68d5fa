// `${NAME}` in any string of the file reads the environment, so that secrets stay out of it.
import { formatPath, type Path } from './config-error.ts';

export type Env = Readonly<Record<string, string | undefined>>;

export interface Interpolated {
  value: unknown;
  /** Variables that are not set, and where they are asked for. An empty one is unset. */
  missing: { path: Path; name: string }[];
  /** Where a variable was read: the text there is a secret, and no fault may repeat it. */
  secret: (path: Path) => boolean;
  /** The variables that were read there. */
  variables: (path: Path) => readonly string[];
}

export function interpolate(root: unknown, env: Env): Interpolated {
  const missing: Interpolated['missing'] = [];
  const read = new Map<string, string[]>();
  const visit = (value: unknown, path: Path): unknown => {
    if (typeof value === 'string') {
      return value.replace(/\$\{([^}]*)\}/g, (_, inner: string) => {
        const name = inner.trim();
        const place = JSON.stringify(path);
        read.set(place, [...(read.get(place) ?? []), name]);
        const text = Object.hasOwn(env, name) ? (env[name] ?? '') : '';
        if (text === '') missing.push({ path, name });
        return text;
      });
    }
    if (Array.isArray(value)) return value.map((item, index) => visit(item, [...path, index]));
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(
        Object.entries(value).map(([key, member]) => [key, visit(member, [...path, key])]),
      );
    return value;
  };
  const value = visit(root, []);
  const variables = (path: Path): readonly string[] => read.get(JSON.stringify(path)) ?? [];
  return { value, missing, variables, secret: (path) => variables(path).length > 0 };
}

/** Variables without braces: the text is taken as it stands, which nobody wants of `$NAME`. */
export function bareVariables(file: unknown): string[] {
  const warnings: string[] = [];
  const visit = (value: unknown, path: Path): void => {
    if (typeof value === 'string') {
      const right = bareVariable(value, path.at(-1) === 'api_key');
      if (right !== undefined) warnings.push(`${formatPath(path)}: ${right}`);
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, member] of Object.entries(value)) visit(member, [...path, key]);
    }
  };
  const { providers } = file as { providers?: unknown };
  visit(providers, ['providers']);
  return warnings;
}

/** A text that only looks a little like a variable is not repeated: it may be a secret. */
function bareVariable(text: string, secret: boolean): string | undefined {
  const name = /(?:^|[\s/:])\$([A-Z][A-Z0-9_]*)(?![\w{])/.exec(text)?.[1];
  if (name !== undefined) return `$${name} is taken as text; to read the environment write \${${name}}`;
  return secret && /^\$[^{]/.test(text)
    ? 'a text that begins with $ is taken as it is; to read the environment write ${NAME}'
    : undefined;
}
