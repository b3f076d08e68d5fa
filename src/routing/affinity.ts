// Which target answered a conversation last: it has the prompt cache, and accepts the thinking signatures. Each agent of a conversation
// has a prompt of its own, so each stays where it was answered.
import type { Identity } from '../conversations/identity.ts';
import type { Target } from './targets.ts';

/** Who was answered, and the name of a model that was asked for. */
interface Answered {
  readonly identity: Pick<Identity, 'conversation' | 'agent'> | undefined;
  model: string;
}

/** The target that answered when this name was asked for. */
export interface LastTarget {
  asked: string;
  /** The target's key. */
  key: string;
  family: string;
}

/** `lane`: an agent of a conversation. */
export type AffinityListener = (lane: string, last: LastTarget) => void;

export interface Affinity {
  /** Of the name that is asked for, else of another. */
  recall(of: Answered): LastTarget | undefined;
  remember(of: Answered, target: Target): void;
  /** Whether nothing is known of the agent and its conversation. */
  isNew(of: Answered): boolean;
  /** What another worker remembers. */
  adopt(lane: string, last: LastTarget): void;
}

const MOST_LANES = 10_000;
/** Names that one agent asks for: a large model and a small one take turns. */
const MOST_NAMES = 4;

/** `onChange`: called when an agent of a conversation is answered by another target than before. */
export function createAffinity(onChange?: AffinityListener, most = MOST_LANES): Affinity {
  // In order of last use: the first is forgotten first. The last answers of a lane, the latest first.
  const lanes = new Map<string, readonly LastTarget[]>();

  /** Returns whether it is news. */
  function keep(lane: string, last: LastTarget): boolean {
    const before = lanes.get(lane) ?? [];
    const same = before.find(({ asked }) => asked === last.asked);
    const isNews = same?.key !== last.key;
    lanes.delete(lane);
    lanes.set(
      lane,
      before[0] === same && !isNews
        ? before
        : [last, ...before.filter((other) => other !== same)].slice(0, MOST_NAMES),
    );
    if (lanes.size > most) forgetOldest(lanes);
    return isNews;
  }

  return {
    recall({ identity, model }) {
      const answers = lanes.get(laneOf(identity) ?? '');
      return answers?.find(({ asked }) => asked === model) ?? answers?.[0];
    },
    remember({ identity, model }, { key, family }) {
      const lane = laneOf(identity);
      if (lane === undefined) return;
      const last = { asked: model, key, family };
      if (keep(lane, last)) onChange?.(lane, last);
    },
    isNew({ identity }) {
      const lane = laneOf(identity);
      return lane !== undefined && !lanes.has(lane);
    },
    adopt(lane, last) {
      keep(lane, last);
    },
  };
}

/** undefined: the request is a part of no conversation that is known. */
function laneOf(identity: Pick<Identity, 'conversation' | 'agent'> | undefined): string | undefined {
  if (identity === undefined || identity.conversation === null) return undefined;
  const { conversation, agent } = identity;
  return agent === null ? conversation : `${conversation} ${agent}`;
}

function forgetOldest(lanes: Map<string, unknown>): void {
  for (const oldest of lanes.keys()) {
    lanes.delete(oldest);
    return;
  }
}
