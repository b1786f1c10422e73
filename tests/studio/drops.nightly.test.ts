import { describe, expect, test } from "vitest";
import { hasChromium, openRoom, PNG, type StudioSuite } from "../support/studio-suite.ts";

/* 50 files at once: one message names the files that were not added, and the form stays visible. */

/** Drops so many images, and so many texts, on the room. */
async function drop({ page }: StudioSuite, images: number, texts = 0): Promise<void> {
  await page.locator("textarea, h1").last().waitFor();
  const files = await page.evaluateHandle(
    ({ png, images, texts }) => {
      const transfer = new DataTransfer();
      const bytes = Uint8Array.from(atob(png), (letter) => letter.charCodeAt(0));
      for (let at = 0; at < images; at += 1)
        // additional bytes after the image make each file different
        transfer.items.add(new File([bytes, String(at)], `p${at}.png`, { type: "image/png" }));
      for (let at = 0; at < texts; at += 1)
        transfer.items.add(new File(["video"], `t${at}.mp4`, { type: "video/mp4" }));
      return transfer;
    },
    { png: PNG, images, texts },
  );
  const room = page.getByRole("heading", { level: 1 }).locator("xpath=ancestor::main");
  const target = room.locator("textarea, section").filter({ visible: true }).first();
  for (const type of ["dragenter", "dragover", "drop"])
    await target.dispatchEvent(type, { dataTransfer: files });
}

/** Counts the texts that are announced in alerts. */
async function watchAlerts({ page }: StudioSuite): Promise<() => Promise<readonly string[]>> {
  await page.evaluate(() => {
    const messages: string[] = [];
    new MutationObserver(() => {
      const text = [...document.querySelectorAll("[role=alert]")].map((it) => it.textContent).join(" | ");
      if (text !== "" && messages.at(-1) !== text) messages.push(text);
    }).observe(document.body, { childList: true, subtree: true, characterData: true });
    Object.assign(globalThis, { messages });
  });
  return () => page.evaluate(() => (globalThis as unknown as { messages: string[] }).messages);
}

describe.skipIf(!hasChromium)("50 files that are dropped in Chromium (skipped where there is none)", () => {
  describe("on the chat", () => {
    const studio = openRoom("chat");
    const { button, field } = studio;

    test("For 53 files one line about the rest is shown, can be closed, and the form stays in the window", async () => {
      const alerts = await watchAlerts(studio);
      await drop(studio, 50, 3);
      await studio.page.getByRole("alert").waitFor();
      expect(await alerts()).toHaveLength(1);
      for (const size of [
        { width: 1440, height: 900 },
        { width: 390, height: 844 },
        { width: 320, height: 256 },
      ]) {
        await studio.page.setViewportSize(size);
        // the page needs a moment for another size
        for (const part of [field("Message"), button("Send")])
          await expect
            .poll(async () => {
              const { y, height } = (await part.boundingBox()) ?? { y: -1, height: 0 };
              return y >= 0 && y + height <= size.height;
            })
            .toBe(true);
      }
      await button("Dismiss").click();
      await studio.page.getByRole("alert").waitFor({ state: "detached" });
      await expect.poll(() => field("Message").evaluate((it) => it === document.activeElement)).toBe(true);
    });

    test("100 questions that wait leave the form in the window", async () => {
      await field("Message").fill("[[stall]] Hello");
      await field("Message").press("Enter");
      for (let at = 0; at < 100; at += 1) {
        await field("Message").fill(`Question ${at}`);
        await field("Message").press("Enter");
      }
      await studio.page.getByText("Question 99").waitFor();
      const box = await field("Message").boundingBox();
      expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(800);
    });
  });

  describe.each(["images", "videos", "assets"] as const)("on the empty space of %s", (name) => {
    const studio = openRoom(name);

    test("A file does not replace the page, and a text can still be dropped into a field", async () => {
      const heading = studio.page.getByRole("heading", { level: 1 });
      await heading.waitFor({ state: "attached" });
      const isPrevented = await heading.evaluate((it) => {
        const drop = (fill: (transfer: DataTransfer) => unknown) =>
          ["dragover", "drop"].map((type) => {
            const dataTransfer = new DataTransfer();
            fill(dataTransfer);
            const event = new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true });
            return !it.dispatchEvent(event);
          });
        return {
          file: drop(({ items }) => items.add(new File(["a"], "a.txt", { type: "text/plain" }))),
          text: drop((transfer) => transfer.setData("text/plain", "a reef")),
        };
      });
      expect(isPrevented).toEqual({ file: [true, true], text: [false, false] });
    });
  });

  describe("on assets", () => {
    const studio = openRoom("assets");
    test("For 50 files one note names the files that are no images", async () => {
      await drop(studio, 2, 48);
      await studio.page.getByRole("alert").filter({ hasText: "t47.mp4" }).waitFor();
      await expect.poll(() => studio.created("/gamma/asset/CreateAsset").length).toBe(2);
      await studio.button("Dismiss").click();
      await studio.page.getByRole("alert").waitFor({ state: "detached" });
    });
  });
});
