// The files of a tape: what stands in them, and how they are checked when they are read. docs/tapes.md describes them for people.
import * as z from 'zod/mini';
import { PROTOCOL_NAMES } from '../canonical/request.ts';

export const HEAD_FILE = 'tape.json';
export const EXCHANGE_FILE = 'exchange.json';
/** `0001`: the folder of the first request. */
export const EXCHANGE_FOLDER = /^\d{4,6}$/;

/** The names of an exchange's files; `side`: `client`, or `provider-1` for the first request to a provider. */
export const requestFile = (side: string): string => `${side}-request.json`;
export const answerFile = (side: string, form: AnswerForm): string => `${side}-answer.${form}`;
export const providerSide = (attempt: number): string => `provider-${attempt}`;

/** A stream (JSON lines), a whole JSON value, or any other text. */
export const ANSWER_FORMS = ['jsonl', 'json', 'txt'] as const;
export type AnswerForm = (typeof ANSWER_FORMS)[number];

const protocol = z.enum(PROTOCOL_NAMES);
const text = z.string();
const texts = z.array(text);
const headers = z.record(text, text);
const milliseconds = z.number();

/** `tape.json` */
const Head = z.object({
  /** The version of the format. */
  tape: z.literal(1),
  made: text,
  gateway: text,
  command: texts,
  /** The shape of another tape's request: its texts say nothing. */
  shape: z.optional(z.literal(true)),
  /** What two requests may differ in and be the same. */
  ignore: z.optional(texts),
  /** Who answered, in the order of the first request to each. */
  targets: z.array(
    z.object({
      provider: text,
      model: text,
      upstream: text,
      protocol,
      /** Tokens, as they were known: programs compact their conversations by them. */
      context_window: z.optional(z.number()),
      max_output: z.optional(z.number()),
    }),
  ),
  /** The models that the program asked for, with the `provider/model` that answered last. */
  asked: z.array(z.object({ model: text, target: text })),
});
export type TapeHead = z.infer<typeof Head>;

/** How an answer ended. `broken`: in the middle. `stopped`: its reader needed no more, or had left. `unreached`: none began. */
const end = z.enum(['whole', 'broken', 'stopped', 'unreached']);
export type AnswerEnd = z.infer<typeof end>;

const Attempt = z.object({
  provider: text,
  model: text,
  upstream: text,
  protocol,
  url: text,
  /** Of the request, and of the answer. */
  headers,
  answer_headers: headers,
  /** Milliseconds after the request arrived. */
  at_ms: milliseconds,
  status: z.nullable(z.number()),
  first_byte_ms: z.nullable(milliseconds),
  ms: milliseconds,
  end,
  /** What the gateway made of an answer that it could not use. */
  failure: z.nullable(z.object({ kind: text, reason: z.nullable(text), message: text })),
});
export type AttemptHead = z.infer<typeof Attempt>;

/** `exchange.json` */
const Exchange = z.object({
  request: text,
  at: text,
  /** The client's. */
  protocol: z.enum([...PROTOCOL_NAMES, 'ollama']),
  path: text,
  model: z.nullable(text),
  stream: z.nullable(z.boolean()),
  headers,
  answer_headers: headers,
  status: z.nullable(z.number()),
  first_byte_ms: z.nullable(milliseconds),
  ms: milliseconds,
  end,
  error: z.nullable(z.object({ kind: text, message: text })),
  /** Tokens, by what they are: `input`, `cache_read`, `output` …; null: unknown. */
  usage: z.nullable(z.record(text, z.number())),
  /** The fields that a translation left out, and those that it changed, by the client's names. */
  dropped: texts,
  changed: texts,
  attempts: z.array(Attempt),
});
export type ExchangeHead = z.infer<typeof Exchange>;

/** A line of a stream: an event and its data, or the text of a frame that has another form. */
const Line = z.union([
  z.object({ ms: milliseconds, event: z.optional(text), data: z.unknown() }),
  z.object({ ms: milliseconds, text }),
]);

export const readHead = (value: unknown): TapeHead | string => read(Head, value);
export const readExchange = (value: unknown): ExchangeHead | string => read(Exchange, value);
export const isLine = (value: unknown): boolean => Line.safeParse(value).success;

/** The value, or what is wrong with it. */
function read<T extends z.ZodMiniType>(schema: T, value: unknown): z.infer<T> | string {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  return `${issue?.path.join('.') ?? ''} ${issue?.message ?? 'is not right'}`.trim();
}
