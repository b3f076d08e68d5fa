// One sign-in over several processes: two gateways on one PostgreSQL, a restart between code and approval, two people at once, and workers.
import { expect, it } from 'vitest';
import { gateway } from '../helpers/gateway.ts';
import { temporaryDatabase } from '../helpers/postgres.ts';
import { home } from '../helpers/process.ts';
import { askForCode, LAPTOP, owner, poll, post, prompt, refresh } from './support.ts';

it('begins at one gateway, is approved at another, ends at both: on one PostgreSQL', async () => {
  const { url: database } = await temporaryDatabase();
  const config = { sign_in: 'on', database };
  const [one, two] = [await gateway({ config }), await gateway({ config })];
  const code = await askForCode(one);
  expect((await owner(two).waiting()).map((waiting) => waiting.code)).toEqual([code.user_code]);
  await owner(two).approve(code.user_code, LAPTOP);
  const answers = await Promise.all([poll(one, code), poll(two, code)]);
  const given = answers.filter(({ status }) => status === 200);
  expect(given).toHaveLength(1);
  const tokens = given[0]?.json ?? {};
  for (const at of [one, two]) expect((await prompt(at, tokens['access_token'])).status).toBe(200);
  const next = await refresh(two, tokens['refresh_token']);
  expect((await prompt(one, next.json['access_token'])).status).toBe(200);
  expect((await refresh(one, tokens['refresh_token'])).json['error']).toBe('invalid_grant');
  await post(one, '/oauth/revoke', { token: String(tokens['access_token']) });
  // The other one learns of it by the database's announcement.
  await expect.poll(async () => (await prompt(two, next.json['access_token'])).status).toBe(401);
});

it('outlives a restart between code and approval, whichever process approves', async () => {
  const shell = home();
  shell.configure({ providers: { sim: {} }, sign_in: 'on' });
  const first = await shell.serve();
  const code = await askForCode(first);
  first.child.kill('SIGTERM');
  await first.ended;
  const approved = await shell.command('approve', code.user_code, '--account', 'laptop');
  expect(approved.stdout).toContain(`${code.user_code} is approved`);
  const second = await shell.serve();
  const tokens = await poll(second, code);
  expect(tokens.json).toMatchObject({ email: 'laptop' });
  expect((await prompt(second, tokens.json['access_token'])).status).toBe(200);
});

it('keeps two people apart who sign in at once, with workers', async () => {
  const shell = home();
  shell.configure({ providers: { sim: {} }, sign_in: 'on' });
  const server = await shell.serve('--workers', '2');
  const [ann, bob] = [await askForCode(server), await askForCode(server)];
  expect((await shell.command('approve', '--list')).stdout).toContain(ann.user_code);
  await shell.command('approve', bob.user_code, '--account', 'bob');
  await shell.command('approve', ann.user_code, '--account', 'ann');
  const [forAnn, forBob] = [await poll(server, ann), await poll(server, bob)];
  expect([forAnn.json['email'], forBob.json['email']]).toEqual(['ann', 'bob']);
  await post(server, '/oauth/revoke', { token: String(forAnn.json['access_token']) });
  // Connections go to either worker.
  for (let at = 0; at < 4; at += 1) {
    expect((await prompt(server, forAnn.json['access_token'])).status).toBe(401);
    expect((await prompt(server, forBob.json['access_token'])).status).toBe(200);
  }
});
