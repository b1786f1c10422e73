import type { Page } from "playwright";
import { describe, expect, test } from "vitest";
import { findProblems } from "../support/axe.ts";
import { hasChromium, MINUTE, openRoom, PNG, type StudioSuite } from "../support/studio-suite.ts";

/*
 * Images and videos are shared as files: with an app if the browser can share files, else by saving them. Chromium on
 * Linux can't, so the tests replace its function.
 */

declare global {
  /** Files that were handed to an app: name, type, and bytes as text. */
  var shared: string[][];
}

/** Runs in the page: a browser that hands files to apps, but no JSON. */
function shareFiles(): void {
  globalThis.shared = [];
  Object.assign(Navigator.prototype, {
    canShare: ({ files = [] }: ShareData) => files.length > 0,
    async share({ files = [], ...rest }: ShareData) {
      if (Object.keys(rest).length > 0) throw new TypeError("a link, or words");
      for (const file of files) {
        if (!/^(?:text\/plain|image\/|video\/)/.test(file.type))
          throw new DOMException("Permission denied", "NotAllowedError");
        globalThis.shared.push([file.name, file.type, await file.text()]);
      }
    },
  });
}

async function useSharing(studio: StudioSuite): Promise<void> {
  studio.spend();
  await studio.page.addInitScript(shareFiles);
  await studio.page.reload();
}

const readSharedFiles = (page: Page) => page.evaluate(() => globalThis.shared);
const named = (page: Page, role: "menuitem", name: string) => page.getByRole(role, { name, exact: true });

describe.skipIf(!hasChromium)("an image that is shared in Chromium (skipped where there is none)", () => {
  const image = Uint8Array.from(Buffer.from(PNG, "base64"));
  const studio = openRoom("images", { speed: Number.POSITIVE_INFINITY, image });
  const tile = () => studio.page.getByRole("listitem", { name: "A reef" });
  async function make(): Promise<void> {
    await studio.field("Prompt").fill("A reef");
    await studio.button("Generate").click();
    const shown = tile().getByRole("img", { name: "A reef" });
    // what a test does to the server is not to reach the image itself
    await expect
      .poll(() => shown.evaluateAll((found) => found.map((it) => (it as HTMLImageElement).naturalWidth)), {
        timeout: 2 * MINUTE,
      })
      .toEqual([1]);
  }

  test("An image is saved where the browser shares no files, and the page says that it is a file", {
    timeout: 2 * MINUTE,
  }, async () => {
    await make();
    await tile().getByRole("button", { name: "Actions" }).click();
    const download = studio.page.waitForEvent("download");
    await named(studio.page, "menuitem", "Share as a file").click();
    expect((await download).suggestedFilename()).toBe("a-reef.png");
    await studio.page.getByText("Saved as a file. Send it with any app.").waitFor();
    expect(await findProblems(studio.page)).toEqual([]);
  });

  test("An image is handed to an app from the large view, which stays", { timeout: 2 * MINUTE }, async () => {
    await useSharing(studio);
    await make();
    await studio.button("Open A reef").click();
    await studio.button("Share as a file").focus();
    await studio.page.keyboard.press("Enter");
    await expect
      .poll(() => readSharedFiles(studio.page))
      .toEqual([["a-reef.png", "image/png", expect.any(String)]]);
    await studio.button("Share as a file").waitFor();
    await expect.poll(() => studio.page.getByText("Saved as a file").count()).toBe(0);
  });

  test("An image whose link has ended is shared as nothing, and the page says so", {
    timeout: 2 * MINUTE,
  }, async () => {
    await useSharing(studio);
    await make();
    await studio.page.route("**/files/**", (route) => route.fulfill({ status: 403 }));
    await tile().getByRole("button", { name: "Actions" }).click();
    await named(studio.page, "menuitem", "Share as a file").click();
    await studio.page.getByText("No longer available").first().waitFor();
    expect(await readSharedFiles(studio.page)).toEqual([]);
  });
});

describe.skipIf(!hasChromium)("a video that is shared in Chromium (skipped where there is none)", () => {
  const studio = openRoom("videos", { speed: Number.POSITIVE_INFINITY, cors: true });
  const share = () =>
    studio.page
      .getByRole("article", { name: "A reef", exact: true })
      .getByRole("button", { name: "Share as a file", exact: true });
  async function make(): Promise<void> {
    await studio.field("Prompt").fill("A reef");
    await studio.button("Generate").click();
    await share().waitFor();
  }

  test("A video is handed to an app, and saved where the browser shares no files", {
    timeout: 2 * MINUTE,
  }, async () => {
    await make();
    const download = studio.page.waitForEvent("download");
    await share().click();
    expect((await download).suggestedFilename()).toBe("a-reef.mp4");
    await studio.page.getByText("Saved as a file. Send it with any app.").waitFor();
    expect(await findProblems(studio.page)).toEqual([]);
    await useSharing(studio);
    await share().focus();
    await studio.page.keyboard.press("Enter");
    await expect
      .poll(() => readSharedFiles(studio.page))
      .toEqual([["a-reef.mp4", "video/mp4", expect.any(String)]]);
  });
});
