// Which target would answer a request, and why each other would not.
import type { Command } from 'commander';
import { NO_NEEDS } from '../../canonical/needs.ts';
import { GatewayError } from '../../errors.ts';
import type { Target } from '../../routing/catalog.ts';
import type { Question, Resolution } from '../../routing/routing.ts';
import type { Context } from '../context.ts';
import { clean, createStyle, printJson, printLines, type Style } from '../output.ts';

interface Options {
  file?: string;
  json?: boolean;
}

export function defineExplain(explain: Command, context: Context): void {
  explain
    .argument('<model>', 'the name that a client sends')
    .option('--file <request.json>', 'the body of a request: its images, tools and length count')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExamples:\n  gateway explain auto\n  gateway explain auto --file request.json')
    .action(async (model: string, options: Options, command: Command) =>
      runExplain(model, options, command, context),
    );
}

interface Verdict {
  target: Target;
  /** It would answer; it is tried if those before it fail; it is never tried. */
  role: 'answers' | 'next' | 'never';
  why: string;
  /** Wire paths of the request that it would not be given. */
  dropped: readonly string[];
}

async function runExplain(
  model: string,
  options: Options,
  command: Command,
  context: Context,
): Promise<void> {
  const { learnModels, withSurvey } = await import('../survey.ts');
  const verdicts = await withSurvey(command, context, async (survey) => {
    await learnModels(survey, context);
    const { question, droppedFor } = await askedOf(model, options.file, context.cwd);
    return judge(survey.routing.resolve(question), droppedFor);
  });
  if (options.json) printJson(context, { model, targets: verdicts.map(describe) });
  else printVerdicts(verdicts, context, await createStyle(context.stdout, context.env));
}

interface Asked {
  question: Question;
  /** What the target would not be given of the request. Throws GatewayError where it can't be written for it at all. */
  droppedFor: (target: Target) => readonly string[];
}

async function askedOf(model: string, file: string | undefined, cwd: string): Promise<Asked> {
  if (file === undefined) {
    const question: Question = {
      ...{ protocol: 'chat', model, needs: NO_NEEDS, allowed: null, accountId: 0 },
      ...{ conversation: undefined, openToolTurn: false, estimate: () => 0 },
    };
    return { question, droppedFor: () => [] };
  }
  const { readRequestFile } = await import('../request-file.ts');
  const { questionOf } = await import('../../gateway/conversation.ts');
  const { prepare } = await import('../../gateway/prepare.ts');
  const inbound = await readRequestFile(file, cwd, model);
  const passed = { version: undefined, beta: undefined, query: '' };
  return {
    question: questionOf(inbound, { models: null, accountId: 0 }),
    droppedFor: (target) => prepare(inbound, target, passed, false).dropped,
  };
}

/** As a server without a past would go: which providers fail or cool at the moment only a running one knows. */
function judge({ targets, weak, passedOver }: Resolution, droppedFor: Asked['droppedFor']): Verdict[] {
  const verdicts: Verdict[] = [];
  let before: Target | undefined;
  for (const target of targets) {
    const lacks = weak.get(target.key) ?? [];
    try {
      const dropped = droppedFor(target);
      const role = before === undefined ? 'answers' : 'next';
      verdicts.push({ target, role, why: reason(before, lacks), dropped });
      before = target;
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      verdicts.push({ target, role: 'never', why: error.message, dropped: [] });
    }
  }
  const left = passedOver.map(({ target, why }): Verdict => ({ target, role: 'never', why, dropped: [] }));
  return [...verdicts, ...left];
}

function reason(before: Target | undefined, lacks: readonly string[]): string {
  const but = lacks.length > 0 ? `it lacks ${lacks.join(', ')}` : undefined;
  if (before === undefined)
    return but === undefined ? 'the first that can take it' : `${but}, but none better is left`;
  const place = `tried if ${before.key} fails`;
  return but === undefined ? place : `${place}: ${but}`;
}

function describe({ target, role, why, dropped }: Verdict) {
  return { provider: target.provider.name, model: target.model, role, why, dropped };
}

const LABELS = { answers: 'answers', next: 'then', never: 'not' } as const satisfies Record<
  Verdict['role'],
  string
>;

function printVerdicts(verdicts: readonly Verdict[], { stdout }: Context, style: Style): void {
  const paints = { answers: style.green, next: style.bold, never: style.red } as const;
  const lines = verdicts.flatMap(({ target, role, why, dropped }) => [
    `${paints[role](LABELS[role].padEnd(7))}  ${style.bold(clean(target.key))}`,
    style.dim(`         ${clean(why)}`),
    ...(dropped.length > 0 ? [style.dim(`         left out: ${dropped.map(clean).join(', ')}`)] : []),
  ]);
  printLines(stdout, lines);
}
