// Which prompt of a person a request works on: the one that the agent names, else what the user wrote last.
import { hash } from 'node:crypto';
import type { Identity } from '../../../conversations/identity.ts';
import type { Braked } from '../../../store/holds/brakes.ts';
import type { Step } from '../../../protocols/interface/steps.ts';

type Prompt = Omit<NonNullable<Braked['prompt']>, 'most'>;

/** undefined: nobody asked for anything. */
export function promptOf(steps: Iterable<Step>, { agent, prompt }: Identity): Prompt | undefined {
  if (prompt !== null) return { id: digest(`named ${prompt}`), begins: false };
  let last: string | undefined;
  let texts = 0;
  let begins = true;
  for (const step of steps) {
    if (step.type !== 'text') begins = false;
    else {
      texts += 1;
      last = step.text;
    }
  }
  // A person who writes "go on" again asks for something new.
  return last === undefined ? undefined : { id: digest(`text ${agent ?? ''} ${texts}\n${last}`), begins };
}

/** Nothing but what the user wrote. */
export function isBeginning(steps: Iterable<Step>): boolean {
  for (const { type } of steps) if (type !== 'text') return false;
  return true;
}

const DIGITS = 22;

const digest = (text: string): string => hash('sha256', text, 'base64url').slice(0, DIGITS);
