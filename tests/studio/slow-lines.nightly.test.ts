import { describe, expect, test } from "vitest";
import { hasChromium, openRoom } from "../support/studio-suite.ts";

const ROOM = /\/(?:images|videos|assets)-room-/;

describe.skipIf(!hasChromium)("The studio on a slow line in Chromium (skipped where there is none)", () => {
  const studio = openRoom("chat", { speed: Number.POSITIVE_INFINITY });
  const answer = () => studio.page.getByRole("article", { name: "Assistant's answer" });

  async function ask(text: string): Promise<void> {
    await studio.field("Message").fill(text);
    await studio.field("Message").press("Enter");
  }

  test("An answer that streams is shown as plain text until Markdown is loaded, and as Markdown then", async () => {
    const release = await studio.hold("**/assets/diagram-*.js");
    await studio.page.reload();
    await ask("[[stall]] Hello");
    await answer().locator("p.whitespace-pre-wrap").filter({ hasText: /\w/ }).waitFor();
    await release();
    await answer().locator("p.whitespace-pre-wrap").waitFor({ state: "detached" });
    await expect.poll(() => answer().innerText()).toMatch(/\w/);
    await studio.button("Stop").click();
  });

  test("What no one has asked for is loaded only when no question waits for its answer", async () => {
    studio.spend();
    const { page } = studio;
    // the page before loads what it likes, and the time of the next one passes only as the test says
    await page.goto("about:blank");
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 60_000);
    const pass = (ms: number) => page.clock.runFor(ms);
    const loaded: string[] = [];
    page.on("request", (request) => ROOM.test(request.url()) && loaded.push(request.url()));
    // a chat whose storage hangs sends its first question after 3 s
    await page.addInitScript(() => {
      indexedDB.open = () => new EventTarget() as IDBOpenDBRequest;
    });
    const release = await studio.hold("**/assets/conversation-*.js");
    await page.goto(studio.address);
    await ask("[[stall]] Hello");
    await pass(10_000);
    await release();
    await studio.button("Add images").waitFor();
    await pass(2900);
    expect(studio.created("/v1/chat/completions")).toEqual([]);
    expect(loaded).toEqual([]);
    await expect
      .poll(async () => {
        await pass(100);
        return answer().locator("p").count();
      })
      .toBeGreaterThan(0);
    await pass(10_000);
    expect(loaded).toEqual([]);
    await studio.button("Stop").click();
    await expect
      .poll(async () => {
        await pass(1000);
        return loaded.length;
      })
      .toBe(3);
  });

  test.each([
    ["chat", "Message"],
    ["images", "Prompt"],
    ["videos", "Prompt"],
  ])(
    "The text field of %s has a direction by its first letters, and none that the browser has to find",
    async (room, name) => {
      await studio.page.evaluate((it) => {
        location.hash = `#/${it}`;
      }, room);
      const field = studio.field(name).filter({ visible: true });
      const direction = () => field.getAttribute("dir");
      await field.waitFor();
      expect(await direction()).toBe("ltr");
      for (const [text, expected] of [
        ["123 שלום hello", "rtl"],
        ["“مرحبا”", "rtl"],
        ["hello שלום", "ltr"],
        [`${"1".repeat(300)} שלום`, "ltr"],
        ["", "ltr"],
      ] as const) {
        await field.fill(text);
        await expect.poll(direction).toBe(expected);
      }
    },
  );
});
