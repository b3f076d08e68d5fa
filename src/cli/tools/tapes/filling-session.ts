// A session that answers from a tape what the tape holds, and asks the real provider for the rest, which is added to the tape.
import type { GatewayRecorder } from '../../../app/parts.ts';
import type { Cancellation } from '../../../cancellation.ts';
import type { Config } from '../../../config/config.ts';
import { plural } from '../../../plural.ts';
import type { ProviderClient } from '../../../providers/client.ts';
import type { Trace } from '../../../gateway/trace.ts';
import type { Tape } from '../../../tapes/read.ts';
import type { Shelf } from '../../../tapes/match/shelf.ts';
import type { answerFrom, askedIn } from '../../../tapes/replay/client.ts';
import type { Redactor } from '../../../tapes/redact/redactor.ts';
import type { Context } from '../../context.ts';
import type { Session } from '../launch.ts';
import { say } from '../../ui/lines.ts';
import { clean } from '../../ui/style.ts';

interface Real {
  config: Config;
  load: () => Promise<Config>;
}

export async function fillingSession(
  folder: string,
  { config, load }: Real,
  { fast, model }: { fast: boolean; model?: string | undefined },
  context: Context,
): Promise<Session> {
  const { readTape } = await import('../../../tapes/read.ts');
  const { createShelf } = await import('../../../tapes/match/shelf.ts');
  const tape = readTape(folder);
  const shelf = createShelf(tape);
  const tell = (line: string): void => say(context.stderr, clean(`gateway replay: ${line}`));
  let added = (): number => 0;
  return {
    verb: 'replay',
    config,
    load,
    model: model ?? tape.head.asked[0]?.model ?? 'auto',
    isOwn: true,
    async recorder(key) {
      const { openTape } = await import('../../../tapes/record/write.ts');
      const { createRecorder } = await import('../../../tapes/record/recorder.ts');
      const { createRedactor } = await import('../../../tapes/redact/redactor.ts');
      const { secretsOfEnvironment, secretsOfProviders } = await import('../../../tapes/redact/known.ts');
      const redactor = createRedactor([
        { kind: 'gateway key', text: key },
        ...secretsOfProviders(await load()),
        ...secretsOfEnvironment(context.env),
      ]);
      const asked = new Set<Cancellation>();
      const recorder = createRecorder({
        key,
        writer: openTape(folder),
        head: tape.head,
        first: Number(tape.exchanges.at(-1)?.number ?? 0) + 1,
        redactor,
        clock: context.clock,
        onFault: (message) => tell(`${message}; the program goes on`),
        isKept: (cancellation) => asked.delete(cancellation),
      });
      added = () => recorder.written;
      const playing = await import('../../../tapes/replay/client.ts');
      return tapeFirst(recorder, { shelf, redactor, asked, pace: !fast, context, ...playing });
    },
    ended() {
      tell(`${plural(added(), 'request')} added to the tape ${folderName(tape)}`);
    },
  };
}

const folderName = ({ folder }: Tape): string => folder.replace(/^.*[/\\]/, '');

interface Filling {
  shelf: Shelf;
  redactor: Redactor;
  /** Requests for which a real provider was asked. */
  asked: Set<Cancellation>;
  pace: boolean;
  context: Context;
  answerFrom: typeof answerFrom;
  askedIn: typeof askedIn;
}

function tapeFirst(recorder: GatewayRecorder, filling: Filling): GatewayRecorder {
  const { shelf, redactor, asked, pace, context } = filling;
  const traces = new Map<string, Trace>();
  const byCancellation = new Map<Cancellation, string>();

  function played(...[call, cancellation]: Parameters<ProviderClient['open']>) {
    const protocol = traces.get(byCancellation.get(cancellation) ?? '')?.contact?.protocol.name;
    if (protocol === undefined || call.method !== 'POST') return undefined;
    const request = filling.askedIn(call, protocol, redactor);
    const found = shelf.find(request);
    if (!('missing' in found))
      return filling.answerFrom(found, request, { pace, clock: context.clock, cancellation });
    asked.add(cancellation);
    return undefined;
  }

  return {
    observer: {
      started(trace) {
        traces.set(trace.requestId, trace);
        recorder.observer.started?.(trace);
      },
      finished(trace) {
        traces.delete(trace.requestId);
        recorder.observer.finished?.(trace);
      },
    },
    watch(arrival, exchange, answer) {
      byCancellation.set(exchange.cancellation, exchange.requestId);
      return recorder
        .watch(arrival, exchange, answer)
        .finally(() => void byCancellation.delete(exchange.cancellation));
    },
    wrap(client) {
      const recording = recorder.wrap(client);
      return {
        closeIdle: () => recording.closeIdle(),
        close: () => recording.close(),
        // What is played is no request to a provider: it is not recorded.
        async open(call, cancellation) {
          return played(call, cancellation) ?? recording.open(call, cancellation);
        },
      };
    },
  };
}
