// Completions of a bare text, and of the gap between a prompt and a suffix, which editors ask for while somebody types.
// https://platform.openai.com/docs/api-reference/completions, https://docs.mistral.ai/api/#tag/fim
import { isObject, type JsonObject, type JsonValue } from '../../../canonical/json.ts';
import { NO_NEEDS } from '../../../canonical/traits.ts';
import type { Usage } from '../../../canonical/reply.ts';
import { faulty, EVENT_NOT_JSON } from '../../../failures.ts';
import type { AnswerMarks } from '../../interface/answer.ts';
import type { Relayed } from '../../interface/endpoint.ts';
import type { FrameClass, StreamClassifier } from '../../interface/stream.ts';
import { readModelName, refuse } from '../../shared/client.ts';
import { throwFailure } from '../../shared/failures/provider-error.ts';
import type { Frame } from '../../sse/splitter.ts';
import { failureOf, failureOfEvent } from '../errors.ts';
import { failureIn, failureOfStray } from '../lenient.ts';
import { isDone } from '../relay.ts';
import { decodeUsage } from '../reply/ending.ts';
import { Marks } from '../reply/marks.ts';

export const completions: Relayed = {
  does: 'relay',
  method: 'POST',
  path: '/completions',
  recordedAs: 'completions',
  isAlone: true,
  at: {
    pathOf: ({ completionsPath, embeddings }) =>
      embeddings === true || completionsPath === false ? undefined : completionsPath,
    ability: 'complete a bare text',
  },
  readEnvelope({ value }) {
    const model = readModelName(value);
    const { prompt, stream } = value;
    if (typeof prompt !== 'string' && !Array.isArray(prompt)) refuse('prompt', 'must be a text or a list');
    if (stream !== undefined && stream !== null && typeof stream !== 'boolean')
      refuse('stream', 'must be true or false');
    return { model, stream: stream === true, needs: NO_NEEDS };
  },
  createClassifier: ({ usageAsked }) => new Classifier(usageAsked),
  inspectReply(value) {
    if (!isObject(value)) return throwFailure(NO_COMPLETION);
    const failure = failureIn(value, 200);
    if (failure) throwFailure(failure);
    if (!Array.isArray(value.choices) || value.choices.length === 0) return throwFailure(NO_COMPLETION);
    const usage = decodeUsage(value.usage);
    return { ...(usage && { usage }), ...rewritten(value, value.choices) };
  },
};

const NO_COMPLETION = faulty('malformed', "the provider's answer has no choices");

/** Some providers answer as if they were asked for a chat: the same answer as a completion. */
function rewritten(value: JsonObject, choices: readonly JsonValue[]): { value?: JsonObject } {
  if (!choices.some((choice) => isObject(choice) && isChatChoice(choice))) return {};
  return { value: { ...value, object: 'text_completion', choices: choices.map(asCompletion) } };
}

function isChatChoice({ text, message, delta }: JsonObject): boolean {
  return text === undefined && (isObject(message) || isObject(delta));
}

function asCompletion(choice: JsonValue): JsonValue {
  if (!isObject(choice) || !isChatChoice(choice)) return choice;
  const { message, delta, ...rest } = choice;
  const said = isObject(message) ? message : delta;
  const content = isObject(said) ? said.content : undefined;
  return { ...rest, text: typeof content === 'string' ? content : '' };
}

const QUIET: FrameClass = { kind: 'quiet' };
const NOT_JSON: FrameClass = { kind: 'error', failure: EVENT_NOT_JSON };

/** Completions are short: every frame is parsed. */
class Classifier implements StreamClassifier {
  readonly #usageAsked: boolean;
  #usage: Usage | undefined;
  readonly #marks = new Marks();
  /** The last frame as a completion, if it came in another form. */
  #rewritten: Buffer | undefined;

  constructor(usageAsked: boolean) {
    this.#usageAsked = usageAsked;
  }

  classify(frame: Frame): FrameClass {
    this.#rewritten = undefined;
    if (frame.event === 'error') return { kind: 'error', failure: failureOfEvent(frame.data) };
    const stray = failureOfStray(frame);
    if (stray) return { kind: 'error', failure: stray };
    if (frame.data === '') return QUIET;
    if (isDone(frame)) return { kind: 'end' };
    const { value } = frame;
    if (Array.isArray(value)) return { kind: 'error', failure: failureOf(value) };
    if (!isObject(value)) return NOT_JSON;
    const failure = failureIn(value);
    if (failure) return { kind: 'error', failure };
    this.#usage = decodeUsage(value.usage) ?? this.#usage;
    this.#marks.read(value);
    const { choices } = value;
    if (!Array.isArray(choices)) return QUIET;
    if (choices.length === 0) return isObject(value.usage) && !this.#usageAsked ? { kind: 'drop' } : QUIET;
    return this.#choices(value, choices);
  }

  isQuiet(): boolean {
    return false;
  }

  usage(): Usage | undefined {
    return this.#usage;
  }

  marks(): AnswerMarks {
    return this.#marks.list();
  }

  shifted(bytes: Buffer): Buffer {
    return this.#rewritten ?? bytes;
  }

  #choices(value: JsonObject, choices: readonly JsonValue[]): FrameClass {
    const other = rewritten(value, choices).value;
    if (other !== undefined) this.#rewritten = Buffer.from(`data: ${JSON.stringify(other)}\n\n`);
    // An empty completion is an answer: nothing fits into the gap.
    const isFinished = choices.some((choice) => isObject(choice) && typeof choice.finish_reason === 'string');
    return { kind: isFinished ? 'finish' : 'content' };
  }
}
