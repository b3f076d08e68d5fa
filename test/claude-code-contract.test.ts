// The sentences of Claude Code's contract for gateways, each with the test that holds it: a sentence whose test is gone or renamed is found.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const GRANT = 'sign-in/device-grant.test.ts';
const APPROVAL = 'sign-in/approval.test.ts';
const TOGETHER = 'sign-in/together.test.ts';
const SETTINGS = 'sign-in/managed-settings.test.ts';
const TELEMETRY = 'sign-in/telemetry.test.ts';
const WORK = 'store/contract-work.ts';
const CONVERSATIONS = 'cli/conversations.test.ts';
const CONTRACT = 'store/contract-sign-ins.ts';
const APPROVE = 'cli/approve.test.ts';
const CONNECT = 'cli/connect/sign-in.test.ts';
const PAGE = 'sign-in/page.browser.test.ts';
const SCREENS = 'sign-in/screens.test.ts';
const CONFIG = 'config/sign-in.test.ts';

/** What the client or its person may rely on; the file below `test`, and the beginning of the title there. */
const SENTENCES: readonly (readonly [sentence: string, file: string, title: string])[] = [
  [
    'discovery gives absolute URLs on the origin of the base URL',
    GRANT,
    'gives absolute URLs at the address',
  ],
  [
    'discovery has no authorization endpoint, and names two grants',
    GRANT,
    'gives absolute URLs at the address',
  ],
  ['while it is off, no path of it exists', GRANT, 'is of no path while sign_in is off'],
  [
    'the public URL comes from the file, never from a forwarded header',
    GRANT,
    'names the public URL of the file',
  ],
  [
    'a code needs no client and no scope; unknown parameters are ignored',
    GRANT,
    'has 256 bits for the client',
  ],
  ['a device code has 256 bits, a user code eight of twenty letters', GRANT, 'has 256 bits for the client'],
  ['a code lasts 600 seconds, and is polled every five', GRANT, 'has 256 bits for the client'],
  ['the notice says what to run, in 500 characters at most', GRANT, 'has 256 bits for the client'],
  ['opening the link approves nothing', APPROVAL, 'approves by opening the link'],
  ['wrong codes are slowed down by address', APPROVAL, 'learns nothing but "unknown"'],
  ['a poll before the approval is authorization_pending', GRANT, 'waits until the owner approves it'],
  [
    'an approved code gives a bearer, its seconds, a refresh token and a name',
    GRANT,
    'waits until the owner approves it',
  ],
  ['a denied code is access_denied', GRANT, 'that the owner denied is access_denied'],
  ['unknown, used and expired codes are all expired_token', GRANT, 'that is unknown, used or expired'],
  ['a poll too soon is slow_down, and adds five seconds', GRANT, 'that is polled too soon'],
  ['a code is used once, whoever asks at once', CONTRACT, 'uses an approved code once'],
  ['a refresh gives a new pair', GRANT, 'are exchanged for new ones'],
  ['the access token of before lives to its own end', GRANT, 'are exchanged for new ones'],
  [
    'a spent refresh token is 401 invalid_grant, audited, and ends nothing',
    GRANT,
    'that were exchanged already',
  ],
  [
    'two who send one refresh token at the same second: one gets a pair',
    CONTRACT,
    'gives one of several who send',
  ],
  ['--expires ends the family', GRANT, 'end with --expires'],
  ['revocation, removal and renaming act at once', GRANT, 'end at once when the key is revoked'],
  [
    'a revoked or expired bearer is a 401 with x-should-retry: false',
    GRANT,
    'end at once when the key is revoked',
  ],
  [
    'the bearer alone ends the whole sign-in, also an earlier one',
    GRANT,
    'ends the whole sign-in by the bearer alone',
  ],
  ['/oauth/revoke ends no key of keys create', GRANT, 'never ends a key of keys create'],
  ['revocation answers 200 also for what is unknown', GRANT, 'never ends a key of keys create'],
  ['no redirect is ever sent', APPROVAL, 'redirects nowhere'],
  ['bodies are forms', APPROVAL, 'is asked with forms alone'],
  ['pages of another origin get nothing', APPROVAL, 'refuses pages of another origin'],
  ['codes that wait are bounded', APPROVAL, 'gives no more codes than may wait'],
  ['guesses of codes and tokens are slowed down', APPROVAL, 'slows down who guesses'],
  ['no code or token stands in the database or the log', APPROVAL, 'writes no secret'],
  ['a sign-in is a native client', GRANT, 'waits until the owner approves it'],
  ['a sign-in is one row of keys list, with its origin', APPROVE, 'approves a code for an account'],
  ['approve --json: account, tier, expires_at', APPROVE, 'gives a script what it approved'],
  [
    'approve --list --json: code, user_agent, address, created_at, expires_at',
    APPROVE,
    'lists the codes that wait',
  ],
  ['the owner approves and denies at /device, by a click', PAGE, 'approves by a click of the owner'],
  ['everybody else is told there what to do', PAGE, 'tells everybody else what to do'],
  ['the client shows our notice beside the code', SCREENS, 'shows the code, the page'],
  ['the client shows the account’s name, and /status too', SCREENS, 'asks the person to confirm'],
  ['a revoked sign-in shows our sentence, once', SCREENS, 'says why a revoked sign-in'],
  ['a code survives a restart', TOGETHER, 'outlives a restart'],
  ['two gateways on one PostgreSQL know one sign-in', TOGETHER, 'begins at one gateway'],
  ['workers know one sign-in, and people are kept apart', TOGETHER, 'keeps two people apart'],
  ['tokens go with an export', CONTRACT, 'goes with an export'],
  ['/managed/settings has uuid, checksum and settings', SETTINGS, 'is the file of the owner'],
  ['its checksum is that of sorted JSON, also the ETag; 304', SETTINGS, 'is the file of the owner'],
  ['no policy is a 404', SETTINGS, 'tells nothing where the vendor'],
  [
    'without the vendor’s names, auto and an effort are served',
    SETTINGS,
    'tells clients of a gateway without',
  ],
  ['the hint variable is never served unasked', SETTINGS, 'tells clients of a gateway without'],
  ['telemetry of a signed-in client is 200, in its own form', TELEMETRY, 'is taken from a client'],
  ['telemetry of everybody else is 404, without a key 401', TELEMETRY, 'is of no path for everybody'],
  ['nothing of it is kept unless telemetry is on', TELEMETRY, 'is not kept unless telemetry'],
  ['its counts of work join the conversation', TELEMETRY, 'joins the conversation of'],
  ['JSON and protobuf, differences', TELEMETRY, 'adds counts of commits'],
  ['JSON and protobuf, sums since a start', TELEMETRY, 'counts sums since a start'],
  ['its body is bounded, also when it is compressed', TELEMETRY, 'reads a compressed body'],
  ['nothing is kept of a malformed body', TELEMETRY, 'keeps nothing of a body'],
  ['nothing else than counts is kept', TELEMETRY, 'keeps counts and a hash alone'],
  ['counts go with an export, and with their account', WORK, 'goes with an export'],
  ['counts are pruned with usage', WORK, 'is pruned with usage'],
  ['conversations ID shows its counts', CONVERSATIONS, 'show what the agent says'],
  ['sign_in needs loopback or a URL with TLS', CONFIG, 'needs a listener on loopback'],
  ['connect --sign-in writes two settings, and takes them back', CONNECT, 'writes two settings and no key'],
];

it.each(SENTENCES)('%s', (_sentence, file, title) => {
  const text = readFileSync(join(import.meta.dirname, file), 'utf8');
  expect(text).toMatch(
    new RegExp(`it(?:\\.each\\([^]*?\\))?\\(\\s*['"\`]${title.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}`),
  );
});
