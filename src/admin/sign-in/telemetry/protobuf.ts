// Metrics as protobuf (OTLP's ExportMetricsServiceRequest): the fields that count work, by their numbers. Every byte is read once for each
// of the seven messages that may hold it.
import { isWork, Malformed, pointOf, type Point, type RawPoint } from './points.ts';

interface Field {
  number: number;
  /** Of a message, a text, or eight bytes of a number; empty for a varint. */
  bytes: Buffer;
  /** Of a varint. */
  whole: number;
}

const NONE = Buffer.alloc(0);
const VARINT = 0;
const EIGHT_BYTES = 1;
const COUNTED = 2;
const FOUR_BYTES = 5;
const LONGEST_VARINT = 10;

function cut(): Malformed {
  return new Malformed('the body is not the protobuf of metrics');
}

/** Throws Malformed. */
function* fieldsOf(message: Buffer): Generator<Field> {
  let at = 0;
  /** Inexact beyond 2^53: only tags, lengths and names of an enumeration are used. */
  function varint(): number {
    let value = 0;
    for (let digit = 0; digit < LONGEST_VARINT; digit += 1) {
      const byte = message[at];
      if (byte === undefined) break;
      at += 1;
      value += (byte % 128) * 128 ** digit;
      if (byte < 128) return value;
    }
    throw cut();
  }
  function take(length: number): Buffer {
    if (length > message.length - at) throw cut();
    at += length;
    return message.subarray(at - length, at);
  }
  while (at < message.length) {
    const tag = varint();
    const number = Math.floor(tag / 8);
    const wire = tag % 8;
    if (wire === VARINT) yield { number, bytes: NONE, whole: varint() };
    else if (wire === EIGHT_BYTES) yield { number, bytes: take(8), whole: 0 };
    else if (wire === COUNTED) yield { number, bytes: take(varint()), whole: 0 };
    else if (wire === FOUR_BYTES) take(4);
    else throw cut();
  }
}

function* messagesOf(message: Buffer, wanted: number): Generator<Buffer> {
  for (const { number, bytes } of fieldsOf(message)) if (number === wanted) yield bytes;
}

const RESOURCE_METRICS = 1;
const SCOPE_METRICS = 2;
const METRICS = 2;

/** Throws Malformed. */
export function* pointsOfProtobuf(body: Buffer): Generator<Point> {
  for (const resource of messagesOf(body, RESOURCE_METRICS))
    for (const scope of messagesOf(resource, SCOPE_METRICS))
      for (const metric of messagesOf(scope, METRICS)) yield* pointsOfMetric(metric);
}

function* pointsOfMetric(message: Buffer): Generator<Point> {
  let metric = '';
  let sum: Buffer = NONE;
  for (const { number, bytes } of fieldsOf(message)) {
    if (number === 1) metric = bytes.toString('utf8');
    else if (number === 7) sum = bytes;
  }
  if (!isWork(metric)) return;
  let temporality: RawPoint['temporality'];
  for (const { number, whole } of fieldsOf(sum))
    if (number === 2) temporality = whole === 1 ? 'delta' : whole === 2 ? 'cumulative' : undefined;
  for (const bytes of messagesOf(sum, 1)) {
    const point = pointOf({ metric, temporality, ...numberPoint(bytes) });
    if (point !== undefined) yield point;
  }
}

function numberPoint(message: Buffer): Pick<RawPoint, 'start' | 'value' | 'attributes'> {
  let start = '';
  let value = 0;
  const attributes: [string, string][] = [];
  for (const { number, bytes } of fieldsOf(message)) {
    if (number === 2) start = bytes.toString('hex');
    else if (number === 4) value = eight(bytes).readDoubleLE();
    else if (number === 6) value = Number(eight(bytes).readBigInt64LE());
    else if (number === 7) attributes.push(attributeOf(bytes));
  }
  return { start, value, attributes };
}

function eight(bytes: Buffer): Buffer {
  if (bytes.length !== 8) throw cut();
  return bytes;
}

/** Other values than texts tell series apart, and no more. */
function attributeOf(message: Buffer): [name: string, value: string] {
  let name = '';
  let value: Buffer = NONE;
  for (const { number, bytes } of fieldsOf(message)) {
    if (number === 1) name = bytes.toString('utf8');
    else if (number === 2) value = bytes;
  }
  for (const bytes of messagesOf(value, 1)) return [name, bytes.toString('utf8')];
  return [name, value.toString('hex')];
}
