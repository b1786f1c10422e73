import { readFile } from "node:fs/promises";
import type { Page } from "playwright";
import { describe, expect, test } from "vitest";
import { createDemoScript } from "../../examples/studio/demo/script.ts";
import { findProblems } from "../support/axe.ts";
import { hasChromium, MINUTE, openRoom, PNG, type StudioSuite } from "../support/studio-suite.ts";

/*
 * A chat, an image and a film are shared as files: with an app where the browser hands files to apps, and else saved. The
 * Chromium of Linux hands on none; the tests stand in for one that does.
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

const filesOf = (page: Page) => page.evaluate(() => globalThis.shared);
const named = (page: Page, role: "menuitem" | "option", name: string) =>
  page.getByRole(role, { name, exact: true });

describe.skipIf(!hasChromium)("a chat that is shared in Chromium (skipped where there is none)", () => {
  const studio = openRoom("chat", { chat: createDemoScript() });

  async function ask(): Promise<void> {
    await studio.field("Message").fill("Show me what you can do");
    await studio.page.keyboard.press("Enter");
    await studio.button("Regenerate").waitFor();
  }
  async function runInPalette(name: string): Promise<void> {
    await studio.page.getByRole("button", { name: /^Search/ }).click();
    await studio.page.getByRole("combobox").fill(name);
    await named(studio.page, "option", name).waitFor();
    await studio.page.keyboard.press("Enter");
  }
  async function importOf(file: { name: string; mimeType: string; buffer: Buffer }): Promise<void> {
    const before = studio.page.url();
    const chooser = studio.page.waitForEvent("filechooser");
    await runInPalette("Import a chat");
    await (await chooser).setFiles(file);
    await studio.page.getByText("Chat imported").waitFor();
    await expect.poll(() => studio.page.url()).not.toBe(before);
    await studio.page.getByRole("log").getByText("Show me what you can do").waitFor();
  }

  test("A chat is saved as the file that Import reads where the browser shares none, and the page says so", {
    timeout: 2 * MINUTE,
  }, async () => {
    await ask();
    const download = studio.page.waitForEvent("download");
    await runInPalette("Share this chat as a file");
    const file = await download;
    expect(file.suggestedFilename()).toBe("Show-me-what-you-can-do.json");
    await studio.page.getByText("Saved as a file. “Import a chat” reads it.").waitFor();
    const buffer = await readFile(await file.path());
    await importOf({ name: file.suggestedFilename(), mimeType: "application/json", buffer });
  });

  test("A chat is handed to an app as plain text, which Import reads, from its menu by keyboard", {
    timeout: 2 * MINUTE,
  }, async () => {
    await useSharing(studio);
    await ask();
    const menu = studio.page.getByRole("button", { name: /^Actions for/ }).first();
    await menu.focus();
    await studio.page.keyboard.press("Enter");
    await named(studio.page, "menuitem", "Share as a file").waitFor();
    expect(await findProblems(studio.page)).toEqual([]);
    await named(studio.page, "menuitem", "Share as a file").focus();
    await studio.page.keyboard.press("Enter");
    await expect.poll(() => filesOf(studio.page)).toHaveLength(1);
    const [[name = "", mimeType = "", text = ""] = []] = await filesOf(studio.page);
    expect([name, mimeType]).toEqual(["Show-me-what-you-can-do.json.txt", "text/plain"]);
    await expect.poll(() => studio.page.getByText("Saved as a file").count()).toBe(0);
    await importOf({ name, mimeType, buffer: Buffer.from(text) });
  });
});

describe.skipIf(!hasChromium)("an image that is shared in Chromium (skipped where there is none)", () => {
  const picture = Uint8Array.from(Buffer.from(PNG, "base64"));
  const studio = openRoom("images", { speed: Number.POSITIVE_INFINITY, picture });
  const tile = () => studio.page.getByRole("listitem", { name: "A reef" });
  async function make(): Promise<void> {
    await studio.field("Prompt").fill("A reef");
    await studio.button("Generate").click();
    const shown = tile().getByRole("img", { name: "A reef" });
    // what a test does to the server is not to reach the picture itself
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
    await expect.poll(() => filesOf(studio.page)).toEqual([["a-reef.png", "image/png", expect.any(String)]]);
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
    expect(await filesOf(studio.page)).toEqual([]);
  });
});

describe.skipIf(!hasChromium)("a film that is shared in Chromium (skipped where there is none)", () => {
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

  test("A film is handed to an app, and saved where the browser shares no files", {
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
    await expect.poll(() => filesOf(studio.page)).toEqual([["a-reef.mp4", "video/mp4", expect.any(String)]]);
  });
});
