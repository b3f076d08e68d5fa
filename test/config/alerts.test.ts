// `alerts`: which receivers are right, what is hidden of them, and what a folder's file says of them before its owner agrees.
import { describe, expect, it } from 'vitest';
import { effectiveValues } from '../../src/config/effective.ts';
import { reachOf } from '../../src/config/trust/reach.ts';
import { faultsOf, load, tempFolder, write } from './folder.ts';

const file = (alerts: string): string => `providers:\n  sim:\nalerts: ${alerts}\n`;
const HOOK = 'https://hooks.example.com/services/T0P-SECRET';

it('are an address and a secret from a variable, or none', () => {
  const env = { HUSH: ' hush ', HOOK };
  expect(load(file(`{ url: "${HOOK}", secret: "\${HUSH}" }`), { env }).alerts).toEqual({
    url: HOOK,
    secret: 'hush',
  });
  expect(load(file('{ url: "${HOOK}" }'), { env }).alerts).toEqual({ url: HOOK, secret: undefined });
  expect(load('providers:\n  sim:\n').alerts).toBeNull();
});

const URL_FAULT = 'is not the URL of a receiver of alerts; write one like https://alerts.example.com/gateway';

describe('what is wrong with them', () => {
  it.each([
    ['https://a.example', 'gateway.yaml:3 alerts: is not a mapping; write { url: https://… }'],
    [
      '{ secret: x }',
      'gateway.yaml:3 alerts.url: is missing; write one like https://alerts.example.com/gateway',
    ],
    ['{ url: "ftp://a.example" }', `gateway.yaml:3 alerts.url: ${URL_FAULT}`],
    ['{ url: "https:a.example" }', `gateway.yaml:3 alerts.url: ${URL_FAULT}`],
    ['{ url: "https://me:T0P@a.example/" }', `gateway.yaml:3 alerts.url: ${URL_FAULT}`],
    [
      '{ url: "https://a.example", secret: "a b" }',
      'gateway.yaml:3 alerts.secret: is not a secret that can be in a header; write ${NAME} of the environment variable that holds it',
    ],
    [
      '{ url: "https://a.example", secrte: x }',
      'gateway.yaml:3 alerts.secrte: is not a known key; did you mean secret?',
    ],
  ])('%s', (alerts, line) => {
    expect(faultsOf(file(alerts))).toEqual([line]);
  });

  it('a variable that is not set is a fault: without its secret, an alert would be refused', () => {
    expect(faultsOf(file('{ url: "https://a.example", secret: "${HUSH}" }')).join()).toContain(
      'alerts.secret',
    );
    expect(faultsOf(file('{ url: "https://a.example", secret: "${HUSH}" }')).join()).toContain('HUSH');
  });
});

it('are shown without the path of the address, which may be a secret, and without the secret', () => {
  const env = { HUSH: 'hush' };
  const shown = (alerts: string) => {
    const cwd = tempFolder();
    const flags = { config: write(cwd, 'gateway.yaml', file(alerts)) };
    return effectiveValues({ cwd, flags, env }).values.filter(({ key }) => key.startsWith('alerts'));
  };
  expect(shown(`{ url: "${HOOK}", secret: hush }`).map(({ key, value }) => [key, value])).toEqual([
    ['alerts.url', 'https://hooks.example.com/…'],
    ['alerts.secret', 'set'],
  ]);
  expect(shown('{ url: "https://a.example", secret: "${HUSH}" }').map(({ value }) => value)).toEqual([
    'https://a.example',
    '${HUSH}',
  ]);
});

it('are among the hosts and variables to which the owner of a folder agrees', () => {
  const alerts = { url: HOOK, secret: '${HUSH}' };
  expect(reachOf({ providers: { sim: null }, alerts })).toMatchObject({
    hosts: ['hooks.example.com'],
    variables: ['HUSH'],
  });
});
