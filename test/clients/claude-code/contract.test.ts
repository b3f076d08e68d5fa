// What Claude Code expects of a gateway, sentence by sentence, each with the test that shows it. A new sentence is a row.
import { readFileSync } from 'node:fs';
import { join } from 'node:path/posix';
import { expect, it } from 'vitest';

const TESTS = join(import.meta.dirname, '../..');
const LIMITS = 'clients/claude-code/limits.test.ts';
const USAGE = 'clients/claude-code/usage.test.ts';
const OPEN = 'gateway/claude-code.test.ts';
const GRANT = 'sign-in/device-grant.test.ts';
const APPROVAL = 'sign-in/approval.test.ts';
const RUN = 'cli/run.test.ts';
const TOOLS = 'tools/tools.test.ts';

/** The sentence, the file, and the title of the test in it. */
const CONTRACT: readonly (readonly [sentence: string, file: string, title: string])[] = [
  // -- limits with an answer --
  ['an answer says how much of the fullest limit is used', LIMITS, 'tell how full the hour is'],
  [
    'a threshold stands there past 75 % and past 95 % alone',
    LIMITS,
    'with a threshold past 75 % and past 95 % alone',
  ],
  ['utilization stays below one while requests are let in', LIMITS, 'stay below one for the last request'],
  ['money counts as requests do, for each period', LIMITS, 'tell how full a limit of money is'],
  ['of several limits the fullest is told', LIMITS, 'tell the fullest of requests, tokens and money'],
  ['streams bear the same headers', LIMITS, 'stand at streams too'],
  [
    'the mark is at the key or comes with the request',
    LIMITS,
    'come to a key without the mark if the request bears it',
  ],
  ['without a limit there is no header', LIMITS, 'are left out where the account has no limit'],
  ["a provider's own limit headers never pass", LIMITS, "are the gateway's own, never a provider's"],
  // -- the end of a limit --
  ['the end is a billing error with one sentence', LIMITS, 'of requests is one sentence of a billing error'],
  ['an hour has no word for its period', LIMITS, 'without a word for the hour'],
  ['other periods are named', LIMITS, 'of money for a %s names the period'],
  ['the end is final, however short the wait', LIMITS, 'in the last minute of a window is final'],
  [
    'a client without the mark gets the usual 429',
    LIMITS,
    'has the form of today for a client without the mark',
  ],
  [
    'what requests under way hold may be tried again',
    LIMITS,
    'that is only held by requests under way is no end',
  ],
  // -- /usage --
  ['money is told in cents, with the period', USAGE, 'is told a limit of money for a %s in cents'],
  [
    'requests are told as requests, in hundredths',
    USAGE,
    'is told a limit of requests alone as hundredfold requests',
  ],
  ['tokens are told in their own unit', USAGE, 'is told a limit of tokens in their own unit'],
  [
    'without a limit the sums of day, week and month are told',
    USAGE,
    'is told what was spent where nothing is limited',
  ],
  [
    'it needs a key, and tells of its account alone',
    USAGE,
    'is told nothing of other accounts, and nothing without a key',
  ],
  // -- how it is started --
  [
    'a key of gateway run bears the mark where it is asked for, or where there is a limit',
    RUN,
    'shows limits where it is told to',
  ],
  [
    'the effort is sent beside the mark',
    TOOLS,
    'is told to show limits, and to send its effort all the same',
  ],
  ['an effort beside a budget wins', 'translation/reasoning.test.ts', 'an effort beside a budget wins'],
  // -- what must not be done --
  ['`Input is too long.` stays that sentence alone', OPEN, "keeps the vendors' sentence alone"],
  ['it stays so in the middle of a stream', OPEN, 'in the middle of a stream'],
  [
    'other words of an overflow are told in those that agents look for',
    OPEN,
    'in more words is told in those that agents look for',
  ],
  [
    'safeguards and their results pass unchanged',
    OPEN,
    'reach a messages provider, and their results come back',
  ],
  [
    'where no target takes safeguards, a 400 names them',
    OPEN,
    'are a 400 that names them where no target takes them',
  ],
  ['that 400 comes before the request counts', OPEN, 'before the request counts'],
  [
    'a target of the route that takes safeguards answers',
    OPEN,
    'are answered by a target of the route that takes them',
  ],
  ['safeguards that ask for nothing are no loss', OPEN, 'that ask for nothing are no loss'],
  [
    "the vendor's own headers pass, credentials do not",
    OPEN,
    'reach a messages provider, all but credentials',
  ],
  ['they pass with a count of tokens too', OPEN, 'reach it for a count too'],
  ['tags and their beta reach their vendor', OPEN, 'and their beta reach the preset of their vendor'],
  ['tags are no loss elsewhere', OPEN, 'are no loss towards a provider of another protocol'],
  // -- sign-in --
  [
    'discovery gives absolute URLs and no authorization endpoint',
    GRANT,
    'gives absolute URLs at the address that was asked',
  ],
  ['the public URL is the one of the file', GRANT, 'names the public URL of the file'],
  ['a device code has 256 bits, a user code eight letters of twenty', GRANT, 'has 256 bits for the client'],
  ['a code is good for one key', GRANT, 'then its client gets a key, once'],
  ['a denied code is access_denied', GRANT, 'that the owner denied is access_denied'],
  [
    'unknown, used and expired codes are expired_token',
    GRANT,
    'that is unknown, used or expired is expired_token',
  ],
  ['who polls too soon is slowed down', GRANT, 'that is polled too soon slows its client down'],
  ['a token before a refresh lives to its own end', GRANT, 'those of before live to their own end'],
  [
    'a spent refresh token is refused, and the sign-in goes on',
    GRANT,
    'that were exchanged already are refused',
  ],
  ['revoking the bearer alone ends the whole sign-in', GRANT, 'ends the whole sign-in by the bearer alone'],
  ['sign-out never ends a key of keys create', GRANT, 'never ends a key of keys create'],
  ['opening the link alone approves nothing', APPROVAL, 'approves by opening the link'],
  ['guessing is slowed down', APPROVAL, 'slows down who guesses codes and tokens'],
];

it.each(CONTRACT)('%s', (_, file, title) => {
  const text = readFileSync(join(TESTS, file), 'utf8');
  expect(text.replaceAll("\\'", "'")).toContain(title);
});

it('has forty sentences or more, each once', () => {
  const sentences = CONTRACT.map(([sentence]) => sentence);
  expect(new Set(sentences).size).toBe(sentences.length);
  expect(sentences.length).toBeGreaterThanOrEqual(40);
});
