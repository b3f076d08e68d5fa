// The states that the page can be in, each reached as a person reaches it: views, dialogs, menus, drafts, answers, failures. For what must
// be true of all of them.
import type { APIResponse, Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import type { TestGateway } from '../helpers/gateway.ts';
import { askForCode } from '../sign-in/support.ts';
import { arrive, go, HEADINGS } from './page-support.ts';
import { realisticGateway } from './shots/realistic.ts';

export interface Scene {
  gateway: TestGateway;
  page: Page;
  /** Their ids. */
  request: string;
  failed: string;
  conversation: string;
  stopped: string;
}

type State = (page: Page, scene: Scene) => Promise<void>;

/** A gateway with something of everything, and the owner's page of it. `running`: one that is asked already. */
export async function openScene(page: Page, running?: TestGateway): Promise<Scene> {
  const gateway = running ?? (await realisticGateway({ requests: 2000, config: { sign_in: 'on' } }));
  if (running === undefined) {
    await askForCode(gateway);
    keepAsking(gateway);
  }
  await page.goto(await gateway.adminLink());
  await arrive(page, 'now');
  const rows = await gateway.store.listRequests({ limit: 1000 });
  const { data } = await page.evaluate<{ data: { id: string; stopped: string | null; subagents: number }[] }>(
    `fetch('/admin/api/v1/conversations?since=90d&limit=200').then((answer) => answer.json())`,
  );
  return {
    ...{ gateway, page },
    request: rows.find(({ detail }) => detail !== null)?.requestId ?? '',
    failed: rows.find(({ error }) => error !== null)?.requestId ?? '',
    // The more agents, the more there is to see.
    conversation: data.toSorted((one, other) => other.subagents - one.subagents)[0]?.id ?? '',
    stopped: data.find(({ stopped }) => stopped !== null)?.id ?? '',
  };
}

/** Two requests are always under way. */
function keepAsking({ url, key }: TestGateway): void {
  const stop = new AbortController();
  const body = {
    ...{ model: 'sim/slow', stream: true },
    messages: [{ role: 'user', content: 'Say something. '.repeat(400) }],
  };
  const ask = async (): Promise<void> => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify(body), signal: stop.signal };
    while (!stop.signal.aborted)
      await fetch(`${url}/v1/chat/completions`, init)
        .then((answer) => answer.text())
        .catch(() => undefined);
  };
  void ask();
  void ask();
  onTestFinished(() => stop.abort());
}

const place =
  (text: string): State =>
  (page) =>
    go(page, text);

/** The place, then a press of each name, which may lead to a dialog. */
const pressed =
  (text: string, ...names: RegExp[]): State =>
  async (page) => {
    await go(page, text);
    for (const name of names) await page.getByRole('button', { name }).first().click();
  };

const chosen =
  (menu: RegExp, item: string): State =>
  async (page) => {
    await pressed('keys', menu)(page, undefined as never);
    await page.locator('.menu').getByText(item, { exact: true }).click();
    await page.getByRole('dialog').waitFor();
  };

const tried =
  (model: string, end: string): State =>
  async (page) => {
    await go(page, 'try');
    await page.getByLabel('Model').fill(model);
    await page.getByLabel('Prompt', { exact: true }).fill('hello');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('region', { name: 'Answer' }).getByText(end).waitFor();
    for (const summary of await page.locator('main details summary').all()) await summary.click();
  };

const found =
  (text: string, status: RegExp): State =>
  async (page) => {
    await go(page, 'connect');
    await page.getByRole('combobox', { name: 'Search' }).fill(text);
    await page.getByRole('status').filter({ hasText: status }).waitFor();
  };

async function newKey(page: Page): Promise<void> {
  await pressed('keys', /^Create a key$/)(page, undefined as never);
  await page.getByRole('dialog').getByLabel('Account', { exact: true }).fill('ada');
  await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
  await page.getByRole('dialog', { name: 'Your new key' }).waitFor();
}

/** The youngest one, as it is now: it must not end while it is looked at. */
async function underWay(page: Page): Promise<void> {
  await go(page, 'now');
  const row = page.getByRole('table', { name: 'Requests in flight' }).getByRole('row').last();
  const link = row.getByRole('link').first();
  const id = /req_\w+/.exec((await link.getAttribute('href')) ?? '')?.[0] ?? '';
  let first: APIResponse | undefined;
  await page.route(`**/requests/${id}`, async (route) => {
    first ??= await route.fetch();
    await route.fulfill({ response: first });
  });
  await go(page, `requests/${id}`);
  await page
    .locator('.outcome')
    .getByText(/^In flight/)
    .waitFor();
}

/** An answer of the API in place of the real one; `undefined`: none comes. */
const answered =
  (path: string, text: string, reply: object | undefined): State =>
  async (page) => {
    await page.route(`**${path}*`, (route) => (reply === undefined ? undefined : route.fulfill(reply)));
    await page.evaluate(`location.hash = ${JSON.stringify(`#/${text}`)}`);
    await (reply === undefined ? page.getByRole('progressbar') : page.getByRole('alert')).first().waitFor();
    // A load would go on.
    if (reply !== undefined) await page.unroute(`**${path}*`);
  };

const AWAY = {
  status: 503,
  contentType: 'application/problem+json',
  body: JSON.stringify({ code: 'database_away', detail: 'the database cannot be used now' }),
};

export const STATES: Readonly<Record<string, State>> = {
  ...Object.fromEntries(Object.keys(HEADINGS).map((view) => [view, place(view)])),
  ...Object.fromEntries(
    ['account', 'key', 'label', 'day'].map((by) => [`usage by ${by}`, place(`usage?since=30d&by=${by}`)]),
  ),
  'usage of nobody': place('usage?since=30d&account=nobody'),
  'a range of usage': place('usage?since=2026-11-01T00:00:00.000Z&until=2026-11-08T00:00:00.000Z'),
  'requests with more filters, live': place('requests?since=30d&endpoint=chat&live=true'),
  'requests of nobody': place('requests?since=30d&account=nobody'),
  'a request': (page, { request }) => go(page, `requests/${request}`),
  'a failed request': (page, { failed }) => go(page, `requests/${failed}`),
  'a request under way': underWay,
  async 'no such request'(page) {
    await page.evaluate(`location.hash = '#/requests/req_nothing'`);
    await page
      .getByRole('alert')
      .getByText(/^No request/)
      .waitFor();
  },
  conversations: place('conversations?since=30d'),
  'a conversation': (page, { conversation }) => go(page, `conversations/${conversation}`),
  'a stopped conversation': (page, { stopped }) => go(page, `conversations/${stopped}`),
  'let it go on': (page, scene) => pressed(`conversations/${scene.stopped}`, /^Let it go on$/)(page, scene),
  'raise a limit': pressed('limits', /^Raise/),
  'revoke a grant': pressed('limits?order=oldest', /^Revoke/),
  'keys of every state': place('keys?state=all'),
  'no key fits': place('keys?find=nothing+fits'),
  async 'create a key'(page, scene) {
    await pressed('keys', /^Create a key$/)(page, scene);
    await page.getByLabel('every model').uncheck();
    await page.getByLabel('Expires').selectOption('date');
    await page.getByRole('group', { name: 'Models that it may use' }).getByRole('checkbox').first().check();
  },
  'a new key': newKey,
  async 'a new key that was not copied'(page) {
    await newKey(page);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Close without it' }).waitFor();
  },
  rotate: chosen(/^Actions of the key/, 'Rotate'),
  'revoke a key': chosen(/^Actions of the key/, 'Revoke'),
  rename: chosen(/^Actions of the account/, 'Rename'),
  remove: chosen(/^Actions of the account/, 'Remove'),
  'menu of an account': pressed('keys', /^Actions of the account/),
  'menu of the colours': pressed('audit', /^Colours$/),
  async 'draft of a tier'(page) {
    await go(page, 'keys?find=grace');
    await page.getByLabel('Tier of grace').selectOption('free');
    await page.getByRole('button', { name: /^Save the tier/ }).waitFor();
  },
  async 'an account unfolded'(page) {
    await go(page, 'keys');
    await page
      .getByRole('table', { name: /^Accounts/ })
      .getByRole('button', { expanded: false })
      .first()
      .click();
    await page.getByRole('table', { name: /^Valid keys of/ }).waitFor();
  },
  'approve a sign-in': pressed('sign-ins', /^Approve/),
  'deny a sign-in': pressed('sign-ins', /^Deny/),
  async 'a model unfolded'(page) {
    await go(page, 'models');
    await page.locator('button.unfold').first().click();
    await page.locator('tr.unfolded').waitFor();
  },
  async 'an audit row unfolded'(page) {
    await go(page, 'audit');
    await page.locator('button.unfold').first().click();
    await page.locator('tr.unfolded').waitFor();
  },
  'an answer of Try it': tried('sim/echo', 'Done'),
  'a failure of Try it': tried('nothing/at-all', 'Failed'),
  async 'a result of Compare'(page) {
    await go(page, 'compare');
    await page.getByLabel('Model').fill('sim/echo');
    await page.getByLabel('Against').fill('sim/slow');
    await page.getByLabel('Or the body of a request').fill('{"messages":[{"role":"user","content":"x"}]}');
    await page.getByRole('button', { name: 'Send to both' }).click();
    await page.getByRole('region', { name: 'Both answers' }).getByText(/text$/).first().waitFor();
  },
  'results of the search': found('a', /found$/),
  'no results of the search': found('nothing fits', /^Nothing found$/),
  'a load that failed': answered('/usage/summary', 'usage?since=1h', AWAY),
  'a load that takes long': answered('/audit', 'audit?since=30d', undefined),
};

/** Closes what is open: dialogs, menus, drafts. */
export async function leave(page: Page): Promise<void> {
  await page.unrouteAll();
  for (let turn = 0; turn < 2; turn += 1) await page.keyboard.press('Escape');
  const unsaved = page.getByRole('button', { name: 'Close without it' });
  await expect
    .poll(async () => {
      if (await unsaved.isVisible()) await unsaved.click();
      return page.locator('dialog').count();
    })
    .toBe(0);
}
