// Pictures of every view with realistic data, to be looked at: PAGE_SHOTS=FOLDER npx vitest run test/admin/shots. PAGE_VIEWS=usage,now and
// PAGE_WIDTHS=360 take a part of them, PAGE_LOOKS=light too, PAGE_SCREENS=9 longer ones. Without PAGE_SHOTS, nothing runs.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { gateway, type TestGateway } from '../../helpers/gateway.ts';
import { leave, openScene, STATES } from '../page-states.ts';
import { arrive, browserOfFile, chrome, go } from '../page-support.ts';
import { realisticGateway } from './realistic.ts';
import { addEvents, keepAsking, startWriter, teamConfig } from './team.ts';

const folder = process.env['PAGE_SHOTS'];
const list = (name: string): string[] | undefined => process.env[name]?.split(',');

const WIDTHS = list('PAGE_WIDTHS')?.map(Number) ?? [320, 360, 768, 1440, 2560];
const LOOKS = {
  light: { colorScheme: 'light', forcedColors: 'none' },
  dark: { colorScheme: 'dark', forcedColors: 'none' },
  forced: { colorScheme: 'dark', forcedColors: 'active' },
} as const;
/** Beside the states of `page-states.ts`: views of the data that is there. */
const PLACES = [
  'usage?since=30d&by=day',
  'usage?since=7d&by=model',
  'usage?since=7d&by=key',
  'requests?since=7d&errors=true',
  'connect?tool=claude',
];

describe.skipIf(chrome === undefined || folder === undefined)('pictures', { timeout: 1_200_000 }, () => {
  const { newContext } = browserOfFile();

  it('of every view', async () => {
    mkdirSync(folder ?? '', { recursive: true });
    const running = await realisticGateway({
      requests: Number(process.env['PAGE_REQUESTS'] ?? 100_000),
      config: teamConfig(await startWriter()),
    });
    await addEvents(running);
    await keepAsking(running);
    const page = await (await newContext()).newPage();
    const scene = await openScene(page, running);
    const wanted = list('PAGE_VIEWS');
    const missed: string[] = [];
    const states = {
      ...STATES,
      ...Object.fromEntries(PLACES.map((place) => [place, (to: Page) => go(to, place)])),
    };
    for (const [name, reach] of Object.entries(states)) {
      if (!(wanted?.includes(name) ?? true)) continue;
      await page.setViewportSize({ width: 1440, height: 1000 });
      try {
        await reach(page, scene);
        await shoot(page, name);
        await leave(page);
      } catch (error) {
        missed.push(`${name}: ${String(error).slice(0, 300)}`);
      }
    }
    await takeOthers(running, page, wanted);
    expect(missed).toEqual([]);
  });

  /** Those that no owner of a busy gateway sees. */
  async function takeOthers(running: TestGateway, owner: Page, wanted: string[] | undefined): Promise<void> {
    if (!(wanted?.includes('others') ?? true)) return;
    const page = await (await newContext()).newPage();
    await page.goto(`${running.url}/admin/`);
    await page.getByRole('heading', { name: 'With your own key' }).waitFor();
    await shoot(page, 'sign-in page');
    await page.getByLabel('Key', { exact: true }).fill(await running.newKey({ account: 'ada' }));
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'My account' }).waitFor();
    await page.locator('.loading').first().waitFor({ state: 'detached' });
    await shoot(page, 'member');
    const empty = await gateway({ config: { admin: true, providers: { sim: {} } } });
    await empty.store.removeAccount('test');
    await owner.goto(await empty.adminLink());
    await arrive(owner, 'now');
    for (const view of ['now', 'usage', 'requests', 'conversations', 'keys', 'limits']) {
      await go(owner, view);
      await shoot(owner, `empty ${view}`);
    }
    await empty.stop();
    await owner.getByRole('status').filter({ hasText: 'No connection' }).waitFor();
    await shoot(owner, 'no connection');
  }

  async function shoot(page: Page, place: string): Promise<void> {
    for (const [look, media] of Object.entries(LOOKS)) {
      if (!(list('PAGE_LOOKS')?.includes(look) ?? true)) continue;
      await page.emulateMedia(media);
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: width < 500 ? 780 : 1000 });
        await page.evaluate(
          () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
        );
        const name = `${place}-${width}-${look}`.replace(/\W+/g, '-');
        // The first screens: a table of hundreds of rows shows no more.
        const most = Number(process.env['PAGE_SCREENS'] ?? 3);
        const height = await page.evaluate(
          (screens) => Math.min(document.documentElement.scrollHeight, screens * innerHeight),
          most,
        );
        await page.screenshot({
          path: join(folder ?? '', `${name}.png`),
          clip: { x: 0, y: 0, width, height },
          fullPage: true,
        });
      }
    }
  }
});
