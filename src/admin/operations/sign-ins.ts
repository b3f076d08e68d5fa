// Operations for sign-ins of agents: the codes that wait, and what the owner says to them.
import { isoTime } from '../../clock.ts';
import { waitingSignInJson } from '../../accounts/json.ts';
import { operation, type AdminParts, type Call, type Operation } from '../operation.ts';
import { tooMany } from '../authenticate.ts';
import { Problem } from '../reply.ts';
import { accountName, page, time, WaitingSignIn } from '../schemas.ts';
import { z } from 'zod';
import { checkTier } from './accounts.ts';

const code = z.string().min(1).max(40).meta({ description: 'ABCD-EFGH' });
const SignInApproval = z.strictObject({
  code,
  account: accountName.meta({ description: 'Created if it is new' }),
  tier: z.string().min(1).max(64).optional().meta({ description: 'Of a new account' }),
  expires_at: time.nullish().meta({ description: 'The end of the sign-in; absent: its revocation' }),
});
const ApprovedSignIn = z.object({
  account: z.string(),
  tier: z.string(),
  expires_at: time.nullable(),
});
const SignInDenial = z.strictObject({ code });
const DeniedSignIn = z.object({ code: z.string(), denied_at: time });

export const signInOperations: readonly Operation[] = [
  operation({
    id: 'listSignIns',
    method: 'GET',
    path: '/sign-ins',
    tag: 'sign-ins',
    summary: 'Codes of clients that ask to sign in, the oldest first',
    query: z.strictObject({}),
    reply: page(WaitingSignIn).extend({ on: z.boolean().meta({ description: 'Whether sign_in is on' }) }),
    async run(_, parts) {
      const { signIns, current } = parts;
      const on = current.config.signIn !== null;
      const waiting = on ? await signIns.signIn.waiting() : [];
      return { data: waiting.map(waitingSignInJson), next: null, on };
    },
  }),
  operation({
    id: 'approveSignIn',
    method: 'POST',
    path: '/sign-ins/approve',
    tag: 'sign-ins',
    summary: 'Let the client of a code use an account, which is created if it is new',
    body: SignInApproval,
    reply: ApprovedSignIn,
    problems: [404, 409],
    async run({ body }, parts, { exchange }) {
      mustBeOn(parts);
      const { store, clock, current } = parts;
      const { account, tier } = body;
      if (tier !== undefined) checkTier(tier, current.config);
      const existing = await store.findAccount(account);
      if (existing !== undefined && tier !== undefined && existing.tier !== tier)
        throw new Problem(
          409,
          'other_tier',
          `the account has tier ${existing.tier} already; change it first`,
        );
      const endsAt = body.expires_at == null ? null : Date.parse(body.expires_at);
      if (endsAt !== null && endsAt <= clock.now())
        throw new Problem(400, 'invalid_request', 'the body: expires_at: is in the past');
      const approval = {
        account,
        tier: tier ?? current.config.defaultTier,
        endsAt,
      };
      const approved = await guessed(exchange, parts, (signIn) => signIn.approve(body.code, approval));
      const { name, tier: given } = approved.account;
      return { account: name, tier: given, expires_at: isoTime(endsAt) };
    },
  }),
  operation({
    id: 'denySignIn',
    method: 'POST',
    path: '/sign-ins/deny',
    tag: 'sign-ins',
    summary: 'Refuse the client of a code',
    body: SignInDenial,
    reply: DeniedSignIn,
    problems: [404],
    async run({ body }, parts, { exchange }) {
      mustBeOn(parts);
      const { code } = await guessed(exchange, parts, (signIn) => signIn.deny(body.code));
      return { code, denied_at: isoTime(parts.clock.now()) };
    },
  }),
];

function mustBeOn({ current }: AdminParts): void {
  if (current.config.signIn === null)
    throw new Problem(404, 'sign_in_off', 'sign_in is off in the configuration');
}

/** Codes that wait for nobody are counted against their address, as wrong credentials are. Rejects with Problem 404 or 429. */
async function guessed<Value>(
  { remoteAddress }: Call['exchange'],
  { signIns: { signIn, throttle } }: AdminParts,
  act: (signIn: AdminParts['signIns']['signIn']) => Promise<Value | undefined>,
): Promise<Value> {
  const value = await act(signIn);
  if (value !== undefined) return value;
  const wait = throttle.waitMs(remoteAddress);
  if (wait > 0) throw tooMany(wait);
  throttle.failed(remoteAddress);
  throw new Problem(404, 'unknown_code', 'no sign-in waits with this code: unknown, used, denied or expired');
}
