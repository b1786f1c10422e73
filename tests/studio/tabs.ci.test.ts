import type { Page } from "playwright";
import { describe, expect, test } from "vitest";
import { hasChromium, openRoom } from "../support/studio-suite.ts";

describe.skipIf(!hasChromium)("Two tabs of the studio in Chromium (skipped where there is none)", () => {
  const studio = openRoom("chat", { speed: Number.POSITIVE_INFINITY });
  const elsewhere = (page: Page) => page.getByText("Responding elsewhere");

  test.each(["its chat", "another room"])(
    "The second tab stops the response of the first, which shows %s",
    async (shown) => {
      await studio.field("Message").fill("[[stall]] Hello");
      await studio.field("Message").press("Enter");
      await studio.page.getByRole("article", { name: "Assistant's message" }).locator("p").first().waitFor();
      const second = await studio.page.context().newPage();
      await second.goto(studio.page.url());
      await elsewhere(second).waitFor();
      if (shown === "another room") {
        await studio.page.getByRole("link", { name: "Images" }).click();
        await studio.page.getByRole("heading", { name: "Images", level: 1 }).waitFor();
      }
      await studio.button("Stop", second).click();
      await second.getByText("Stopped").waitFor();
      await expect.poll(() => elsewhere(second).count()).toBe(0);
      // the button went away
      const field = second.getByRole("textbox", { name: "Message", exact: true });
      await expect.poll(() => field.evaluate((it) => it === document.activeElement)).toBe(true);
      if (shown === "another room") await studio.page.goBack();
      await studio.page.getByText("Stopped").waitFor();
    },
  );
});
