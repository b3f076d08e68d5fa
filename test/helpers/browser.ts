// A real browser for tests of the page: whatever Chrome or Chromium the machine has.
import { accessSync, constants } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, join } from 'node:path';
import type Playwright from 'playwright-core';
import type { Browser } from 'playwright-core';

// Through `import`, Node would first read all of it for the names of its exports.
const load = createRequire(import.meta.url);

/** The headless shell first: it does the same with a fifth less processor time. */
const NAMES = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
  'chrome',
];
const APPLICATIONS = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];

const canRun = (file: string): boolean => {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

/** `CHROME_PATH`, else the first in PATH. undefined: the machine has none. */
export function findBrowser(): string | undefined {
  const { CHROME_PATH, PATH = '' } = process.env;
  const inPath = PATH.split(delimiter).flatMap((folder) => NAMES.map((name) => join(folder, name)));
  return [CHROME_PATH ?? '', ...inPath, ...APPLICATIONS].find((file) => file !== '' && canRun(file));
}

/**
 * The list of the driver, which one of the caller's own replaces, and the pages behind the address bar: the browser loads both of them
 * for each window, which takes half of its processor time.
 */
const UNUSED_FEATURES = [
  'DestroyProfileOnBrowserClose',
  'HttpsUpgrades',
  'HttpsFirstBalancedModeAutoEnable',
  'LensOverlay',
  'MediaRouter',
  'PaintHolding',
  'ThirdPartyStoragePartitioning',
  'OptimizationHints',
  'NetworkTimeServiceQuerying',
  'AimEnabled',
  'PreconnectToSearch',
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
];

/** `rules`: names that the browser takes for other addresses, as `--host-resolver-rules` has them. */
export async function startBrowser(executablePath: string, rules = ''): Promise<Browser> {
  const { chromium } = load('playwright-core') as typeof Playwright;
  return chromium.launch({
    executablePath,
    timeout: 60_000,
    args: [
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      `--disable-features=${UNUSED_FEATURES.join(',')}`,
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
      ...(rules === '' ? [] : [`--host-resolver-rules=${rules}`]),
    ],
  });
}
