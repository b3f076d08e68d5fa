// Metrics as JSON (OTLP's ExportMetricsServiceRequest): what is not as it should be counts nothing.
import { isObject, stringOf, type JsonObject } from '../../../canonical/json.ts';
import { isWork, Malformed, pointOf, type Point, type RawPoint } from './points.ts';

/** Throws Malformed. */
export function* pointsOfJson(body: Buffer): Generator<Point> {
  for (const resource of itemsOf(parsed(body)['resourceMetrics']))
    for (const scope of itemsOf(resource['scopeMetrics']))
      for (const metric of itemsOf(scope['metrics'])) yield* pointsOfMetric(metric);
}

function parsed(body: Buffer): JsonObject {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    if (isObject(value)) return value;
  } catch {
    // The message of the parser would show a part of the body.
  }
  throw new Malformed('the body is not the JSON of metrics');
}

function itemsOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function* pointsOfMetric({ name, sum }: JsonObject): Generator<Point> {
  if (typeof name !== 'string' || !isWork(name) || !isObject(sum)) return;
  const temporality = temporalityOf(sum['aggregationTemporality']);
  for (const { asInt, asDouble, startTimeUnixNano, attributes } of itemsOf(sum['dataPoints'])) {
    const point = pointOf({
      ...{ metric: name, temporality, value: Number(asInt ?? asDouble) },
      start: typeof startTimeUnixNano === 'number' ? String(startTimeUnixNano) : stringOf(startTimeUnixNano),
      attributes: itemsOf(attributes).map(
        ({ key, value }) => [stringOf(key), textOf(isObject(value) ? value : {})] as const,
      ),
    });
    if (point !== undefined) yield point;
  }
}

/** Throws Malformed. */
function textOf(value: JsonObject): string {
  if (typeof value['stringValue'] === 'string') return value['stringValue'];
  try {
    return JSON.stringify(value);
  } catch {
    throw new Malformed('the body has an attribute that is too deep');
  }
}

/** As a number, or by its name. */
function temporalityOf(value: unknown): RawPoint['temporality'] {
  if (value === 1 || value === 'AGGREGATION_TEMPORALITY_DELTA') return 'delta';
  return value === 2 || value === 'AGGREGATION_TEMPORALITY_CUMULATIVE' ? 'cumulative' : undefined;
}
