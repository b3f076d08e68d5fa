// Asks a model all cases of tools, one after the other, and says what would have to change for those that are lost.
import type { ProtocolName } from '../../canonical/request.ts';
import type { Traits } from '../../canonical/traits.ts';
import type { FailureKind } from '../../errors.ts';
import { keyHint } from '../../gateway/outbound/fallback-error.ts';
import { plural } from '../../plural.ts';
import { protocolFor, type Target } from '../../routing/catalog.ts';
import { CliError } from '../../cli-error.ts';
import { askTaught, type Outcome } from './ask.ts';
import { configLines, joinedTraits } from './config-lines.ts';
import { faultOf, type Fault } from './judge.ts';
import { messageOf, type ProbeDeps } from './report.ts';
import { TOOL_CASES, type ToolCase } from './tool-cases.data.ts';

export interface CaseReport {
  case: string;
  /** What a client gets with the present configuration. */
  result: 'right' | 'repaired' | 'lost';
  /** What was repaired, or why it is lost; empty: nothing. */
  detail: string;
}

export interface ToolReport {
  model: string;
  protocol: ProtocolName;
  repair_tools: boolean;
  right: number;
  repaired: number;
  lost: number;
  cases: CaseReport[];
  /** What to change, each with why: lines of the provider's entry, or what its server or model lacks. */
  change: string[];
}

interface Judged extends CaseReport {
  toolCase: ToolCase;
  /** Why it is lost. */
  fault?: Fault['kind'] | 'refused' | 'failed';
  /** `repair_tools: true` would make it right. */
  isRepairable?: boolean;
  /** With these flags the server accepts the request. */
  taught?: Partial<Traits>;
}

/** No case can be judged after these. */
const FINAL: ReadonlySet<FailureKind> = new Set<FailureKind>([
  'provider_key',
  'billing',
  'not_found',
  'rate_limited',
  'exhausted',
]);
/** Of the server: failures in a row after which the rest is not asked. */
const MOST_FAILURES = 3;
/** Models that think need them. */
const MAX_TOKENS = 4096;

/** Calls `onCase` with the report of each case when the case ends. */
export async function checkTools(
  target: Target,
  deps: ProbeDeps,
  onCase: (report: CaseReport) => void,
): Promise<ToolReport> {
  const protocol = protocolFor(target);
  const judged: Judged[] = [];
  let failures = 0;
  for (const toolCase of TOOL_CASES) {
    const asked = { maxOutputTokens: MAX_TOKENS, temperature: 0, ...toolCase.asked };
    const outcome = await askTaught(target, protocol, asked, deps);
    failures = 'failure' in outcome && outcome.failure.kind !== 'invalid_request' ? failures + 1 : 0;
    if ('failure' in outcome && (FINAL.has(outcome.failure.kind) || failures === MOST_FAILURES)) {
      const message = messageOf(outcome.failure, target.provider) + keyHint(outcome.failure, target);
      throw new CliError(
        `the check of ${target.key} ended after ${plural(judged.length, 'case')}, at "${toolCase.name}": ${message}`,
      );
    }
    const report = judge(toolCase, outcome, target);
    judged.push(report);
    onCase(report);
  }
  const count = (result: CaseReport['result']): number =>
    judged.filter((report) => report.result === result).length;
  return {
    model: target.key,
    protocol,
    repair_tools: target.provider.repairTools,
    right: count('right'),
    repaired: count('repaired'),
    lost: count('lost'),
    cases: judged.map(({ case: name, result, detail }) => ({ case: name, result, detail })),
    change: changes(judged, target),
  };
}

function judge(toolCase: ToolCase, outcome: Outcome, { provider, ...target }: Target): Judged {
  const report = { case: toolCase.name, toolCase };
  if ('failure' in outcome) {
    const { kind } = outcome.failure;
    const detail = `the server answered ${messageOf(outcome.failure, provider)}`;
    return { ...report, result: 'lost', detail, fault: kind === 'invalid_request' ? 'refused' : 'failed' };
  }
  const { answer, taught } = outcome;
  const given = faultOf(answer.given, toolCase);
  const after = given && faultOf(answer.repaired, toolCase);
  if (Object.keys(taught).length > 0 && after === undefined) {
    const lines = configLines({ provider, ...target }, taught).join(' and ');
    return {
      ...report,
      result: 'lost',
      detail: `refused as it was sent; right with ${lines}`,
      fault: 'refused',
      taught,
    };
  }
  if (given === undefined) return { ...report, result: 'right', detail: '' };
  if (after === undefined) {
    const repairs = answer.repairs.join(', ');
    return provider.repairTools
      ? { ...report, result: 'repaired', detail: repairs }
      : { ...report, result: 'lost', detail: given.detail, fault: given.kind, isRepairable: true };
  }
  return { ...report, result: 'lost', detail: after.detail, fault: after.kind };
}

/** The options that make servers parse their models' tool calls. */
const PARSERS =
  'llama.cpp: --jinja, with --chat-template-file for another template; vLLM: --enable-auto-tool-choice --tool-call-parser NAME; ' +
  'SGLang: --tool-call-parser NAME; Ollama: a model whose `ollama show` lists "tools"; LM Studio: a model marked for tool use';

function changes(judged: readonly Judged[], target: Target): string[] {
  const { name } = target.provider;
  const lost = (...kinds: NonNullable<Judged['fault']>[]): Judged[] =>
    judged.filter(
      ({ fault, isRepairable }) => isRepairable !== true && fault !== undefined && kinds.includes(fault),
    );
  const taught = judged.reduce<Partial<Traits>>((all, report) => joinedTraits(all, report.taught ?? {}), {});
  const mended = judged.filter((report) => report.taught !== undefined).length;
  const repairable = judged.filter(({ isRepairable }) => isRepairable).length;
  const silent = lost('no_call');
  const unread = lost('in_text');
  const calling = judged.filter(({ toolCase }) => Array.isArray(toolCase.wanted)).length;
  const wholeRight = judged.some(
    ({ toolCase, result }) => toolCase.asked.stream === false && result === 'right',
  );
  const cut = lost('cut_off').length;
  const wrong = lost('wrong', 'needless').length;
  return [
    ...configLines(target, taught).map(
      (line) =>
        `providers.${name}: ${line} (${plural(mended, 'case')} that the server refuses in the present form)`,
    ),
    ...(repairable > 0
      ? [`providers.${name}: repair_tools: true (makes ${plural(repairable, 'case')} right)`]
      : []),
    ...(unread.length > 0
      ? [
          `${plural(unread.length, 'call')} stood in the text in a form that is not known: use the model's own chat template and the parser for it (${PARSERS})`,
        ]
      : []),
    ...(silent.length * 2 > calling
      ? [
          `the model calls hardly any tool: its server may not show them to it (${PARSERS}); if it cannot call tools: models: [{ id: ${target.model}, tools: false }], so that requests with tools go to another model of a route`,
        ]
      : silent.length > 0 && wholeRight && silent.every(({ toolCase }) => toolCase.asked.stream === true)
        ? [`only streams lose ${plural(silent.length, 'call')}: a newer version of the server may mend it`]
        : []),
    ...(cut > 0
      ? [
          `${plural(cut, 'answer')} ended at a limit: give the server a larger context (Ollama: OLLAMA_CONTEXT_LENGTH; llama.cpp: -c), or the model thinks too long`,
        ]
      : []),
    ...(wrong > 0
      ? [
          `${plural(wrong, 'case')} went wrong in the model itself: no setting of the gateway mends that; a larger model, or one with a finer quantisation, may`,
        ]
      : []),
  ];
}
