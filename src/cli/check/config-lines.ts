// The lines of the configuration that set traits, as a check proposes them.
import type { Traits } from '../../canonical/traits.ts';
import { snakeCase } from '../../snake-case.ts';
import type { Target } from '../../routing/catalog.ts';

/** Members that stand in the model's own entry; all others are flags of its provider. */
const OF_MODEL: ReadonlySet<string> = new Set<keyof Traits>([
  'vision',
  'documents',
  'audio',
  'tools',
  'thinking',
  'structuredOutput',
  'contextWindow',
  'maxOutput',
]);

/** Below `providers: NAME:`; none for no traits. */
export function configLines({ model }: Target, traits: Partial<Traits>): string[] {
  const [own, flags]: [string[], string[]] = [[], []];
  for (const [name, value] of Object.entries(traits)) {
    (OF_MODEL.has(name) ? own : flags).push(`${snakeCase(name)}: ${yaml(value)}`);
  }
  return [
    ...(flags.length === 0 ? [] : [`flags: { ${flags.join(', ')} }`]),
    ...(own.length === 0 ? [] : [`models: [{ id: ${yaml(model)}, ${own.join(', ')} }]`]),
  ];
}

/** Both, with the union of what each leaves out. */
export function joinedTraits(a: Partial<Traits>, b: Partial<Traits>): Partial<Traits> {
  const rejectFields = [...new Set([...(a.rejectFields ?? []), ...(b.rejectFields ?? [])])];
  return { ...a, ...b, ...(rejectFields.length > 0 && { rejectFields }) };
}

/** A value in the flow style of YAML; a word needs no quotes. */
function yaml(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(yaml).join(', ')}]`;
  return typeof value === 'string' &&
    /^[a-z][\w./-]*$/i.test(value) &&
    !/^(?:true|false|null|yes|no|on|off)$/i.test(value)
    ? value
    : JSON.stringify(value);
}
