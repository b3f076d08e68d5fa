// The part of a check that asks for an answer: one small streamed request, and one that calls a tool. It is loaded only for a provider
// that answers: the code that serves clients is large.
import type { ProtocolName } from '../../canonical/request.ts';
import { keyHint } from '../../gateway/outbound/fallback-error.ts';
import { type Target, protocolFor, spokenBy } from '../../routing/catalog.ts';
import { ask, type Answer, type Asked } from './ask.ts';
import { failureOf, messageOf, type ProbeDeps, type Step } from './report.ts';

/** `deep`: tools too, and each of the provider's protocols. */
export async function generating(target: Target, deep: boolean, deps: ProbeDeps): Promise<Step[]> {
  const spoken = spokenBy(target);
  const steps: Step[] = [];
  for (const name of deep ? spoken : [protocolFor(target)]) {
    const label = deep && spoken.length > 1 ? `${target.key} (${name})` : target.key;
    steps.push(...(await generatingIn(name, label, target, deep, deps)));
  }
  // The key is the same for every protocol.
  return steps.filter(({ check, ok }, at) => check !== 'key' || !ok || at === 0);
}

async function generatingIn(
  name: ProtocolName,
  label: string,
  target: Target,
  deep: boolean,
  deps: ProbeDeps,
): Promise<Step[]> {
  const { provider } = target;
  const steps: Step[] = [];
  try {
    await ask(target, name, askedOf(target, false), deps);
    if (provider.apiKey !== undefined) steps.push({ check: 'key', ok: true, detail: 'accepted' });
    steps.push({ check: 'streaming', ok: true, detail: label });
    // Tools of such a model go by another protocol.
    if (!deep || protocolFor(target, name, TOOLS_ALONE) !== name) return steps;
    const called = calledTool(await ask(target, name, askedOf(target, true), deps));
    steps.push({
      check: 'tools',
      ok: called,
      detail: called ? label : `${label} did not call the tool that it must call`,
    });
  } catch (error) {
    const failure = failureOf(error);
    const check = failure.kind === 'provider_key' ? 'key' : steps.length > 0 ? 'tools' : 'streaming';
    steps.push({
      check,
      ok: false,
      detail: `${label}: ${messageOf(failure, provider)}${keyHint(failure, target)}`,
    });
  }
  return steps;
}

const TOOLS_ALONE = { tools: true, thinking: false };
const MAX_TOKENS = 64;
const TOOL = 'report_status';

/** Whether the model called the tool, with arguments that are JSON. */
function calledTool({ given }: Answer): boolean {
  return given.parts.some(
    (part) => part.type === 'tool_call' && part.name === TOOL && isJson(part.arguments),
  );
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function askedOf({ traits }: Target, tool: boolean): Asked {
  const text = tool ? `Call the tool ${TOOL} with the status "ok".` : 'Answer with the one word: ok';
  const asked: Asked = {
    messages: [{ role: 'user', parts: [{ type: 'text', text }] }],
    maxOutputTokens: tool ? 4 * MAX_TOKENS : MAX_TOKENS,
  };
  if (!tool) return asked;
  return {
    ...asked,
    tools: [
      {
        type: 'function',
        name: TOOL,
        description: 'Reports a status.',
        parameters: { type: 'object', properties: { status: { type: 'string' } }, required: ['status'] },
      },
    ],
    ...(traits.forcedTools !== 'never' && { toolChoice: { type: 'required' as const } }),
  };
}
