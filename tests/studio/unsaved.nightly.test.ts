import type { Page } from "playwright";
import { describe, expect, test } from "vitest";
import { findProblems } from "../support/axe.ts";
import { hasChromium, openRoom } from "../support/studio-suite.ts";

/** Makes the disk of the browser full, or gives it room again. */
const setFull = (page: Page, isFull: boolean) =>
  page.evaluate((full) => {
    const shared = globalThis as unknown as { put?: IDBObjectStore["put"] };
    shared.put ??= IDBObjectStore.prototype.put;
    const refuse = () => {
      throw new DOMException("no room", "QuotaExceededError");
    };
    IDBObjectStore.prototype.put = full ? refuse : shared.put;
  }, isFull);

describe.skipIf(!hasChromium)("Unsaved images in Chromium (skipped where there is none)", () => {
  const studio = openRoom("images", { speed: Number.POSITIVE_INFINITY });

  test("A note names an image that could not be stored, and disappears once it is stored", async () => {
    const note = studio.page.getByRole("status").filter({ hasText: "Not everything is saved." });
    await studio.button("Generate").waitFor();
    await setFull(studio.page, true);
    await studio.field("Prompt").fill("A reef");
    await studio.button("Generate").click();
    await note.getByText("Keep this page open").waitFor();
    await setFull(studio.page, false);
    await note.waitFor({ state: "detached" });
    expect(await studio.reloadAndListDialogs()).toEqual([]);
    await studio.page.getByRole("listitem", { name: "A reef" }).waitFor();
  });
});

/* Messages that the browser could not write: the page says so, and when that is over. */
describe.skipIf(!hasChromium)("Unsaved messages in Chromium (skipped where there is none)", () => {
  const studio = openRoom("chat", { speed: Number.POSITIVE_INFINITY });
  const note = () => studio.page.getByRole("status").filter({ hasText: "not saved" });
  const hint = "Keep this page open: it tries again by itself.";
  const questions = () => studio.page.getByRole("article", { name: "Your message" });

  async function sendMessage(text: string, count: number): Promise<void> {
    await studio.field("Message").fill(text);
    await studio.field("Message").press("Enter");
    await expect.poll(() => studio.button("Regenerate").count()).toBe(count);
  }
  test("A note names messages that could not be stored, says what to do, and disappears once all are stored", async () => {
    await sendMessage("One", 1);
    await expect.poll(() => note().count()).toBe(0);
    await setFull(studio.page, true);
    await sendMessage("Two", 2);
    await note().getByText("2 messages are not saved.").waitFor();
    await note().getByText(hint).waitFor();
    for (const colorScheme of ["light", "dark"] as const) {
      await studio.page.emulateMedia({ colorScheme });
      expect(await findProblems(studio.page)).toEqual([]);
    }
    await setFull(studio.page, false);
    await expect.poll(() => note().count()).toBe(0);
    expect(await studio.reloadAndListDialogs()).toEqual([]);
    await expect.poll(() => questions().allInnerTexts()).toHaveLength(2);
  });

  test("A page with unsaved messages asks before it is left", async () => {
    await setFull(studio.page, true);
    await sendMessage("One", 1);
    await note().waitFor();
    expect(await studio.reloadAndListDialogs()).toEqual(["beforeunload"]);
  });
});
