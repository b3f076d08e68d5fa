// Rules of relayed bodies that the protocols share; they differ in the places of the members.
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import { EFFORTS, type Effort } from '../../../canonical/request.ts';
import { mostOutput } from '../../../canonical/traits.ts';
import { isEffort, nearestEffort, refusesSampling } from '../effort.ts';
import { isStrictSchema } from '../tools/function-tools.ts';
import { isObjectRoot, objectRoot } from '../tools/schema-root.ts';
import { at, objectsIn, type Fitting, type RelayRule } from './fit.ts';

const REFUSED = 'this server refuses it';

/** Members of `rejectFields`: `store`, `stream_options.include_usage`, `messages[].name`, `service_tier=flex`. */
export const withoutRefused: RelayRule = (fitting) => {
  for (const entry of fitting.traits.rejectFields) {
    if (entry.startsWith('anthropic-beta=')) continue;
    const [path = '', only] = entry.split('=', 2);
    if (NEEDED.has(path)) continue;
    for (const place of places(fitting.value, path.split('.'), [])) {
      if (only === undefined || at(fitting.value, place) === only) fitting.drop(place, REFUSED);
    }
  }
};

/** Without them the request has another meaning: its provider says what is wrong. */
const NEEDED: ReadonlySet<string> = new Set([
  'model',
  'messages',
  'input',
  'tools',
  'stream',
  'n',
  'max_tokens',
  'max_completion_tokens',
]);
/** A member is looked for in this many elements of a list. */
const MOST_ELEMENTS = 100_000;

/** Where a path with `[]` leads in this value. */
function places(
  value: JsonValue | undefined,
  steps: readonly string[],
  before: (string | number)[],
): (string | number)[][] {
  const [step, ...rest] = steps;
  if (step === undefined) return value === undefined ? [] : [before];
  const isList = step.endsWith('[]');
  const name = isList ? step.slice(0, -2) : step;
  if (!isObject(value) || !Object.hasOwn(value, name)) return [];
  const inner = value[name];
  if (!isList) return places(inner, rest, [...before, name]);
  if (!Array.isArray(inner)) return [];
  return inner.slice(0, MOST_ELEMENTS).flatMap((item, index) => places(item, rest, [...before, name, index]));
}

/** No more output than the model has. */
export const withinOutput =
  (...names: readonly string[]): RelayRule =>
  ({ value, traits, set }) => {
    const most = mostOutput(traits);
    for (const name of names) {
      const asked = value[name];
      if (typeof asked === 'number' && asked > most)
        set([name], most, `the most of this model: sent as ${most}`);
    }
  };

/** Sampling of models that take none, or within bounds. The default is taken everywhere. `effortPath`: where the effort stands. */
export const fittedSampling =
  (effortPath: readonly string[]): RelayRule =>
  ({ value, traits, drop, set }) => {
    const { temperature, top_p: topP } = value;
    if (refusesSampling(at(value, effortPath), traits)) {
      for (const name of ['temperature', 'top_p', 'top_k']) {
        if (typeof value[name] === 'number' && value[name] !== 1)
          drop([name], 'this model takes no sampling parameters');
      }
      return;
    }
    if (traits.oneSamplingParameter && temperature !== undefined && topP !== undefined) {
      drop(['top_p'], 'this model takes temperature or top_p, not both');
    }
    if (typeof temperature === 'number' && temperature > traits.maxTemperature) {
      set(['temperature'], traits.maxTemperature, `sent as ${traits.maxTemperature}`);
    }
  };

/** An effort that the model has not: the nearest that it has. `switchTo`: how thinking is switched otherwise; false: by no member. */
export const fittedEffort =
  (path: readonly string[], switchTo: (on: boolean, fitting: Fitting) => boolean = () => false): RelayRule =>
  (fitting) => {
    const { traits, value, drop, set } = fitting;
    const asked = at(value, path);
    if (!isEffort(asked)) return;
    if (traits.thinking === false || traits.efforts.length === 0) {
      const canSwitch = traits.thinking !== false && (asked !== 'none' || traits.thinkingOff !== 'never');
      const isSwitched = canSwitch && switchTo(asked !== 'none', fitting);
      return drop(path, isSwitched ? 'this model thinks, and knows no grades' : 'this model takes no effort');
    }
    const always = traits.thinkingOff === 'never';
    if (traits.efforts.includes(asked) && !(asked === 'none' && always)) return;
    if (asked === 'none' && !always && switchTo(false, fitting))
      return drop(path, 'thinking is switched off by another member');
    const fitted = asked === 'none' ? least(traits.efforts) : nearestEffort(asked, traits.efforts);
    if (fitted === undefined) return drop(path, 'this model takes no such effort');
    const why = asked === 'none' ? 'this model cannot be kept from thinking: ' : '';
    set(path, fitted, `${why}${asked} was sent as ${fitted}`);
  };

function least(efforts: readonly Effort[]): Effort | undefined {
  return EFFORTS.find((effort) => effort !== 'none' && efforts.includes(effort));
}

/** Roots of tools' schemas. `places`: of a tool, the path to its schema. */
export const objectRoots =
  (...schemaPaths: readonly (readonly string[])[]): RelayRule =>
  ({ value, traits, set }) => {
    if (traits.schemaRoot !== 'object') return;
    for (const [index, tool] of objectsIn(value.tools)) {
      for (const path of schemaPaths) {
        const schema = at(tool, path);
        if (isObject(schema) && !isObjectRoot(schema)) {
          const joined = objectRoot(schema);
          const strict = [...path.slice(0, -1), 'strict'];
          set(['tools', index, ...path], joined, 'the root of a schema was made one object');
          if (at(tool, strict) === true && !isStrictSchema(joined)) {
            set(['tools', index, ...strict], false, 'the joined root of a schema leaves members optional');
          }
        }
      }
    }
  };

/** The names that the thinking rules of chat and messages share. */
export function isSwitchedOff({ thinking }: JsonObject): boolean {
  return isObject(thinking) && thinking.type === 'disabled';
}
