import fc from "fast-check";
import type { Page } from "playwright";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { getSharedBrowser } from "../support/browser.ts";
import { type QuickStudio, startQuickStudio } from "../support/quick-studio.ts";
import { readRuns } from "../support/seed.ts";
import { reopenStudio, type StudioPage } from "../support/studio-page.ts";
import { hasChromium } from "../support/studio-suite.ts";

const MISSING = "This chat is not in this browser.";

/** Parts of addresses that links, mail programs and people make. */
const parts = [
  "%",
  "%E0%A4%A",
  "%zz",
  "%00",
  "%2F..%2F",
  "%F0%9F%92%A9",
  "__proto__",
  "constructor",
  "toString",
  "undefined",
  "chat",
  "images",
  "Videos",
  "a b",
  "ä/ö",
  "\u202Eabc",
  "\u{1F4A9}",
  "?x=1",
  "#",
  "&",
  "<img src=x onerror=alert(1)>",
  "javascript:alert(1)",
  "'\"`",
  "-",
  "..",
  "0",
  "NaN",
  "task_1",
  "asset://1",
];

/** Number of addresses that the page opens in one go. */
const PART = 50;
/** Frames within which a page shows its heading. */
const MAX_FRAMES = 300;

/** Runs in the page: opens each address, and returns the addresses without a page with one heading. */
async function findUnusable([hashes, maxFrames]: readonly [readonly string[], number]): Promise<
  readonly string[]
> {
  const nextFrame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const countHeadings = () =>
    [...document.querySelectorAll("main h1")].filter((heading) => heading.checkVisibility()).length;
  const unusable = [];
  for (const hash of hashes) {
    const before = location.href;
    const changed = new Promise((resolve) => addEventListener("hashchange", resolve, { once: true }));
    location.hash = hash;
    if (location.href !== before) await changed;
    await nextFrame();
    for (let frame = 0; countHeadings() !== 1 && frame < maxFrames; frame += 1) await nextFrame();
    if (countHeadings() !== 1) unusable.push(hash);
  }
  return unusable;
}

describe.skipIf(!hasChromium)("addresses of the studio in Chromium (skipped where there is none)", () => {
  let server: QuickStudio;
  let studio: StudioPage;
  let page: Page;

  beforeAll(async () => {
    server = await startQuickStudio({ speed: Number.POSITIVE_INFINITY });
  }, 60_000);
  afterAll(() => server.close());
  beforeEach(async () => {
    server.emulator.reset();
    studio = await reopenStudio(await getSharedBrowser(), server.address);
    page = studio.page;
  });
  afterEach(async () => {
    await studio.close();
    expect(studio.problems).toEqual([]);
  });

  const note = () => page.getByRole("status").filter({ hasText: MISSING });
  const go = (hash: string) =>
    page.evaluate((it) => {
      location.hash = it;
    }, hash);

  test.each(["#/chat/%", "#/chat/%E0%A4%A", "#/chat/abc-not-here", "#/chat/__proto__"])(
    "A page that is opened at %s says that this chat is not here, and a question begins it",
    async (hash) => {
      await page.goto("about:blank");
      await page.goto(`${server.address}/${hash}`);
      await note().waitFor();
      expect(page.url()).toContain(hash);
      await studio.sendMessage("Hello");
      await studio.findReply().getByRole("button", { name: "Regenerate" }).waitFor();
      await expect.poll(() => note().count()).toBe(0);
      expect(studio.bodies).toHaveLength(1);
    },
  );

  test("A chat that was begun here is never shown as missing, also before its first response", async () => {
    const release = await studio.hold("**/v1/chat/completions");
    await studio.sendMessage("Hello");
    await page.getByRole("button", { name: "Stop" }).click();
    await release();
    await expect.poll(() => note().count()).toBe(0);
    await page.reload();
    await page.getByRole("article", { name: "Your message" }).waitFor();
    await expect.poll(() => note().count()).toBe(0);
  });

  test("500 addresses of any kind show a page that can be used, in a running page", async () => {
    const part = fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom(...parts) },
      fc.string({ unit: "grapheme" }),
    );
    const room = fc.constantFrom("chat", "chat", "chat", "images", "videos", "assets", "Chat", ...parts);
    const id = fc.oneof(
      { weight: 20, arbitrary: fc.array(part, { maxLength: 3 }).map((all) => all.join("")) },
      fc.constant("x".repeat(100_000)),
    );
    const address = fc
      .tuple(fc.constantFrom("#/", "#", "#//"), room, fc.array(id, { maxLength: 2 }))
      .map(([start, name, ids]) => start + [name, ...ids].join("/"));
    const hashes = fc.sample(address, readRuns(500));
    // in parts, so that a problem of the page is near its address
    for (let start = 0; start < hashes.length; start += PART) {
      const part = hashes.slice(start, start + PART);
      const at = JSON.stringify(part);
      expect(await page.evaluate(findUnusable, [part, MAX_FRAMES] as const), at).toEqual([]);
      expect(studio.problems, at).toEqual([]);
    }
    await go("#/chat");
    await page.getByRole("region", { name: "Welcome" }).waitFor();
    await studio.sendMessage("Hello");
    await studio.findReply().waitFor();
  });

  test("Addresses of any kind show a page that can be used, where a page is opened at them", async () => {
    for (const part of parts) {
      await page.goto("about:blank");
      await page.goto(`${server.address}/#/chat/${part}`);
      await studio.field.waitFor();
      expect(studio.problems, part).toEqual([]);
    }
  });
});
