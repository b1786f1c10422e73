import { describe, expect, test } from "vitest";
import { IMAGES, openImages } from "../support/images-room.ts";
import { hasChromium } from "../support/studio-suite.ts";

describe.skipIf(!hasChromium)("the studio's images in Chromium (skipped where there is none)", () => {
  const { studio, button, findPrompt, findTile } = openImages();

  /** The drafts and images that the browser keeps, as text. */
  const draft = () =>
    studio.page.evaluate(
      () =>
        new Promise<string>((resolve) => {
          const opening = indexedDB.open("sluice/1");
          opening.onsuccess = () => {
            const reading = opening.result.transaction("records").objectStore("records").getAll();
            reading.onsuccess = () => {
              opening.result.close();
              resolve(JSON.stringify(reading.result));
            };
          };
        }),
    );

  test("are generated once, as the form says, and survive a reload with the draft", async () => {
    const release = await studio.hold(`**${IMAGES}`);
    await studio.page.getByRole("button", { name: /^Settings: / }).click();
    await button("16:9").click();
    await button("3K").click();
    await studio.page.keyboard.press("Escape");
    await findPrompt().fill("A reef at dawn");
    await button("Generate").dblclick();
    await button("Stop").waitFor();
    // a key that is held
    await findPrompt().press("Enter");
    await findPrompt().press("Enter");
    await release();
    await findTile("A reef at dawn").getByRole("img", { name: "A reef at dawn" }).waitFor();
    await button("Generate").focus();
    expect(studio.created(IMAGES)).toEqual([
      { model: "gamma-image-5-0-260128", prompt: "A reef at dawn", size: "4096x2304" },
    ]);
    await findPrompt().fill("A reef at noon");
    await findPrompt().blur();
    await expect.poll(draft).toContain("A reef at noon");
    await studio.page.reload();
    await findTile("A reef at dawn").getByRole("img").waitFor();
    await expect.poll(() => findPrompt().inputValue()).toBe("A reef at noon");
    await button("Settings: 16:9 · 3K").waitFor();
  });

  test("are shown after a reload that interrupted them, with a note that they may have been charged", async () => {
    const release = await studio.hold(`**${IMAGES}`);
    await findPrompt().fill("A reef at night");
    await button("Generate").click();
    await button("Stop").waitFor();
    await expect.poll(draft).toContain("A reef at night");
    await studio.reloadAndListDialogs();
    await findTile("A reef at night").getByText("You may have been charged.").waitFor();
    await release();
    await findTile("A reef at night").getByRole("button", { name: "Try again" }).click();
    await findTile("A reef at night").getByRole("img", { name: "A reef at night" }).waitFor();
    await expect.poll(() => findTile("A reef at night").count()).toBe(1);
  });
});
