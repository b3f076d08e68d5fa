// Brakes: what one conversation may cost, and how many requests one prompt may take. Both are counted in the transaction that admits a
// request, so that they are exact as limits are. What is decided here is the same for every engine: they read and write.

export const BRAKES = ['conversation', 'repeated_call', 'requests_a_prompt'] as const;
export type Brake = (typeof BRAKES)[number];

/** Of a request whose conversation has brakes. */
export interface Braked {
  conversation: string;
  /** Billionths of a dollar that the conversation may cost; undefined: no such brake. */
  most: number | undefined;
  /** Its history has only begun, and nothing but that names the conversation: what alike ones cost before is none of its cost. */
  begins: boolean;
  /** undefined: no such brake, or nobody asked. */
  prompt: { id: string; most: number; begins: boolean } | undefined;
}

/** Why a request was refused. */
export type BrakeRefusal =
  | { brake: 'conversation'; spent: number; held: number; most: number }
  | { brake: 'repeated_call'; calls: number; most: number; name: string }
  | { brake: 'requests_a_prompt'; requests: number; most: number };

/** A request that a brake refused. */
export interface Stop {
  conversation: string;
  accountId: number;
  brake: Brake;
  at: number;
  /** Of a repeated call: where it began, and how often it came. */
  run?: { id: string; calls: number };
}

/** The last stop of a conversation that nobody let go on. */
export interface Stopped {
  conversation: string;
  accountId: number;
  /** null: the account was removed. */
  account: string | null;
  brake: Brake;
  at: number;
}

export interface StopQuery {
  /** The id of a conversation, or its beginning. */
  prefix?: string | undefined;
  /** Stopped at this time or later. */
  since?: number | undefined;
  accountId?: number | undefined;
  limit: number;
}

export interface BrakeStore {
  /** Calls of this run that a person let go on. */
  forgivenCalls(conversation: string, run: string): Promise<number>;
  noteStop(stop: Stop): Promise<void>;
  /** The latest first. */
  listStops(query: StopQuery): Promise<Stopped[]>;
  /** Counts of the conversation begin anew, at once for all gateways. `most`: billionths of a dollar that it may cost from now on, in place
   *  of what the brake gives. One transaction. */
  letGoOn(
    conversation: { id: string; accountId: number },
    most: number | undefined,
    at: number,
  ): Promise<void>;
}

/** What the database has of a conversation. */
export interface ConversationSum {
  /** It has a row. Else `spent` is what its requests cost before the brake. */
  known: boolean;
  spent: number;
  held: number;
  /** `spent` where counting began. */
  base: number;
  /** `spent` up to which a person let it go on, beside what the brake gives. */
  allowed: number | null;
}

export interface BrakeReading {
  conversations: Map<string, ConversationSum>;
  /** Requests of each prompt, by `promptKey`. */
  prompts: Map<string, number>;
}

export interface BrakeQuestion {
  /** With their accounts. */
  conversations: ReadonlyMap<string, number>;
  prompts: ReadonlyMap<string, PromptName>;
}

interface PromptName {
  accountId: number;
  conversation: string;
  prompt: string;
}

export const promptKey = (conversation: string, prompt: string): string => `${conversation} ${prompt}`;

/** A request, and whose it is. */
interface Asked {
  key: { accountId: number };
  braked?: Braked | undefined;
}

/** What must be read to decide on these requests; undefined: nothing. */
export function brakeQuestion(requests: readonly Asked[]): BrakeQuestion | undefined {
  const conversations = new Map<string, number>();
  const prompts = new Map<string, PromptName>();
  for (const {
    braked,
    key: { accountId },
  } of requests) {
    if (braked === undefined) continue;
    const { conversation, most, prompt } = braked;
    if (most !== undefined) conversations.set(conversation, accountId);
    if (prompt !== undefined)
      prompts.set(promptKey(conversation, prompt.id), { accountId, conversation, prompt: prompt.id });
  }
  return conversations.size + prompts.size === 0 ? undefined : { conversations, prompts };
}

const NEW: ConversationSum = { known: false, spent: 0, held: 0, base: 0, allowed: null };

/** What changed of the conversations and prompts that were asked for. */
export interface BrakeChanges {
  conversations: { id: string; accountId: number; spent: number; base: number; allowed: number | null }[];
  prompts: (PromptName & { requests: number })[];
}

/** Decides on requests one after the other, within one transaction. */
export class BrakeTally {
  readonly #question: BrakeQuestion;
  readonly #reading: BrakeReading;
  readonly #sums = new Set<string>();
  readonly #counts = new Set<string>();

  constructor(question: BrakeQuestion, reading: BrakeReading) {
    this.#question = question;
    this.#reading = reading;
  }

  /** undefined: no brake stops it. */
  refusalOf({ conversation, most, begins, prompt }: Braked): BrakeRefusal | undefined {
    if (most !== undefined && !begins) {
      const { spent, held, base, allowed } = this.#sumOf(conversation);
      const limit = Math.max(base + most, allowed ?? 0);
      if (spent + held >= limit) return { brake: 'conversation', spent, held, most: limit };
    }
    if (prompt === undefined || prompt.begins) return undefined;
    const requests = this.#reading.prompts.get(promptKey(conversation, prompt.id)) ?? 0;
    if (requests < prompt.most) return undefined;
    return { brake: 'requests_a_prompt', requests, most: prompt.most };
  }

  /** A request of the conversation ended: what it cost, and what it does not hold any more. */
  settle(conversation: string, spent: number, released: number): void {
    const sum = this.#reading.conversations.get(conversation);
    if (sum === undefined) return;
    this.#reading.conversations.set(conversation, {
      ...sum,
      spent: sum.spent + spent,
      held: sum.held - released,
    });
  }

  admit({ conversation, most, begins, prompt }: Braked, cost: number): void {
    if (most !== undefined) {
      const sum = this.#sumOf(conversation);
      const { spent, held, known } = sum;
      const begun = begins ? { base: spent, allowed: null } : {};
      this.#reading.conversations.set(conversation, { ...sum, ...begun, known: true, held: held + cost });
      if (!known || begins) this.#sums.add(conversation);
    }
    if (prompt === undefined) return;
    const key = promptKey(conversation, prompt.id);
    const before = prompt.begins ? 0 : (this.#reading.prompts.get(key) ?? 0);
    this.#reading.prompts.set(key, before + 1);
    this.#counts.add(key);
  }

  get changes(): BrakeChanges {
    return {
      conversations: [...this.#sums].map((id) => {
        const { spent, base, allowed } = this.#sumOf(id);
        return { id, accountId: this.#question.conversations.get(id) ?? 0, spent, base, allowed };
      }),
      prompts: [...this.#counts].flatMap((key) => {
        const name = this.#question.prompts.get(key);
        return name === undefined ? [] : [{ ...name, requests: this.#reading.prompts.get(key) ?? 0 }];
      }),
    };
  }

  #sumOf(conversation: string): ConversationSum {
    return this.#reading.conversations.get(conversation) ?? NEW;
  }
}

/** Of a prompt that nobody goes on with. */
export const PROMPTS_KEPT_MS = 7 * 86_400_000;

/** Billionths of a dollar that the requests of a conversation cost, whose id stands in `id`. */
export const costOfUsage = (id: string): string =>
  `(SELECT CAST(coalesce(round(sum(cost_usd) * 1000000000), 0) AS bigint) FROM usage WHERE usage.conversation = ${id})`;
