// Pictures of every view with realistic data, to be looked at: PAGE_SHOTS=FOLDER npx vitest run test/admin/shots. PAGE_VIEWS=usage,now and
// PAGE_WIDTHS=360 take a part of them, PAGE_LOOKS=light too. Without PAGE_SHOTS, nothing runs.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { TestGateway } from '../../helpers/gateway.ts';
import { arrive, browserOfFile, chrome, HEADINGS } from '../page-support.ts';
import { realisticGateway } from './realistic.ts';

const folder = process.env['PAGE_SHOTS'];
const list = (name: string): string[] | undefined => process.env[name]?.split(',');

const WIDTHS = list('PAGE_WIDTHS')?.map(Number) ?? [360, 768, 1440, 2560];
const LOOKS = {
  light: { colorScheme: 'light', forcedColors: 'none' },
  dark: { colorScheme: 'dark', forcedColors: 'none' },
  forced: { colorScheme: 'dark', forcedColors: 'active' },
} as const;
/** Beside each view as it is at first. */
const PLACES = [
  'usage?since=30d&by=day',
  'usage?since=7d&by=model',
  'usage?since=7d&by=account',
  'usage?since=7d&by=key',
  'requests?since=7d&errors=true',
  'requests/',
  'connect?tool=claude',
];

describe.skipIf(chrome === undefined || folder === undefined)('pictures', { timeout: 1_200_000 }, () => {
  const { newContext } = browserOfFile();

  it('of every view', async () => {
    const running = await realisticGateway();
    startRequests(running);
    const page = await (await newContext()).newPage();
    await page.goto(await running.adminLink());
    await arrive(page, 'now');
    const [request] = (await running.store.listRequests({ limit: 200 })).filter(
      ({ detail }) => detail !== null,
    );
    const views = list('PAGE_VIEWS');
    const places = [...Object.keys(HEADINGS), ...PLACES].filter(
      (place) => views?.includes(place.split(/[/?]/)[0] ?? '') ?? true,
    );
    mkdirSync(folder ?? '', { recursive: true });
    for (const place of places) {
      const whole = place === 'requests/' ? `requests/${request?.requestId}` : place;
      await page.evaluate(`location.hash = ${JSON.stringify(`#/${whole}`)}`);
      await arrive(page, whole);
      await shoot(page, place);
    }
    // What was written stands on the disk.
    expect(places.length).toBeGreaterThan(0);
  });

  async function shoot(page: Page, place: string): Promise<void> {
    for (const [look, media] of Object.entries(LOOKS)) {
      if (!(list('PAGE_LOOKS')?.includes(look) ?? true)) continue;
      await page.emulateMedia(media);
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: width < 500 ? 780 : 1000 });
        await page.evaluate(
          () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
        );
        const name = `${place === 'requests/' ? 'request' : place}-${width}-${look}`.replace(/\W+/g, '-');
        // The first screens: a table of hundreds of rows shows no more.
        const height = await page.evaluate(() =>
          Math.min(document.documentElement.scrollHeight, 3 * innerHeight),
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

/** Streams under way, and some that fail at the provider that is down. */
function startRequests({ url, key }: TestGateway): void {
  const stop = new AbortController();
  const ask = (model: string): Promise<unknown> =>
    fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model,
        stream: true,
        messages: [{ role: 'user', content: 'Say something. '.repeat(40) }],
      }),
      signal: stop.signal,
    })
      .then((response) => response.text())
      .catch(() => undefined);
  for (let turn = 0; turn < 6; turn += 1) void ask('local');
  const again = (): void => {
    if (!stop.signal.aborted) void ask('sim/slow').then(again);
  };
  for (let turn = 0; turn < 5; turn += 1) again();
  onTestFinished(() => stop.abort());
}
