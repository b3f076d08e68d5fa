// `gateway replay NAME` without a command: serves the tape until a signal, and prints where and with which key.
import { ProgramEnd, type Context } from '../../context.ts';
import type { Session } from '../launch.ts';
import { openDatabase } from '../../database.ts';
import { say } from '../../ui/lines.ts';
import { clean, printJson, printLines } from '../../ui/style.ts';

export async function serveTape(
  session: Session,
  { port, json }: { port: number; json: boolean },
  context: Context,
): Promise<void> {
  const undo: (() => Promise<void> | void)[] = [];
  const signalled = new Promise<void>((resolve) => {
    // Keeps the process alive, too.
    const timer = setInterval(() => undefined, 2 ** 30);
    const stop = context.onSignal(() => resolve());
    undo.push(() => {
      clearInterval(timer);
      stop();
    });
  });
  try {
    const store = await openDatabase(session.config);
    undo.push(() => store.close());
    const { leaseKey } = await import('../keys.ts');
    const { reachGateway } = await import('../reach.ts');
    const key = await leaseKey(store, context, session.verb);
    undo.push(() => key.end());
    const recorder = await session.recorder?.(key.plaintext);
    const { config, load } = session;
    const parts = { config, load, store, key: key.plaintext, tool: session.verb, context };
    const gateway = await reachGateway({ ...parts, isOwn: true, recorder, port });
    undo.push(() => gateway.stop());
    print({ url: gateway.url, key: key.plaintext, model: session.model }, json, context);
    await signalled;
  } finally {
    for (const step of undo.reverse()) await step();
    session.ended?.(0);
  }
  throw new ProgramEnd(0);
}

interface Place {
  url: string;
  key: string;
  model: string;
}

function print(place: Place, json: boolean, context: Context): void {
  const { url, key, model } = place;
  if (json) printJson(context, place);
  else printLines(context.stdout, [`url    ${url}`, `key    ${key}`, clean(`model  ${model}`)]);
  say(
    context.stderr,
    clean(`gateway replay: base URLs: ${url}/v1, for messages clients ${url}; Ctrl-C ends it`),
  );
}
