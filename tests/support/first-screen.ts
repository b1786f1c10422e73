import { gzipSync } from "node:zlib";
import type { Page } from "playwright";

declare global {
  /** Time at which one could write, in milliseconds since the navigation. */
  var writableAt: number | undefined;
}

/** Maximum bytes of compressed scripts that the studio requests until a user can write. */
export const MAX_SCRIPT_BYTES = 120_000;

/** The load of the studio until the user can write. */
export interface FirstScreen {
  /** Number of requests until then, including the page. */
  readonly requests: number;
  /** Size of the responses as sent, in bytes. */
  readonly bytes: number;
  /** Addresses of the scripts among them. */
  readonly scripts: readonly string[];
}

/** Measures a load. `load` starts it in a page without a cache. */
export async function measureFirstScreen(page: Page, load: () => Promise<unknown>): Promise<FirstScreen> {
  await page.addInitScript(noteWritable);
  await load();
  await page.waitForFunction(() => globalThis.writableAt !== undefined);
  return page.evaluate(() => {
    const resources = ["navigation", "resource"].flatMap(
      (type) => performance.getEntriesByType(type) as PerformanceResourceTiming[],
    );
    const before = resources.filter(({ startTime }) => startTime <= (globalThis.writableAt ?? 0));
    return {
      requests: before.length,
      bytes: before.reduce((sum, { transferSize }) => sum + transferSize, 0),
      scripts: before.map(({ name }) => name).filter((name) => name.endsWith(".js")),
    };
  });
}

/** Runs in the page: records the time at which the text field appears. */
function noteWritable(): void {
  const observer = new MutationObserver(() => {
    if (!document.querySelector("textarea:enabled")) return;
    globalThis.writableAt ??= performance.now();
    observer.disconnect();
  });
  observer.observe(document, { childList: true, subtree: true });
}

/** Loads files, and returns their size together, compressed. */
export async function measureCompressedSize(urls: readonly string[]): Promise<number> {
  const sizes = await Promise.all(urls.map(async (url) => gzipSync(await (await fetch(url)).bytes()).length));
  return sizes.reduce((sum, size) => sum + size, 0);
}
