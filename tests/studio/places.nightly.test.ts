import { describe, expect, test } from "vitest";
import { createDemoScript } from "../../examples/studio/demo/script.ts";
import { hasChromium, openRoom } from "../support/studio-suite.ts";

describe.skipIf(!hasChromium)("The place in a chat in Chromium (skipped where there is none)", () => {
  const studio = openRoom("chat", { speed: Number.POSITIVE_INFINITY, chat: createDemoScript() });
  const log = () => studio.page.getByRole("log");
  const second = () => studio.page.getByRole("article", { name: "Assistant's answer" }).nth(1);
  /** Distance from the top of the log to that of the second answer. */
  const place = async () =>
    Math.round(
      ((await second().boundingBox())?.y ?? Number.NaN) - ((await log().boundingBox())?.y ?? Number.NaN),
    );
  const gapBelow = () => log().evaluate((it) => Math.round(it.scrollHeight - it.clientHeight - it.scrollTop));
  const latest = () => studio.button("Jump to latest");

  async function ask(count: number): Promise<void> {
    for (let at = 1; at <= count; at += 1) {
      await studio.field("Message").fill("Show me what you can do");
      await studio.field("Message").press("Enter");
      await expect.poll(() => studio.button("Regenerate").count()).toBe(at);
    }
  }
  /** Loads the page again, and waits until its last answer is drawn. */
  async function reload(): Promise<void> {
    await studio.page.reload();
    await second().locator("table").waitFor({ state: "attached" });
  }

  test("A reload shows the place where the user was, and what is asked then is shown", async () => {
    await ask(4);
    await log().hover();
    await expect
      .poll(async () => {
        await studio.page.mouse.wheel(0, -300);
        return place();
      })
      .toBeGreaterThan(-400);
    const before = await place();
    await reload();
    await expect.poll(place).toBe(before);
    await latest().waitFor();
    // the place is held until the user moves
    await studio.page.mouse.wheel(0, -200);
    await expect.poll(place).toBeGreaterThan(before);
    await studio.field("Message").fill("Hello");
    await studio.field("Message").press("Enter");
    await expect.poll(gapBelow).toBeLessThan(80);
  });

  test("A reload at the end of a chat shows its end", async () => {
    await ask(3);
    await expect.poll(gapBelow).toBeLessThan(80);
    await reload();
    await expect.poll(gapBelow).toBeLessThan(80);
    await expect.poll(() => latest().isVisible()).toBe(false);
  });
});
