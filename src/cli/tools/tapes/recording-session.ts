// A session of a program whose requests are recorded: a gateway of its own, which records the requests that bear the program's key.
import path from 'node:path';
import { isoTime } from '../../../clock.ts';
import { CliError } from '../../../cli-error.ts';
import { plural } from '../../../plural.ts';
import type { Recorder } from '../../../tapes/record/recorder.ts';
import { version, type Context } from '../../context.ts';
import type { Session } from '../launch.ts';
import { say } from '../../ui/lines.ts';
import { clean, shellWord } from '../../ui/style.ts';

interface How {
  /** What the user wrote as the command. */
  words: readonly string[];
  /** The folder in which the tape is made; undefined: the current one. */
  to?: string | undefined;
  replace: boolean;
}

/** Throws CliError if the name is none, or taken. */
export function recordingSession(name: string, session: Session, how: How, context: Context): Session {
  const folder = path.resolve(context.cwd, how.to ?? '.', tapeName(name));
  const shown = path.relative(context.cwd, folder);
  let recorder: Recorder | undefined;
  const tell = (line: string): void => say(context.stderr, clean(`gateway record: ${line}`));
  return {
    ...session,
    verb: 'record',
    isOwn: true,
    async recorder(key) {
      const { createTape } = await import('../../../tapes/record/write.ts');
      const { createRecorder } = await import('../../../tapes/record/recorder.ts');
      const { createRedactor } = await import('../../../tapes/redact/redactor.ts');
      const { secretsOfEnvironment, secretsOfProviders } = await import('../../../tapes/redact/known.ts');
      const { ALWAYS_IGNORED } = await import('../../../tapes/match/ignore.ts');
      const providers = await session.load();
      const redactor = createRedactor([
        { kind: 'gateway key', text: key },
        ...secretsOfProviders(providers),
        ...secretsOfEnvironment(context.env),
      ]);
      const head = {
        tape: 1 as const,
        made: isoTime(context.clock.now()),
        gateway: version(),
        command: how.words.map((word) => redactor.text(word)),
        ignore: [...ALWAYS_IGNORED],
        targets: [],
        asked: [],
      };
      const writer = createTape(folder, head, { replace: how.replace });
      const onFault = (message: string): void => tell(`${message}; the program goes on`);
      recorder = createRecorder({ key, writer, head, redactor, clock: context.clock, onFault });
      return recorder;
    },
    ended() {
      if (recorder === undefined) return;
      const check = `gateway tape check ${shellWord(shown)}`;
      tell(`${plural(recorder.written, 'request')} on the tape ${shown}; before you give it away: ${check}`);
    },
  };
}

/** A name, and no path. */
function tapeName(name: string): string {
  if (/^[A-Za-z0-9][\w.-]{0,99}$/.test(name)) return name;
  const rule = 'letters, digits, dots, hyphens and underscores';
  throw new CliError(`${JSON.stringify(name)} is no name of a tape: write ${rule}; --to names its folder`, 2);
}
