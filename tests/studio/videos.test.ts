import { describe, expect, test } from "vitest";
import { hasChromium, MINUTE } from "../support/studio-suite.ts";
import { openVideos, VIDEOS } from "../support/videos-room.ts";

const HOUR = 60 * MINUTE;

describe.skipIf(!hasChromium)("the studio's videos in Chromium (skipped where there is none)", () => {
  const { studio, button, findCard, findBar, sendVideo, pollNow, finish } = openVideos();

  /** Presses the button by keyboard, because a moving message can't be clicked. */
  async function undo(): Promise<void> {
    await button("Undo").focus();
    await studio.page.keyboard.press("Enter");
  }

  test("are made with progress, played, deleted with undo, and gone when their link ends", async () => {
    await studio.page.getByRole("button", { name: /^Settings: / }).click();
    await button("720p").click();
    await studio.page.getByRole("slider", { name: "Length" }).press("ArrowLeft");
    await studio.page.keyboard.press("Escape");
    await sendVideo("A reef at dawn");
    studio.ahead = MINUTE / 2;
    await pollNow();
    await findCard("A reef at dawn")
      .getByText(/^About \d+ s left|^Almost done/)
      .waitFor();
    await expect.poll(async () => Number(await findBar().getAttribute("aria-valuenow"))).toBeGreaterThan(0);
    await finish("A reef at dawn");
    await findCard("A reef at dawn").getByText("Saved link · 24 h").waitFor();
    await button("Play A reef at dawn").click();
    const player = findCard("A reef at dawn").locator("video");
    await expect.poll(() => player.evaluate((it) => (it as HTMLVideoElement).controls)).toBe(true);
    await expect.poll(() => player.evaluate((it) => (it as HTMLVideoElement).duration)).toBeCloseTo(4, 0);
    expect(studio.created(VIDEOS)).toEqual([
      {
        model: "beta3.0-video",
        input: { prompt: "A reef at dawn" },
        parameters: { resolution: "720P", duration: 4 },
      },
    ]);
    await findCard("A reef at dawn").getByRole("button", { name: "Delete" }).click();
    await findCard("A reef at dawn").waitFor({ state: "detached" });
    await undo();
    await findCard("A reef at dawn").waitFor();
    studio.ahead += 25 * HOUR;
    // routing disables the browser's cache, which would still play the file
    await studio.page.route("**/files/**", (route) => route.continue());
    await studio.page.reload();
    await findCard("A reef at dawn").getByText("No longer available").waitFor();
  });
});
