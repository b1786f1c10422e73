import type { Locator } from "playwright";
import { describe, expect, test } from "vitest";
import { hasChromium, openRoom, type StudioSuite } from "../support/studio-suite.ts";

/* The places of what is pressed in the forms of the media rooms. */

const PHONE = { width: 390, height: 844 };
const WIDE = { width: 1440, height: 900 };

async function boxOf(element: Locator) {
  const box = await element.boundingBox();
  if (!box) throw new Error("it is not shown");
  return box;
}
/** Distance between the middles of two elements, from top to bottom. */
async function apart(one: Locator, other: Locator): Promise<number> {
  const [first, second] = [await boxOf(one), await boxOf(other)];
  return Math.abs(first.y + first.height / 2 - second.y - second.height / 2);
}
async function choose({ page }: StudioSuite, model: string): Promise<void> {
  await page.getByRole("combobox", { name: "Model" }).click();
  await page.getByRole("option", { name: model }).click();
  await page.getByRole("listbox").waitFor({ state: "detached" });
}

describe.skipIf(!hasChromium)("The forms of the studio in Chromium (skipped where there is none)", () => {
  describe("of images", () => {
    const studio = openRoom("images");

    test("“Generate” stands beside the settings, also of the model with most of them beside the inspector", async () => {
      await studio.page.setViewportSize(WIDE);
      await choose(studio, "Gamma Image 4.0");
      await studio.button("16:9").click();
      const generate = studio.button("Generate");
      expect(await apart(generate, studio.button("More settings"))).toBeLessThan(4);
      // a seed is longer: what wraps are the settings
      await studio.button("Seed").click();
      expect(await apart(generate, studio.button("More settings"))).toBeLessThan(4);
    });
  });

  describe("of videos", () => {
    const studio = openRoom("videos");

    test("What a film will cost stands beside “Generate”, and is said to be imaginary", async () => {
      await studio.page.getByText("Imaginary cost500 coins").waitFor();
      await studio.button("480p").click();
      await studio.page.getByText("Imaginary cost100 coins").waitFor();
    });

    test("“Generate” is in the upper half of a phone, and shapes that are cut off fade", async () => {
      await studio.page.setViewportSize(PHONE);
      await studio.button("Generate").waitFor();
      const { y, height } = await boxOf(studio.button("Generate"));
      expect(y + height).toBeLessThan(485);
      const shapes = studio.page.getByRole("group", { name: "Shape" });
      expect(await shapes.evaluate((it) => it.scrollWidth > it.clientWidth)).toBe(true);
      expect(await shapes.evaluate((it) => getComputedStyle(it).maskImage)).toContain("gradient");
    });
  });

  describe("of assets", () => {
    const studio = openRoom("assets", { speed: Number.POSITIVE_INFINITY });

    test("The wall is as wide as the form, and the actions of a card stand in one row", async () => {
      await studio.page.setViewportSize(WIDE);
      await studio.button("Close the sidebar").click();
      await studio.button("Inspector").click();
      for (const name of ["a", "b", "c", "d"]) {
        await studio.field("Link").fill(`https://example.com/${name}.png`);
        await studio.button("Add").click();
        await studio.page.getByRole("article", { name: `${name}.png` }).waitFor();
      }
      const wall = await boxOf(studio.page.getByRole("list", { name: "Assets" }));
      const form = await boxOf(studio.page.getByRole("region", { name: "New asset" }));
      expect([wall.x, wall.width]).toEqual([form.x, form.width]);
      const card = studio.page.getByRole("article", { name: "a.png" });
      const action = (name: string) => card.getByRole("button", { name, exact: true });
      await action("Video").waitFor();
      expect(await apart(action("Video"), action("Delete"))).toBeLessThan(4);
    });
  });
});
