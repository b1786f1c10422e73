import { describe, expect, test } from "vitest";
import { hasChromium, openRoom } from "../support/studio-suite.ts";

describe.skipIf(!hasChromium)("The studio on a slow line in Chromium (skipped where there is none)", () => {
  const studio = openRoom("chat", { speed: Number.POSITIVE_INFINITY });
  const findReply = () => studio.page.getByRole("article", { name: "Assistant's message" });

  async function sendMessage(text: string): Promise<void> {
    await studio.field("Message").fill(text);
    await studio.field("Message").press("Enter");
  }

  test("A response that streams is shown as plain text until Markdown is loaded, and as Markdown then", async () => {
    const release = await studio.hold("**/assets/markdown-*.js");
    await studio.page.reload();
    await sendMessage("[[stall]] Hello");
    await findReply().locator("p.whitespace-pre-wrap").filter({ hasText: /\w/ }).waitFor();
    await release();
    await findReply().locator("p.whitespace-pre-wrap").waitFor({ state: "detached" });
    await expect.poll(() => findReply().innerText()).toMatch(/\w/);
    await studio.button("Stop").click();
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
