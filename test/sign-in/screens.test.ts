// What Claude Code 2.1.332 showed of a sign-in at this gateway, kept as text: our own words in it are still what the gateway sends.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { NOT_VALID } from '../../src/accounts/access.ts';
import { gateway } from '../helpers/gateway.ts';
import { LAPTOP, post, signedIn } from './support.ts';

/** The screen as one line, without frames. */
function screen(name: string): string {
  const text = readFileSync(join(import.meta.dirname, 'screens', `${name}.txt`), 'utf8');
  return text.replace(/[│✶✢✔✘●]/g, ' ').replace(/\s+/g, ' ');
}

it('shows the code, the page, and what the owner has to run', async () => {
  const gw = await gateway({ config: { sign_in: 'on' } });
  const { json } = await post(gw, '/oauth/device_authorization');
  const shown = screen('code');
  const [code = ''] = /[A-Z]{4}-[A-Z]{4}/.exec(shown) ?? [];
  expect(shown).toContain(String(json['login_notice']).replaceAll(String(json['user_code']), code));
  expect(shown).toContain('/device');
});

it('asks the person to confirm the account, by the name that the gateway gives', async () => {
  const gw = await gateway({ config: { sign_in: 'on' } });
  const { email } = await signedIn(gw, LAPTOP);
  expect(screen('confirm')).toContain(`Signed in to Cloud gateway as ${String(email)}`);
  expect(screen('status')).toContain(`Gateway account: ${String(email)}`);
  expect(screen('connected')).toContain('Using auto (from managed settings)');
});

it('says why a revoked sign-in is refused, once', () => {
  expect(screen('revoked')).toContain(`Please run /login · API Error: 401 ${NOT_VALID}`);
});
